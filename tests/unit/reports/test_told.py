"""Sentences of an analysis in Chinese: all of the rules and metrics, figures and names as they were."""

from __future__ import annotations

import ast
import html
import json
import re
import string
from dataclasses import replace
from pathlib import Path

import pytest

from analysis import causes
from analysis.metrics.catalog import METRICS
from analysis.result import AnalysisResult, Finding
from analysis.rules.catalog import built_in
from reports import told as module
from reports.render import render
from reports.told import spoken, told
from tests.support.results import week
from tests.support.service import Plant, Row, findings, in_fault, service

WORDS = json.loads((Path(module.__file__).parent / "assets" / "words" / "zh-told.json").read_text())
ENGLISH = re.compile(r"(?:\b[A-Za-z][a-z]+[,;]? ){3,}[a-z]{2,}")  # four words in a row, no flags and no names
CHINESE = re.compile(r"[\u4e00-\u9fff]")
PLAIN = re.compile(
    r"(?<![\w-])[A-Za-z][a-z]{2,},? [a-z]{3,}(?![\w-])"
)  # settings alone have no two plain words in a row


def test_every_sentence_of_the_built_in_rules_has_a_chinese_one() -> None:
    catalog = built_in()
    said = {advice.title for advice in catalog.advice.values()} | {conflict.why for conflict in catalog.conflicts}
    for rule in catalog.rules:
        said |= {rule.title, rule.finds, rule.precondition, rule.trade_off, rule.verify, *rule.actions.values()}
        said |= {part.why for part in rule.unless}
    silent = [text for text in sorted(said) if PLAIN.search(text) and not CHINESE.search(told(text, "zh"))]
    assert silent == []


def test_every_metric_has_a_chinese_name_and_meaning() -> None:
    texts = [text for metric in METRICS for text in (metric.title, metric.says)]
    assert [text for text in texts if not CHINESE.search(told(text, "zh"))] == []


def test_every_cause_and_its_evidence_have_a_chinese_sentence() -> None:
    """Read from the sources, with 7 in every place; sentences that are put together of parts are left to the pages."""
    said = set()
    for path in Path(causes.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id == "Evidence":
                    said.add(_text(node.args[0]))
                said |= {_text(each.value) for each in node.keywords if each.arg == "says"}
    assert len(said) > 40
    assert [text for text in sorted(filter(None, said)) if not CHINESE.search(told(text, "zh"))] == []


def _text(node: ast.expr) -> str:
    """The text of a literal; empty where a part of it is words that stand elsewhere."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.JoinedStr) or any(part in ast.unparse(node) for part in ("words", "_instead")):
        return ""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)


def test_chinese_sentences_keep_the_places_of_the_english_ones() -> None:
    def places(sentence: str) -> list[str]:
        return sorted(name for _, name, _, _ in string.Formatter().parse(sentence) if name)

    assert [english for english, words in WORDS["sentences"].items() if places(english) != places(words)] == []


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "2 of 3 replicas of lm-large in us-east served nothing (a-0, a-1)",
            "lm-large in us-east 的 3 个副本中有 2 个没有服务任何请求（a-0, a-1）",
        ),
        (
            "2 of 3 replicas of lm-large in us-east served nothing or nearly nothing (a-0, a-1)",
            "lm-large in us-east 的 3 个副本中有 2 个没有或几乎没有服务请求（a-0, a-1）",
        ),
        ("Retrieval takes 1.19 s instead of 0.12 s in all traffic", "全部流量的检索为 1.19 秒，原为 0.12 秒"),
        (
            "The gateway itself takes the time, not the network and not the engine. Gateway takes 2.1 s in model m and"
            " region eu.",
            "耗时在网关本身，而非网络或引擎。模型 m、区域 eu的网关为 2.1 秒。",
        ),
        (
            "Assumes 2.0 times the replicas. A sentence that nobody knows.",
            "假定副本为 2.0 倍。A sentence that nobody knows.",
        ),
        ("chat answers for our customers", "chat answers for our customers"),
        ("", ""),
    ],
)
def test_figures_and_names_stay_and_what_is_not_known_stays(english: str, chinese: str) -> None:
    assert told(english, "zh") == chinese
    assert told(english, "en") == english


def test_only_the_page_is_told_in_words_of_its_language() -> None:
    before = week()
    after = spoken(before, "zh")
    assert spoken(before, "en") is before
    assert render(before, "json") == render(week(), "json")
    assert after.objectives == before.objectives
    assert [finding.segment for finding in after.findings] == [finding.segment for finding in before.findings]
    assert [d.id for d in after.definitions] == [d.id for d in before.definitions]


def slow_replica(row: Row, minute: float) -> None:
    if in_fault(minute) and row["replica"].endswith("-0"):
        row["slow"] = 2.5


def failing(row: Row, minute: float) -> None:
    if in_fault(minute) and row["tenant"] == "t-0" and row["wait"] < 0.5:
        row["status"] = "error"


def slow_retrieval(row: Row, minute: float) -> None:
    if in_fault(minute) and row["scenario"] == "rag":
        row["retrieval_ms"] += 4000.0


@pytest.mark.parametrize("plant", [slow_replica, failing, slow_retrieval])
def test_no_english_sentence_of_the_analysis_is_left_on_a_chinese_page(plant: Plant) -> None:
    found = findings(service(plant))
    assert found != ()
    left = [text for text in _texts(replace(week(), findings=list(found)), found) if ENGLISH.search(text)]
    assert left == []


def _texts(result: AnalysisResult, found: tuple[Finding, ...]) -> list[str]:
    """Texts of the part of the page that says what to do; what others reported is quoted as they said it."""
    quoted = {item.reported_effect for finding in found for item in finding.recommendations if item.reported_effect}
    page = render(result, "html", lang="zh").decode()
    part = page[page.index('id="p2"') : page.index('id="p3"')]
    texts = [html.unescape(" ".join(text.split())) for text in re.split(r"<[^>]+>", part)]
    return [text for text in texts if text and not any(text.startswith(said) for said in quoted)]
