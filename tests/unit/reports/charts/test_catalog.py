"""All charts: each record is drawn, its text is safe, its traces are ones that the vendored script knows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import plotly.graph_objects as go
import pytest

from reports.charts import data, theme
from reports.charts.catalog import CHARTS, draw
from reports.charts.data import ChartData

TOKENS = Path(theme.__file__).parents[1] / "assets" / "tokens.css"
SEGMENT = data.Segment(
    "queue", "stage-queue", hatched=False, values=(1.0, 2.0), labels=("", "queue"), hovers=("a", "b"), deep=False
)
HATCHED = data.Segment("model", "stage-before", hatched=True, values=(1.0, None), labels=("", ""), hovers=("a", "b"))
LINE = data.Line(
    "good", "series-1", "solid", 2.0, ("2026-03-02 00:00:00", "2026-03-02 01:00:00"), (0.5, None), ("a", "b")
)
RECORDS: dict[str, ChartData] = {
    "bars": data.StackedBars(("all", "bad"), (SEGMENT, HATCHED), ("2 s", "2 s"), "s"),
    "columns": data.StackedColumns(("Mon 2", "Tue 3"), (SEGMENT,), ("1", "2"), "USD"),
    "lines": data.Lines((LINE,), "time", "ratio", bands=(data.Band("2026-03-02 00:00:00", "2026-03-02 00:30:00", "incident"),)),
    "time bars": data.TimeBars(("2026-03-02 00:00:00",), (1.5,), (True,), ("a",), "×", marks=(data.Mark(1.0, "1×", vertical=False),)),
    "heat": data.HeatMap(("Mon",), ("00", "01"), ((0, None),), ("heat-0", "badheat-3"), ("heat-ink-low", "badheat-ink-high"), (("", ""),), (("a", "b"),)),
    "losses": data.Losses(("failed",), (35.0,), ("35 lost",), ("bad",), ("a",), ""),
    "counts": data.CountColumns(("1", "2-4"), (0.25, 0.75), ("a", "b"), "series-1", "ratio"),
    "timeline": data.Timeline(("POST", "queue"), ((data.TimelineBar("POST", 0.0, 2.0, "line-strong", outline=True, hatched=False, hover="a"),), (data.TimelineBar("queue", 0.1, 1.0, "stage-before", outline=False, hatched=True, hover="b"),)), (data.Mark(1.1, "first token", vertical=True),)),
}  # fmt: skip


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def test_every_record_has_its_chart_and_every_chart_its_record_here() -> None:
    assert {kind for kind, _ in CHARTS} == set(get_args(ChartData)) == {type(record) for record in RECORDS.values()}


@pytest.mark.parametrize("name", RECORDS)
def test_a_chart_uses_traces_of_the_vendored_script_and_colours_of_the_tokens(name: str) -> None:
    figure = json.loads(draw(RECORDS[name], 200))
    assert {trace["type"] for trace in figure["data"]} <= {"bar", "scatter", "heatmap"}
    used = {token for text in strings(figure) for token in re.findall(r"var\((--[\w-]+)\)", text)}
    assert used - set(re.findall(r"(--[\w-]+):", TOKENS.read_text())) == set()
    assert [text for text in strings(figure) if re.fullmatch(r"#[0-9a-fA-F]{3,8}", text)] == []


@pytest.mark.parametrize("name", RECORDS)
def test_a_chart_is_the_same_text_each_time_and_has_the_height_asked_for(name: str) -> None:
    assert draw(RECORDS[name], 200) == draw(RECORDS[name], 200)
    assert json.loads(draw(RECORDS[name], 200))["layout"]["height"] == 200


@pytest.mark.parametrize("name", RECORDS)
def test_a_chart_is_as_the_library_would_write_it(name: str) -> None:
    drawn = json.loads(draw(RECORDS[name], 200))
    checked = go.Figure(drawn).to_dict()  # refuses what its schema does not know
    checked["layout"].pop("template")
    assert json.loads(json.dumps(checked)) == drawn


def test_a_hostile_name_is_text_in_a_chart() -> None:
    hostile = data.Losses(
        ("</script><script>alert(1)</script>",), (1.0,), ('<a href="javascript:x">x</a>',), ("bad",), ("a\nb<br>",), ""
    )
    drawn = draw(hostile, 100)
    assert "<" not in drawn
    trace = json.loads(drawn)["data"][0]
    assert trace["y"] == ["&lt;/script>&lt;script>alert(1)&lt;/script>"]
    assert trace["text"] == ['&lt;a href="javascript:x">x&lt;/a>']
    assert trace["hovertext"] == ["a\nb&lt;br>"]


def test_no_data_is_an_empty_figure_and_not_an_error() -> None:
    assert json.loads(draw(data.StackedBars((), (), (), "s"), 100))["data"] == []
    assert json.loads(draw(data.Lines((), "s", "ratio"), 100))["data"] == []
    assert json.loads(draw(data.Losses((), (), (), (), (), ""), 100))["data"][0]["type"] == "bar"


def test_one_point_is_drawn() -> None:
    one = data.Line("one", "series-1", "solid", 2.0, (1.0,), (0.5,), ("a",))
    assert json.loads(draw(data.Lines((one,), "s", "ratio", x_log=True), 100))["data"][0]["x"] == [1.0]


def drawn_axis(chart: ChartData, axis: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(draw(chart, 200))["layout"][axis]
    return found


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ((0.012, 0.03, 0.095), [0.02, 0.05]),
        ((0.5, 3.0), [0.5, 1, 2]),
        ((0.1, 70.0), None),  # powers of ten suffice
        ((), None),
    ],
)
def test_a_logarithmic_axis_has_ticks_however_short_it_is(values: tuple[float, ...], ticks: list[float] | None) -> None:
    line = data.Line(
        "streamed", "series-1", "solid", 2.0, values, tuple(0.5 for _ in values), tuple("" for _ in values)
    )
    assert drawn_axis(data.Lines((line,), "s", "ratio", x_log=True), "xaxis").get("tickvals") == ticks


def test_charts_over_time_begin_at_one_place() -> None:
    margins = {json.loads(draw(RECORDS[name], 200))["layout"]["margin"]["l"] for name in ("lines", "time bars")}
    assert len(margins) == 1
