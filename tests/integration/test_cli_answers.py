"""The commands as a user runs them: answers on standard output, everything else on standard error, exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import textwrap
from collections.abc import Callable
from decimal import Decimal
from importlib import resources
from pathlib import Path

import pytest

from tests.support.server import here, request_rows, tailwise
from tests.support.shared import shared

GOOD = request_rows(60)
SLOW_OBJECTIVES = """
timezone: UTC
objectives:
  - {id: chat.ttft, metric: ttft, where: {scenario: chat}, threshold: 300ms, target: 95%}
"""
PRICES = """
prices:
  - {model: m, from: 2026-01-01, usd_per_million_tokens: {input: 1, output: 2}}
"""


Ran = subprocess.CompletedProcess[str]
Ask = Callable[..., Ran]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs a command in the folder of the test."""
    return lambda *words: here([str(word) for word in words], capsys)


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TAILWISE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "requests.jsonl").write_bytes(GOOD)
    (tmp_path / "objectives.yaml").write_text(SLOW_OBJECTIVES)
    (tmp_path / "prices.yaml").write_text(PRICES)
    return tmp_path


def test_a_real_file_gives_the_counts_that_its_readme_states(ask: Ask, tmp_path: Path) -> None:
    ran = ask("report", shared("data/aibrix-multiround-qa/requests.csv.gz"), "--json", "-")
    result = json.loads(ran.stdout)
    good = {row["id"]: row["good"] for row in result["objectives"]}
    assert ran.returncode == 0
    assert {key: result["summary"][key] for key in ("requests", "input_tokens", "output_tokens", "users")} == {
        "requests": 15120,
        "input_tokens": 318705531,
        "output_tokens": 1328898,
        "users": 365,
    }
    assert (good["default.ttft"], good["default.tpot"], good["default.good"]) == (7029, 9403, 6926)


def test_report_writes_a_page_and_says_verdicts_and_where_it_is(ask: Ask, folder: Path) -> None:
    ran = ask("report", "requests.jsonl")
    page = (folder / "report.html").read_text()
    assert (ran.returncode, page[:15].lower()) == (0, "<!doctype html>")
    assert "met        default.ttft: TTFT ≤ 2 s for 95 %" in ran.stdout.replace("\u00a0", " ")
    assert ran.stderr.splitlines()[0] == "requests.jsonl: flat, read 60 = accepted 60 + duplicate 0 + rejected 0"
    assert ran.stderr.splitlines()[-1] == "written: report.html"


@pytest.mark.parametrize(
    ("name", "begins"), [("r.md", b"# "), ("r.json", b"{"), ("r.csv", b"table,"), ("r.html", b"<!doctype html>")]
)
def test_the_name_of_the_file_chooses_the_form(ask: Ask, folder: Path, name: str, begins: bytes) -> None:
    ran = ask("report", "requests.jsonl", "-o", name)
    content = (folder / name).read_bytes()
    assert (ran.returncode, content[: len(begins)].lower()) == (0, begins.lower())


def test_standard_input_is_a_path_too(folder: Path) -> None:
    ran = tailwise("report", "-", "--json", "-", folder=folder, stdin=GOOD)
    assert json.loads(ran.stdout)["summary"]["requests"] == 60


def test_diagnose_ends_with_3_where_an_objective_is_breached(ask: Ask, folder: Path) -> None:
    words = ("diagnose", "requests.jsonl", "--objectives", "objectives.yaml")
    ran = ask(*words, "--fail-on-breach")
    plain = ask(*words, "--json", "-")
    verdicts = {row["id"]: row["verdict"] for row in json.loads(plain.stdout)["objectives"]}
    assert (ran.returncode, plain.returncode, verdicts) == (3, 0, {"chat.ttft": "breached"})
    assert "chat.ttft: BREACHED" in ran.stdout
    assert max(len(line) for line in ran.stdout.splitlines()) <= 80


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["report", "diagnose"])
def test_traces_of_another_week_are_told_with_their_range(ask: Ask, command: str) -> None:
    ran = ask(command, "requests.jsonl", "--week", "2020-W10")
    said = " ".join(ran.stdout.split())
    assert "nothing was read" not in said
    assert re.search(
        r"No request lies in this selection\. The requests that were loaded are from 2026-\S+ to 2026-\S+Z\.", said
    )


