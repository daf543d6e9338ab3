"""Answers over HTTP: figures, verdicts, diagnosis, costs, reports, pages, and what every answer carries."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import zipfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.support.browser import chromium
from tests.support.server import client, put, request_rows

OBJECTIVES = b"""
timezone: Europe/Berlin
objectives:
  - {id: chat.ttft, metric: ttft, where: {scenario: chat}, threshold: 300ms, target: 95%}
  - {id: chat.e2e, metric: e2e, where: {scenario: chat}, threshold: 5s, target: 95%}
"""
PRICES = "prices:\n  - {model: m, from: 2026-01-01, usd_per_million_tokens: {input: 1, output: 2}}\n"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[TestClient]:
    """A service with 60 requests, of which u-0 has a hostile name."""
    (tmp_path / "prices.yaml").write_text(PRICES)
    with client(tmp_path, prices=tmp_path / "prices.yaml") as opened:
        put(opened, "requests.jsonl", request_rows(60).replace(b"u-0", HOSTILE.encode()))
        yield opened


@pytest.mark.parametrize(
    "route",
    [
        "summary",
        "latency",
        "stages",
        "strata",
        "goodput",
        "availability",
        "throughput",
        "cache",
        "load",
        "comparison",
        "follow-up",
        "objectives",
        "result",
    ],
)
def test_every_figure_has_a_route_and_says_its_selection(service: TestClient, route: str) -> None:
    said = service.get(f"/api/v1/{route}", params={"week": "2026-W10", "where": "scenario=chat"})
    selection = said.json()["selection"]
    assert (said.status_code, selection["week"], selection["where"]) == (200, "2026-W10", {"scenario": ["chat"]})


def test_one_metric_of_the_latencies_can_be_asked_for(service: TestClient) -> None:
    rows = service.get("/api/v1/latency", params={"metric": "ttft"}).json()["latency"]
    assert {(row["metric"], row["streaming"], row["n"], row["p95"]) for row in rows if row["streaming"] == "all"} == {
        ("ttft", "all", 60, 0.4)
    }


def test_figures_are_told_by_dimension_with_the_percentiles_asked_for(service: TestClient) -> None:
    asked = {"by": "user,scenario", "metric": "e2e", "percentiles": "50,99.9"}
    latency = service.get("/api/v1/latency", params=asked).json()
    stages = service.get("/api/v1/availability", params={"by": "user"}).json()
    line = {"metric": "e2e", "unit": "s", "requests": 20, "n": 20, "mean": 0.9, "p50": 0.9, "p99.9": 0.9}
    users = [HOSTILE, "u-1", "u-2"]
    assert latency == {
        "by": ["user", "scenario"],
        "groups": 3,
        "left_out": 0,
        "note": None,
        "rows": [line | {"mean": pytest.approx(0.9), "by": {"user": user, "scenario": "chat"}} for user in users],
    }
    assert [(row["by"], row["requests"]) for row in stages["rows"]] == [({"user": user}, 20) for user in users]


@pytest.mark.parametrize("asked", ["by=usr", "percentiles=101", "percentiles=x", "percentiles=50&metric=cost"])
def test_what_cannot_be_broken_down_is_a_problem(service: TestClient, asked: str) -> None:
    said = service.get(f"/api/v1/latency?{asked}")
    assert (said.status_code, said.headers["content-type"]) == (422, "application/problem+json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("week", '"\\ud800"'),
        ("timezone", '"\\ud800"'),
        ("command", '"\\ud800"'),
        ("where", '["model=\\ud800"]'),
        ("objectives", '"\\ud800"'),
        ("prices", '"\\ud800"'),
        ("fleet", '"' + "[" * 3000 + '"'),
    ],
)
def test_a_body_whose_texts_are_none_is_a_problem(service: TestClient, name: str, value: str) -> None:
    headers = {"content-type": "application/json"}
    said = service.post("/api/v1/result", content=f'{{"{name}": {value}}}', headers=headers)
    assert (said.status_code, said.json()["code"]) == (422, "config")


@pytest.mark.parametrize("address", ["/", "/healthz", "/readyz", "/metrics", "/api/v1/summary"])
def test_a_head_is_answered_like_a_get(service: TestClient, address: str) -> None:
    assert (service.head(address).status_code, service.head(address).content) == (200, b"")


def test_objectives_that_are_put_judge_from_then_on_and_after_a_restart(service: TestClient, tmp_path: Path) -> None:
    before = [row["id"] for row in service.get("/api/v1/objectives").json()["objectives"]]
    said = service.put("/api/v1/objectives", content=OBJECTIVES)
    after = {row["id"]: row["verdict"] for row in service.get("/api/v1/objectives").json()["objectives"]}
    assert before[0] == "default.ttft"
    assert said.json() == {"objectives": ["chat.ttft", "chat.e2e"], "timezone": "Europe/Berlin", "notes": []}
    assert after == {"chat.ttft": "breached", "chat.e2e": "met"}


def test_objectives_go_out_as_openslo_and_come_back_with_the_same_verdicts(service: TestClient) -> None:
    service.put("/api/v1/objectives", content=OBJECTIVES)
    before = service.get("/api/v1/objectives").json()["objectives"]
    written = service.get("/api/v1/objectives", params={"format": "openslo"})
    said = service.put("/api/v1/objectives", content=written.content, headers={"content-type": "application/yaml"})
    after = service.get("/api/v1/objectives").json()["objectives"]
    assert (written.headers["content-type"], written.text.count("apiVersion: openslo/v1")) == ("application/yaml", 2)
    assert said.json() == {"objectives": ["chat.ttft", "chat.e2e"], "timezone": "Europe/Berlin", "notes": []}
    texts = [[row.pop("threshold_text") for row in rows] for rows in (before, after)]
    assert (texts, after) == ([["300ms", "5s"], ["0.3s", "5.0s"]], before)  # a value has no unit of its own
    assert service.get("/api/v1/objectives", params={"format": "openslo"}).content == written.content


def test_what_openslo_says_and_objectives_do_not_is_told_when_it_is_put(service: TestClient) -> None:
    policy = "apiVersion: openslo/v1\nkind: AlertPolicy\nmetadata: {name: page}\nspec: {}\n---\n"
    said = service.put(
        "/api/v1/objectives", content=policy + service.get("/api/v1/objectives", params={"format": "openslo"}).text
    )
    told = 'objectives.yaml, line 1: AlertPolicy "page" is not read; objectives are SLO and SLI'
    assert (said.status_code, said.json()["notes"]) == (200, [told])


def test_a_fault_in_the_objectives_is_told_and_changes_nothing(service: TestClient) -> None:
    said = service.put("/api/v1/objectives", content=OBJECTIVES.replace(b"metric: ttft", b"metric: ttfb"))
    still = service.get("/api/v1/objectives").json()["objectives"][0]["id"]
    assert (said.status_code, still) == (422, "default.ttft")
    assert 'Did you mean "ttft"?' in said.json()["detail"]


RULES = b"""
recommendations: {ask_team: Ask the team}
rules:
  - {id: OUR-1, title: Ask, finds: It is slow., recommends: [ask_team], when: {fact: kind, op: eq, value: latency}, priority: 1, effort: 1}
