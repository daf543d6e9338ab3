"""Money from files to finance: the prompt, HTTP and a server asked by the prompt say the same."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from api.finance import unzipped
from tests.support.server import client, listening, put, request_rows, tailwise
from tests.support.shared import shared

PRICES = "prices: [{model: m, from: 2026-01-01, usd_per_million_tokens: {input: 0.60, output: 1.80}}]\n"
# 90 requests of 100 x 0.60 + 11 x 1.80 = 79.8 millionths of a dollar
ROWS = request_rows(90)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "requests.jsonl").write_bytes(ROWS)
    (tmp_path / "prices.yaml").write_text(PRICES)
    return tmp_path


def rows_of(files: dict[str, bytes]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files["cost_and_usage.csv"].decode(), newline="")))


def test_the_bundle_at_the_prompt_adds_up_to_the_costs_at_the_prompt(folder: Path) -> None:
    asked = ("costs", "requests.jsonl", "--prices", "prices.yaml", "--by", "user,scenario")
    ran = tailwise(*asked, "--format", "focus", "-o", "out", folder=folder)
    assert ran.returncode == 0, ran.stderr
    files = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    rows = rows_of(files)
    assert sum(Decimal(row["BilledCost"]) for row in rows) == Decimal("0.007182")
    assert sum(int(row["x_RequestCount"]) for row in rows) == 90
    assert json.loads(files["reconciliation.json"])["passed"] is True
    table = tailwise(*asked, "--format", "csv", folder=folder)
    frame = pl.read_csv(table.stdout.encode(), infer_schema=False)
    assert sum(map(Decimal, frame["cost_usd"])) == Decimal("0.007182")
    again = tailwise(*asked, "--format", "focus", "-o", "again", folder=folder)
    assert again.returncode == 0
    assert {path.name: path.read_bytes() for path in (folder / "again").iterdir()} == files


@pytest.mark.parametrize(
    ("bill", "state", "reason"),
    [
        ("2026-03-02,m,0.007182\n", "FINAL", None),
        ("2026-03-02,m,0.007182\n2026-04-02,m,900\n", "DRAFT", "bill.csv: 2026-04 of all providers: fail, 899.5 of 900 USD stay unexplained"),
        ("2026-03-02,m,40\n", "DRAFT", "bill.csv: 2026-03 of all providers: fail, 39.492818 of 40 USD stay unexplained"),
        ("2026-02-02,m,0.007182\n", "DRAFT", "bill.csv covers 0 of the file's 0.007182 USD"),
    ],
)  # fmt: skip
def test_a_finance_file_is_final_once_a_bill_passes_for_all_of_it(
    folder: Path, bill: str, state: str, reason: str | None
) -> None:
    (folder / "bill.csv").write_text("date,model,amount\n" + bill)
    asked = ("costs", "requests.jsonl", "--prices", "prices.yaml", "--format", "focus", "--bill", "bill.csv")
    ran = tailwise(*asked, "-o", "out", folder=folder)
    assert ran.returncode == 0, ran.stderr
    found = json.loads((folder / "out" / "reconciliation.json").read_text())
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert (found["state"], manifest["state"]) == (state, state)
    assert reason in found["reasons"] if reason else not found["reasons"]
    assert {(month["verdict"] == "pass") == ("at most" in month["says"]) for month in found["bill"]["months"]} <= {True}
    assert (found["bill"]["n_rejected"], found["bill"]["rejected"]) == (0, [])
    assert ("final: bill.csv passes" if reason is None else "a draft: ") in ran.stdout + ran.stderr


def test_a_bill_is_given_to_a_finance_file_alone(folder: Path) -> None:
    (folder / "bill.csv").write_text("date,model,amount\n2026-03-02,m,1\n")
    ran = tailwise("costs", "requests.jsonl", "--bill", "bill.csv", folder=folder)
    assert ran.returncode == 2
    assert "--bill goes with --format focus" in ran.stderr


def test_a_bundle_without_a_folder_is_refused(folder: Path) -> None:
    ran = tailwise("costs", "requests.jsonl", "--format", "focus", folder=folder)
    assert ran.returncode == 2
    assert "focus is several files; give a folder: -o focus" in ran.stderr


def test_an_error_in_the_price_file_names_line_and_remedy(folder: Path) -> None:
    (folder / "prices.yaml").write_text(
        "prices:\n  - {model: m, from: 2026-01-01, usd_per_million_tokens: {inptu: 1}}\n"
    )
    ran = tailwise("costs", "requests.jsonl", "--prices", "prices.yaml", folder=folder)
    assert ran.returncode == 2
    assert 'prices.yaml, line 2: usd_per_million_tokens has the key "inptu", which is not known.' in ran.stderr
    assert 'Did you mean "input"?' in ran.stderr


def test_the_bundle_over_http_is_that_of_its_month(folder: Path) -> None:
    with client(folder, prices=folder / "prices.yaml") as service:
        put(service, "requests.jsonl", ROWS)
        march = service.get("/api/v1/exports/focus", params={"period": "2026-03"})
        april = service.get("/api/v1/exports/focus", params={"period": "2026-04", "version": "1.4"})
        wrong = service.get("/api/v1/exports/focus", params={"period": "2026-13"})
        costs = service.get("/api/v1/costs", params={"by": "user"}).json()
    assert march.headers["content-disposition"] == 'attachment; filename="focus-2026-03.zip"'
    rows = rows_of(unzipped(march.content))
    assert sum(Decimal(row["EffectiveCost"]) for row in rows) == Decimal(costs["total_usd"]) == Decimal("0.007182")
    assert rows_of(unzipped(april.content)) == []
    assert (wrong.status_code, wrong.json()["detail"]) == (422, 'period "2026-13" is no month; write 2026-11')


def test_a_server_asked_at_the_prompt_gives_the_same_files(folder: Path) -> None:
    with listening(folder, prices=folder / "prices.yaml") as url:
        remote = tailwise(
            "costs", "requests.jsonl", "--server", url, "--format", "focus", "-o", "remote", folder=folder
        )
        assert remote.returncode == 0, remote.stderr
    local = tailwise(
        "costs", "requests.jsonl", "--prices", "prices.yaml", "--format", "focus", "-o", "local", folder=folder
    )
    assert local.returncode == 0, local.stderr
    names = sorted(path.name for path in (folder / "local").iterdir())
    assert names == sorted(path.name for path in (folder / "remote").iterdir())
    assert {n: (folder / "local" / n).read_bytes() for n in names} == {
        n: (folder / "remote" / n).read_bytes() for n in names
    }


def test_an_outside_validator_finds_nothing_but_the_rule_that_contradicts_itself(folder: Path) -> None:
    validator = os.environ.get("FOCUS_VALIDATOR")
    if not validator:
        pytest.skip("FOCUS_VALIDATOR is not set; it names the focus-validator of an environment with Python 3.12")
    ran = tailwise(
        "costs", "requests.jsonl", "--prices", "prices.yaml", "--format", "focus", "-o", "out", folder=folder
    )
    assert ran.returncode == 0, ran.stderr
    criteria = (
        "ACCOUNT_NAMING_SUPPORTED,NEGOTIATED_PRICING_SUPPORTED,PUBLIC_PRICE_LIST_SUPPORTED,USAGE_MEASUREMENT_SUPPORTED,"
        "UNIT_PRICING_SUPPORTED,SUB_ACCOUNT_SUPPORTED,REGION_SUPPORTED,TAGGING_SUPPORTED,"
        "RESOURCE_TYPE_ASSIGNMENT_SUPPORTED,BILLING_BASED_ON_PROVISIONED_RESOURCES_SUPPORTED"
    )
    packages = next(Path(validator).resolve().parents[1].glob("lib/python3*/site-packages"))
    said = subprocess.run(
        [validator, "--data-file", str(folder / "out" / "cost_and_usage.csv"), "--validate-version", "1.2",
         "--block-download", "--applicability-criteria", criteria],
        cwd=packages, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    failed = re.findall(r"(\S+): FAIL", said.stdout + said.stderr)
    assert failed in (["InvoiceId-C-004-C"], ["InvoiceId-C-005-C"])


@pytest.mark.parametrize(
    ("folder", "computed", "stated"),
    [
        ("data/litellm-logs", "0.815874", "0.815874"),
        ("data/langfuse-trace-export", "0.0030202", "0.003020199997"),  # sums of floats, cut to 12 digits each
    ],
)
def test_computed_costs_equal_what_the_tools_themselves_wrote(
    folder: str, computed: str, stated: str, tmp_path: Path
) -> None:
    ran = tailwise("report", shared(folder), "-o", "r.html", "--json", "r.json", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = json.loads((tmp_path / "r.json").read_text())["costs"]
    assert (found["total_usd"], found["source_stated_usd"], found["unpriced_requests"]) == (computed, stated, 0)


def test_both_forms_of_the_simulators_sample_cost_the_same(tmp_path: Path) -> None:
    sample = shared("incidents/sample/healthy")
    prices = json.loads((sample / "prices.json").read_text())["models"]
    entries = [
        f"  - {{model: {name}, from: 2026-01-01, usd_per_million_tokens: {{input: {p['input']}, "
        f"cached_input: {p['cached_input']}, output: {p['output']}}}}}\n"
        for name, p in prices.items()
    ]
    (tmp_path / "prices.yaml").write_text("prices:\n" + "".join(entries))
    found = []
    for form in ("requests.jsonl.gz", "traces.otlp.jsonl.gz"):
        inputs = [sample / form, sample / "replica_hours.jsonl", sample / "run.json"]
        ran = tailwise(
            "report", *inputs, "--prices", "prices.yaml", "-o", "r.html", "--json", "r.json", folder=tmp_path
        )
        assert ran.returncode == 0, ran.stderr
        costs = json.loads((tmp_path / "r.json").read_text())["costs"]
        shown = [{k: v for k, v in row.items() if not k.startswith("gpu_")} for row in costs["cubes"]["user"]]
        found.append((costs["total_usd"], costs["wasted"], costs["drivers"], costs["idle_usd"], shown))
    assert found[0] == found[1]
    assert (found[0][0], found[0][3]) == ("43.08054797546", "1.170144444445")


def test_our_own_bundle_as_a_bill_equals_the_ledger(folder: Path) -> None:
    made = tailwise(
        "costs", "requests.jsonl", "--prices", "prices.yaml", "--format", "focus", "-o", "out", folder=folder
    )
    assert made.returncode == 0, made.stderr
    ran = tailwise(
        "reconcile",
        "out/cost_and_usage.csv",
        "requests.jsonl",
        "--prices",
        "prices.yaml",
        "--json",
        "r.json",
        folder=folder,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "cost_and_usage.csv: PASS, 6 lines of the bill"
    found = json.loads((folder / "r.json").read_text())
    assert [
        (m["month"], m["bill_usd"], m["ledger_usd"], m["explained"], m["unexplained_usd"]) for m in found["months"]
    ] == [("2026-03", "0.007182", "0.007182", {}, "0")]


def test_a_bill_that_is_too_high_fails_and_names_the_strange_model(folder: Path) -> None:
    (folder / "bill.csv").write_text("date,model,amount\n2026-03-02,m,0.007182\n2026-03-02,q,40\n")
    ran = tailwise("reconcile", "bill.csv", "requests.jsonl", "--prices", "prices.yaml", folder=folder)
    assert ran.returncode == 3, ran.stderr
    assert ran.stdout.splitlines()[0] == "bill.csv: FAIL, 2 lines of the bill"
    assert "fail: the unexplained part is above 2 % of the bill and above 1 USD" in ran.stdout
    assert "note: 2026-03, all providers: the ledger has no request of q" in ran.stdout


def test_a_bill_of_which_nothing_can_be_compared_stops_a_gate(folder: Path) -> None:
    (folder / "bill.csv").write_text("date,model,amount\n2026-03-02,m,0.007182\n")
    command = ("reconcile", "bill.csv", "requests.jsonl", "--prices", "prices.yaml", "--period", "2026-04")
    ran = tailwise(*command, folder=folder)
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (3, "bill.csv: nothing to compare, 0 lines of the bill")


def test_reconciling_needs_a_bill(folder: Path) -> None:
    ran = tailwise("reconcile", folder=folder)
    assert (ran.returncode, ran.stderr.strip()) == (
        2,
        "tailwise: no bill is given. Write: tailwise reconcile BILL [PATH...]",
    )