@pytest.mark.parametrize("more", [("--week", "2020-W10"), ("--objectives", "ttfa.yaml")])
def test_a_gate_without_a_verdict_is_not_passed(ask: Ask, folder: Path, more: tuple[str, str]) -> None:
    (folder / "ttfa.yaml").write_text("objectives:\n  - {id: a, metric: ttfa, threshold: 1s, target: 99%}\n")
    gate, plain = ask("diagnose", "requests.jsonl", *more, "--fail-on-breach"), ask("diagnose", "requests.jsonl", *more)
    assert (gate.returncode, plain.returncode) == (3, 0)
    assert "no objective could be judged, so the gate is not passed" in gate.stderr
    assert "the gate" not in plain.stderr + plain.stdout


@pytest.mark.usefixtures("folder")
def test_a_gate_is_passed_where_objectives_are_met(ask: Ask) -> None:
    ran = ask("diagnose", "requests.jsonl", "--objective", "default.ttft", "--fail-on-breach")
    assert (ran.returncode, "the gate" in ran.stderr) == (0, False), ran.stderr


def test_costs_add_up_in_every_form(ask: Ask, folder: Path) -> None:
    words = ("costs", "requests.jsonl", "--prices", "prices.yaml", "--by", "user,scenario")
    table, as_csv = ask(*words), ask(*words, "--format", "csv")
    parquet = ask(*words, "--format", "parquet", "-o", "costs.parquet")
    rows = list(csv.DictReader(io.StringIO(as_csv.stdout)))
    amounts = {row["user"]: Decimal(row["cost_usd"]) for row in rows}
    each = Decimal(20) * (Decimal("0.0001") + Decimal("0.000022"))  # 20 requests: 100 tokens in, 11 out
    assert amounts == {"u-0": each, "u-1": each, "u-2": each}
    assert "total 0.00732 USD" in table.stdout
    assert (parquet.returncode, (folder / "costs.parquet").read_bytes()[:4]) == (0, b"PAR1")


def test_rejected_rows_end_with_4_only_where_that_was_asked_for(ask: Ask, folder: Path) -> None:
    (folder / "torn.jsonl").write_bytes(GOOD + b'{"request_id": "x", ')
    plain = ask("report", "torn.jsonl")
    strict = ask("report", "torn.jsonl", "--strict")
    assert (plain.returncode, strict.returncode) == (0, 4)
    (folder / "notes.md").write_text("no trace")
    (folder / "good.jsonl").write_bytes(GOOD)
    partly = [ask("report", "good.jsonl", "notes.md", *more).returncode for more in ((), ("--strict",))]
    assert partly == [0, 4]
    assert "  line 61: the last line ends in the middle" in plain.stderr


@pytest.mark.parametrize("command", ["report", "costs", "diagnose"])
def test_a_store_that_is_not_there_is_told_and_not_made(ask: Ask, folder: Path, command: str) -> None:
    ran = ask(command, "--store", "typo.duckdb")
    assert (ran.returncode, "there is no store typo.duckdb" in ran.stderr, (folder / "typo.duckdb").exists()) == (
        1,
        True,
        False,
    )


def test_a_dimension_named_twice_counts_once(ask: Ask, folder: Path) -> None:
    twice, once = (ask("costs", str(folder / "requests.jsonl"), "--by", by) for by in ("user,user", "user"))
    assert (twice.returncode, twice.stdout) == (0, once.stdout)


def test_a_store_keeps_requests_between_commands_and_loading_twice_changes_nothing(ask: Ask, folder: Path) -> None:
    first = ask("ingest", "requests.jsonl", "--store", "s.duckdb")
    second = ask("ingest", "requests.jsonl", "--store", "s.duckdb")
    ran = ask("report", "--store", "s.duckdb", "--json", "-")
    assert (first.returncode, "accepted 60" in first.stderr) == (0, True)
    assert "accepted 0 + duplicate 60" in second.stderr
    assert json.loads(ran.stdout)["summary"]["requests"] == 60


def test_weeks_ranges_and_filters_choose_requests(ask: Ask, folder: Path) -> None:
    ask("ingest", "requests.jsonl", "--store", "s.duckdb")

    def count(*words: str) -> int:
        ran = ask("report", "--store", "s.duckdb", "--json", "-", *words)
        requests: int = json.loads(ran.stdout)["summary"]["requests"]
        return requests

    assert (count("--week", "2026-W10"), count("--week", "2026-W09")) == (60, 0)
    assert count("--from", "2026-03-02T11:00:10", "--to", "2026-03-02T11:00:20", "--timezone", "Europe/Berlin") == 10
    assert (count("--where", "user=u-1"), count("--where", "user=u-1", "--where", "user=u-2")) == (20, 40)
    assert count("--where", "hour=10") == 60