"""


def advised(told: dict[str, Any]) -> list[str]:
    return [item["id"] for finding in told["findings"] for item in finding["recommendations"]]


def test_rules_that_are_put_advise_from_then_on_and_a_fault_changes_nothing(service: TestClient) -> None:
    service.put("/api/v1/objectives", content=OBJECTIVES)
    address = "/api/v1/objectives/chat.ttft/diagnosis"
    before = advised(service.get(address).json())
    said = service.put("/api/v1/rules", content=RULES)
    after = advised(service.get(address).json())
    wrong = service.put("/api/v1/rules", content=RULES.replace(b"fact: kind", b"fact: kimd"))
    listed = service.get("/api/v1/rules").json()
    assert ("ask_team" in before, "ask_team" in after, said.status_code) == (False, True, 200)
    assert (wrong.status_code, 'Did you mean "kind"?' in wrong.json()["detail"]) == (422, True)
    assert listed["source"] == "rules of this version, under rules.yaml: 1 rule and 0 thresholds"
    assert next(row for row in listed["rules"] if row["id"] == "OUR-1")["evidence"] == (
        "the kind of the objective is latency"
    )
    assert service.get("/api/v1/result").json()["provenance"]["rules"] == listed["source"]


@pytest.mark.parametrize(("name", "put"), [("rules", RULES), ("objectives", OBJECTIVES)])
@pytest.mark.parametrize("body", [b"", b"\n", b"# nothing yet\n", b"\xef\xbb\xbf"])
def test_an_empty_body_is_refused_and_drops_nothing(service: TestClient, name: str, put: bytes, body: bytes) -> None:
    address = f"/api/v1/{name}"
    service.put(address, content=put)
    before = service.get(address).json()[name]
    said = service.put(address, content=body)
    assert (said.status_code, service.get(address).json()[name]) == (422, before)
    assert f'send "{name}: []"' in said.json()["detail"]
    assert service.put(address, content=f"{name}: []".encode()).status_code == 200


def test_a_question_brings_rules_of_its_own(service: TestClient) -> None:
    ask = {"objectives": OBJECTIVES.decode(), "rules": RULES.decode()}
    assert "ask_team" in advised(service.post("/api/v1/result", json=ask).json())
    assert "ask_team" not in advised(service.post("/api/v1/result", json=ask | {"rules": None}).json())


def test_breaches_and_diagnosis_answer_in_one_call(service: TestClient) -> None:
    service.put("/api/v1/objectives", content=OBJECTIVES)
    breaches = service.get("/api/v1/breaches").json()["breaches"]
    broken = service.get("/api/v1/objectives/chat.ttft/diagnosis").json()
    kept = service.get("/api/v1/objectives/chat.e2e/diagnosis").json()
    missing = service.get("/api/v1/objectives/none/diagnosis")
    assert [row["objective"]["id"] for row in breaches] == ["chat.ttft"]
    assert broken["findings"] == breaches[0]["findings"] != []
    assert (kept["objective"]["verdict"], kept["findings"]) == ("met", [])
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


def test_requests_are_paged_by_key_and_each_has_its_page(service: TestClient) -> None:
    seen: list[str] = []
    after: str | None = None
    while True:
        page = service.get("/api/v1/requests", params={"limit": 25} | ({"after": after} if after else {})).json()
        seen += [row["request_id"] for row in page["requests"]]
        after = page["next"]
        if after is None:
            break
    one = service.get("/api/v1/requests/r-7").json()
    page = service.get("/requests/r-7")
    assert seen == [f"r-{n}" for n in range(60)]
    assert (one["request"]["request_id"], one["request"]["ttft_ns"], one["calls"]) == ("r-7", 400_000_000, [])
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert service.get("/api/v1/requests/none").status_code == service.get("/requests/none").status_code == 404


def test_costs_add_up_as_json_csv_and_parquet(service: TestClient) -> None:
    as_json = service.get("/api/v1/costs", params={"by": "user,scenario"}).json()
    as_csv = service.get("/api/v1/costs", params={"by": "user", "format": "csv"})
    parquet = service.get("/api/v1/costs", params={"format": "parquet"})
    rows = list(csv.DictReader(io.StringIO(as_csv.text)))
    assert as_json["total_usd"] == "0.00732"
    assert sum(Decimal(row["cost_usd"]) for row in as_json["rows"]) == Decimal("0.00732")
    assert sum(Decimal(row["cost_usd"]) for row in rows) == Decimal("0.00732")
    assert (parquet.content[:4], parquet.headers["content-disposition"]) == (
        b"PAR1",
        'attachment; filename="costs.parquet"',
    )


def test_the_finance_bundle_of_a_month_is_one_zip(service: TestClient) -> None:
    said = service.get("/api/v1/exports/focus", params={"period": "2026-03", "version": "1.2"})
    with zipfile.ZipFile(io.BytesIO(said.content)) as bundle:
        names = set(bundle.namelist())
    assert said.status_code == 200
    assert {"cost_and_usage.csv", "cost_and_usage.parquet", "manifest.json", "metadata.json"} <= names


def test_a_report_is_made_listed_and_read_in_every_form(service: TestClient) -> None:
    made = [service.post("/api/v1/reports", json={"week": "2026-W10"}) for _ in range(2)]
    listed = service.get("/api/v1/reports").json()["reports"]
    latest = service.get("/reports/latest.json")
    forms = {kind: service.get(f"/reports/2026-W10-r1{kind}") for kind in ("", ".html", ".json", ".md", ".csv")}
    assert [(said.status_code, said.headers["location"]) for said in made] == [
        (201, "/reports/2026-W10-r1"),
        (201, "/reports/2026-W10-r2"),
    ]
    assert [row["id"] for row in listed] == ["2026-W10-r2", "2026-W10-r1"]
    assert (latest.json()["summary"]["requests"], {said.status_code for said in forms.values()}) == (60, {200})
    assert forms[".md"].text.startswith("# ")


def test_a_report_of_nothing_says_where_the_requests_are_and_is_not_the_latest(service: TestClient) -> None:
    first = service.post("/api/v1/reports", json={"week": "2026-W10"}).json()
    empty = service.post("/api/v1/reports", json={"week": "2025-W30"})
    home = service.get("/").text
    assert (empty.status_code, first["note"]) == (201, None)
    assert re.fullmatch(
        r"No request lies in this selection\. The requests that were loaded are from 2026-03-0\dT[\d:.]+Z to 2026-03-0\dT[\d:.]+Z\.",
        empty.json()["note"],
    )
    assert service.get("/reports/latest.json").json()["summary"]["requests"] == 60
    assert service.get("/reports/2025-W30-r1.json").json()["summary"]["requests"] == 0
    assert 'href="/reports/2026-W10-r1"' in home
    assert "2025-W30" in home


def test_a_report_that_is_not_there_says_so(service: TestClient) -> None:
    answers = [service.get(path) for path in ("/reports/latest", "/reports/none", "/reports/none.docx")]
    assert [(said.status_code, said.json()["code"]) for said in answers] == [(404, "not_found")] * 3


def test_a_report_can_bring_its_own_files(service: TestClient) -> None:
    ask = {"objectives": OBJECTIVES.decode(), "prices": PRICES.replace("input: 1", "input: 10")}
    result = service.post("/api/v1/result", json=ask).json()
    wrong = service.post("/api/v1/result", json={"objectivs": "x"})
    assert ([row["id"] for row in result["objectives"]], result["summary"]["cost_usd"]) == (
        ["chat.ttft", "chat.e2e"],
        "0.06132",
    )
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_parameter")


def test_a_report_prints_as_pdf(service: TestClient) -> None:
    chromium()
    service.post("/api/v1/reports")
    assert service.get("/reports/latest.pdf").content[:5] == b"%PDF-"


def test_without_a_browser_pdf_is_refused_with_the_sentence(
    service: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    service.post("/api/v1/reports")
    said = service.get("/reports/latest.pdf")
    assert (said.status_code, said.json()["detail"]) == (501, "PDF needs Chromium, and none is installed here")


@pytest.mark.parametrize("path", ["/", "/reports/latest", "/requests/r-0", "/objectives/default.ttft", "/docs"])
def test_pages_run_their_own_scripts_alone_and_escape_names(service: TestClient, path: str) -> None:
    service.post("/api/v1/reports")
    said = service.get(path)
    policy = said.headers["content-security-policy"]
    assert said.status_code == 200
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert not re.search(r"script-src[^;]*unsafe-inline", policy)
    assert HOSTILE not in said.text
    markup = re.sub(r"<script.*?</script>", "", said.text, flags=re.DOTALL)
    assert not re.findall(r"""(?:src|href)=["']?https?://""", markup)