def test_a_comparison_takes_every_path_after_the_option(ask: Ask, folder: Path) -> None:
    for n in (1, 2):
        (folder / f"old-{n}.jsonl").write_bytes(request_rows(30, request_id=f"old-{n}").replace(b"03-02T", b"02-23T"))
    words = ("report", "requests.jsonl", "--compare-with", "old-1.jsonl", "old-2.jsonl", "--json", "-")
    ran = ask(*words)
    comparison = json.loads(ran.stdout)["comparison"]
    assert {row["n_baseline"] for row in comparison["changes"] if row["metric"] == "ttft"} == {60}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["report"], 2, "PATH is missing. Give a file, a directory, a glob or -, or --store or --server"),
        (["report", "none.jsonl"], 1, "none.jsonl does not exist"),
        (["report", "*.none"], 1, "no file matches *.none"),
        (["report", "requests.jsonl", "--week", "2026-48"], 2, 'week "2026-48" is not of the form 2026-W48'),
        (["report", "requests.jsonl", "--where", "chat"], 2, 'filter "chat" is not of the form dimension=value'),
        (["report", "requests.jsonl", "--where", "scenrio=chat"], 2, 'Did you mean "scenario"?'),
        (["report", "requests.jsonl", "--timezone", "Berlin"], 2, 'time zone "Berlin" is not known'),
        (["report", "requests.jsonl", "-o", "report.docx"], 2, '"report.docx" names no form of a report'),
        (["report", "requests.jsonl", "-o", "no/folder/report.html"], 2, "no/folder/report.html cannot be written"),
        (["report", "requests.jsonl", "--sampling-rate", "2"], 2, "--sampling-rate 2 is not above 0 and at most 1"),
        (["report", "requests.jsonl", "--objectives", "none.yaml"], 1, "none.yaml"),
        (["report", "requests.jsonl", "--nonsense"], 2, "No such option"),
        (["diagnose", "requests.jsonl", "--objective", "x"], 2, 'no objective has the id "x". Known: default.ttft'),
        (["costs", "requests.jsonl", "--format", "xlsx"], 2, "xlsx is no text"),
        (["costs", "requests.jsonl", "--by", "usr"], 2, "usr"),
        (["ingest", "requests.jsonl"], 2, "give --store FILE or --server URL"),
        (["report", "--server", "127.0.0.1:1"], 2, "is no URL"),
        (["report", "--server", "http://127.0.0.1:1"], 1, "no tailwise server answers at http://127.0.0.1:1"),
        (["explain", "tppot"], 1, 'nothing is called "tppot". Did you mean "tpot"?'),
        (["rport"], 2, "Did you mean 'report'?"),
    ],
)
def test_an_error_is_a_sentence_and_a_code_and_never_a_traceback(
    ask: Ask, folder: Path, words: list[str], code: int, says: str
) -> None:
    ran = ask(*words)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert says in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_mistyped_variable_is_refused_with_a_suggestion(folder: Path) -> None:
    ran = tailwise("report", "requests.jsonl", folder=folder, environment={"TAILWISE_TIMEZON": "UTC"})
    assert ran.returncode == 2
    assert 'TAILWISE_TIMEZON is not known. Did you mean "TAILWISE_TIMEZONE"?' in ran.stderr


def test_inspect_says_what_a_file_is_and_what_it_lacks(ask: Ask, folder: Path) -> None:
    ran = ask("inspect", "requests.jsonl")
    lines = ran.stdout.splitlines()
    assert ran.returncode == 0
    assert lines[0].startswith("requests.jsonl: flat, read 60 = accepted 60 + duplicate 0 + rejected 0")
    assert "  makes 60 requests" in lines
    assert any(line.startswith("  lacks: ") and "queue_ns" in line for line in lines)


def test_inspect_takes_the_options_that_it_advises_and_shows_what_they_do(ask: Ask, folder: Path) -> None:
    (folder / "run.csv").write_text("timestamp,prompt_tokens,ttft,team\n0,5,7,a\n750,6,8,b\n760,-6,8,b\n")
    plain = ask("inspect", "run.csv")
    (folder / "mapping.yaml").write_text("columns: {ttft: {from: ttft, unit: ms}}\n")
    dated = ask(
        *("inspect", "run.csv", "--start", "2026-03-02T10:00:00Z", "--mapping", "mapping.yaml"),
        *("--attributes", "mapped", "--sampling-rate", "0.5", "--strict"),
    )
    wrong = [ask("inspect", "run.csv", "--start", "soon"), ask("inspect", "run.csv", "--sampling-rate", "2")]
    assert "--start 2026-03-02T10:00:00Z" in " ".join(plain.stdout.split())
    assert "columns: {ttft: {from: ttft, unit: ms}}" in " ".join(plain.stdout.split())
    assert '"timestamp" counts from the start, in s: 0 is read as 2026-03-02T10:00:00Z' in " ".join(
        dated.stdout.split()
    )
    assert "ttft_ns" in dated.stdout.partition("in every row")[2].partition("lacks")[0]
    assert "is not in its name" not in dated.stdout
    assert (plain.returncode, dated.returncode, [ran.returncode for ran in wrong]) == (0, 4, [2, 2])
    assert ask("inspect").returncode == 2


def test_inspect_reads_as_the_settings_say_like_every_command(ask: Ask, folder: Path) -> None:
    (folder / "run.csv").write_text("start_time,prompt_tokens,first\n2026-03-02T10:00:00Z,5,7\n")
    (folder / "mapping.yaml").write_text("columns: {ttft: {from: first, unit: ms}}\n")
    (folder / "tailwise.yaml").write_text("mapping: mapping.yaml\n")
    assert "ttft_ns" in ask("inspect", "run.csv").stdout.partition("lacks")[0]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["formats"], "otlp_"),
        (["metrics"], "ttft "),
        (["rules"], "KB-01 "),
    ],
)
def test_the_catalogs_are_printed(ask: Ask, tmp_path: Path, words: list[str], line: str) -> None:
    ran = ask(*words)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert any(found.startswith(line) for found in ran.stdout.splitlines())


def test_explain_tells_metrics_formats_rules_and_recommendations(ask: Ask, tmp_path: Path) -> None:
    told = [ask("explain", name).stdout.split()[0] for name in ("tpot", "kb-09", "scale_out")]
    assert told == ["tpot:", "KB-09", "scale_out"]


def worked_example() -> str:
    """rules.yaml as the README shows it."""
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    block = readme[readme.index("    # rules.yaml") :]
    return textwrap.dedent(block[: block.index("\n\n")])


def shown_options() -> list[str]:
    """Options of the command by which the README shows that the rule fires."""
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    block = readme[readme.index("    tailwise diagnose --store demo/tailwise.duckdb --week 2026-W10") :]
    command = block[: block.index("\n\n")].replace("\\\n", "").replace("api/demo", str(resources.files("api") / "demo"))
    return shlex.split(command, comments=True)[6:]  # without the store and the week that the demo makes


def test_the_worked_example_of_own_rules_is_listed_explained_and_fires_on_the_demo(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(worked_example())
    samples = Path(str(resources.files("api") / "demo"))
    listed = ask("rules", "--rules", "rules.yaml")
    told = ask("explain", "OUR-1", "--rules", "rules.yaml")
    moved = ask("explain", "KB-06", "--rules", "rules.yaml")
    found = json.loads(ask("diagnose", samples / "2026-W10", *shown_options(), "--json", "-").stdout)
    advice = {item["id"]: item for finding in found["findings"] for item in finding["recommendations"]}
    assert found["costs"]["unpriced_requests"] == 0
    assert "Call the GPU cloud" in listed.stdout
    assert "the replicas missing ≥ 2" in told.stdout
    assert "the share of offline token ≥ 20 %" in " ".join(moved.stdout.split())
    assert "at least 50 bad requests" in moved.stdout
    assert (advice["call_gpu_cloud"]["entry"], advice["call_gpu_cloud"]["title"]) == (
        "OUR-1",
        "Ask the GPU cloud to replace the lost machines",
    )


def test_rules_come_from_the_settings_too_and_a_slip_is_told(
    ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "ours.yaml").write_text(worked_example())
    monkeypatch.setenv("TAILWISE_RULES", str(folder / "ours.yaml"))
    assert "OUR-1" in ask("rules").stdout
    (folder / "ours.yaml").write_text(worked_example().replace("op: ge", "op: gee"))
    ran = ask("diagnose", "requests.jsonl")
    assert (ran.returncode, 'ours.yaml, line 12, "OUR-1": op "gee" is not known.' in ran.stderr) == (2, True)