def test_an_empty_service_answers_everything(tmp_path: Path) -> None:
    with client(tmp_path) as service:
        home = service.get("/")
        summary = service.get("/api/v1/summary")
        breaches = service.get("/api/v1/breaches").json()["breaches"]
        report = service.post("/api/v1/reports")
        page = service.get(report.headers["location"])
    assert (home.status_code, summary.status_code, report.status_code, page.status_code) == (200, 200, 201, 200)
    assert (summary.json()["summary"]["requests"], breaches) == (0, [])


def test_probes_and_figures_of_the_service(service: TestClient) -> None:
    ready = service.get("/readyz").json()
    service.get("/api/v1/requests/r-1")
    service.get("/api/v1/requests/r-2")
    figures = service.get("/metrics").text
    assert (service.get("/healthz").json(), ready["rows"]["requests"]) == ({"status": "ok"}, 60)
    assert (
        'tailwise_http_requests_total{method="GET",route="/api/v1/requests/{request_id:path}",status="200"} 2.0'
        in figures
    )


def test_the_same_question_gives_the_same_bytes_until_rows_come(service: TestClient) -> None:
    first, second = (service.get("/api/v1/result").content for _ in range(2))
    put(service, "more.jsonl", request_rows(1, request_id="more"))
    third = json.loads(service.get("/api/v1/result").content)
    assert first == second
    assert third["summary"]["requests"] == 61


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/api/v1/summary?week=2026-99", 'week "2026-99" is not of the form 2026-W48'),
        ("/api/v1/summary?where=chat", 'filter "chat" is not of the form'),
        ("/api/v1/summary?where=scenrio%3Dchat", 'Did you mean "scenario"?'),
        ("/api/v1/summary?timezone=Mars", 'time zone "Mars" is not known'),
        ("/api/v1/summary?from=yesterday", 'time "yesterday" is not ISO 8601'),
        ("/api/v1/requests?where=hour%3D3", "requests cannot be listed by hour"),
        ("/api/v1/costs?by=usr", "usr"),
        ("/api/v1/exports/focus?period=2026", "2026"),
    ],
)
def test_a_wrong_question_is_a_problem_that_says_what_is_right(service: TestClient, path: str, says: str) -> None:
    said = service.get(path)
    told = said.json()
    assert (said.status_code, told["status"], told["title"]) == (422, 422, "Unprocessable Content")
    assert says in told["detail"]
    assert told["code"]


@pytest.mark.parametrize("path", ["/nope", "/objectives/nope", "/reports/nope", "/requests/nope"])
def test_an_unknown_address_is_a_page_in_a_browser_and_a_problem_for_a_program(tmp_path: Path, path: str) -> None:
    with client(tmp_path) as service:
        page = service.get(path, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        problem = service.get(path)
        api = service.get("/api/v1/objectives/nope", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>Not Found</h1>" in page.text
    assert (
        html.escape(problem.json()["detail"], quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
        in page.text
    )
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    assert (problem.status_code, problem.headers["content-type"]) == (404, "application/problem+json")
    assert api.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("asked", "code", "says"),
    [
        ("latency?metric=ttfs", "config", "ttfs"),
        ("latency?metric=ttft&metrics=e2e", "unknown_parameter", 'Did you mean "metric"?'),
        ("summary?wheer=scenario%3Dchat", "unknown_parameter", 'Did you mean "where"?'),
        ("breaches?tenant=acme", "unknown_parameter", '"tenant" is no parameter of /api/v1/breaches; it has'),
        ("explain/ttft?x=1", "unknown_parameter", "it has none"),
    ],
)
def test_a_parameter_or_a_metric_that_is_not_known_is_refused(
    service: TestClient, asked: str, code: str, says: str
) -> None:
    said = service.get(f"/api/v1/{asked}")
    problem = said.json()
    assert (said.status_code, problem["code"]) == (422, code)
    assert says in f"{problem['detail']} {problem.get('hint')}"
