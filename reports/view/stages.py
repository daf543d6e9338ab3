"""Part 5: where the time goes, of all, slow and bad requests; then before the first token alone.

Input: stages of the result; Text. Output: blocks.
"""

from __future__ import annotations

from analysis.result import AnalysisResult, StageShare
from reports import text as words
from reports.charts import theme
from reports.charts.data import Segment, StackedBars
from reports.text import Text
from reports.view.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Figure,
    Message,
    Part,
    Piece,
    Table,
    number_cell,
    plain,
    row,
)
from reports.view.labels import stage_swatch

LABEL_SHARE = 0.07  # a segment narrower than this has no room for its label


def stages_part(result: AnalysisResult, text: Text) -> Part:
    title, rail = text.say("5. Where the time goes"), text.say("5. Where time goes")
    stages = sorted((s for s in result.stages if s.n and s.seconds > 0), key=lambda s: theme.stage_order(s.stage))
    if not stages:
        says = text.say(
            "No request has a stage time: the traces hold neither spans below the request nor queue, prefill and decode "
            "times of the engine. Log gen_ai.latency.time_in_queue, time_in_model_prefill and time_in_model_decode, or load the engine's traces."
        )
        return Part("p5", title, rail, "", (Message(plain(says)),))
    unattributed = next((stage.share for stage in result.stages if stage.stage == "unattributed"), None)
    lead = text.say("Stages do not overlap and sum to E2E.")
    if unattributed is not None:
        lead += " " + text.say("Unattributed is {share}.", share=words.share(unattributed))
    blocks: list[Block] = [_all(stages, text)]
    first = [stage for stage in stages if stage.share_of_ttft]
    if first:
        blocks.append(_before_first_token(first, text))
    return Part("p5", title, rail, lead, tuple(blocks))


def _all(stages: list[StageShare], text: Text) -> Figure:
    by_mean = any(stage.mean_seconds_slowest_5_percent is not None for stage in stages)
    groups = [(text.say("all"), [s.mean_seconds if by_mean else s.share for s in stages])]
    slow = [s.mean_seconds_slowest_5_percent if by_mean else s.share_slowest_5_percent for s in stages]
    bad = [s.mean_seconds_bad if by_mean else s.share_bad for s in stages]
    if any(value is not None for value in slow):
        groups.append((text.say("slowest 5 %"), slow))
    if any(value is not None for value in bad):
        groups.append((text.say("bad"), bad))
    unit = "s" if by_mean else "ratio"
    return Figure(
        title=text.say("E2E by stage"),
        says=_finding(stages, text),
        charts=(
            Chart(
                text.say("Mean time per request by stage") if by_mean else text.say("Share of time by stage"),
                stacked(groups, stages, unit, text),
                62 + 46 * len(groups),
            ),
        ),
        legend=tuple(stage_swatch(text, stage.stage) for stage in stages),
        table=_table(stages, text),
    )


def stacked(
    groups: list[tuple[str, list[float | None]]], stages: list[StageShare], unit: str, text: Text
) -> StackedBars:
    """Bars of one unit; a stage that a group lacks is a gap."""
    sums = [sum(value or 0.0 for value in values) for _, values in groups]
    reach = max(sums, default=0.0) or 1.0
    segments = []
    for index, stage in enumerate(stages):
        values = tuple(group[index] for _, group in groups)
        segments.append(
            Segment(
                name=stage.stage,
                token=theme.stage_token(stage.stage),
                hatched=stage.stage in theme.HATCHED,
                deep=stage.stage not in theme.LIGHT,
                values=values,
                labels=tuple(
                    text.say(stage.stage) if v is not None and v / reach > LABEL_SHARE else "" for v in values
                ),
                hovers=tuple(
                    f"{text.say(stage.stage)}\n{words.figure(v, unit)}\n{words.share(v / total) if v is not None and total else words.UNKNOWN}\nn {words.count(stage.n)}"
                    for v, total in zip(values, sums, strict=True)
                ),
            )
        )
    return StackedBars(
        tuple(name for name, _ in groups),
        tuple(segments),
        tuple(words.figure(total, unit) if unit != "ratio" else "" for total in sums),
        unit,
    )


def _finding(stages: list[StageShare], text: Text) -> str:
    """The largest stage, and the one that bad requests have most more of."""
    largest = max(stages, key=lambda stage: stage.share or 0.0)
    says = text.say(
        "Most of all time is {stage}: {share}.", stage=text.say(largest.stage), share=words.whole_share(largest.share)
    )
    grown = [
        (s.mean_seconds_bad / s.mean_seconds, s)
        for s in stages
        if s.mean_seconds
        and s.mean_seconds_bad
        and s.mean_seconds_bad - s.mean_seconds > 0.05 * (largest.mean_seconds or 0)
    ]
    if grown:
        _, stage = max(grown, key=lambda item: item[0])
        says += " " + text.say(
            "What bad requests have more of is {stage}: {bad} against {all}.",
            stage=text.say(stage.stage), bad=words.seconds(stage.mean_seconds_bad), all=words.seconds(stage.mean_seconds),
        )  # fmt: skip
    return says


def _table(stages: list[StageShare], text: Text) -> Table:
    at_p99 = any(stage.share_p99 is not None for stage in stages)
    caption = text.say("Mean over all requests of the group; n is the requests that have the stage")
    if at_p99:
        caption += "; " + text.say(
            "at P99: the mix of requests with an E2E between P98.5 and P99.5, for percentiles of stages do not add"
        )
    rows = tuple(
        row(
            Cell(((Piece(f" {text.say(stage.stage)}"),),), swatch=stage_swatch(text, stage.stage)),
            number_cell(words.seconds(stage.mean_seconds)),
            number_cell(words.share(stage.share)),
            number_cell(words.seconds(stage.mean_seconds_slowest_5_percent)),
            number_cell(words.share(stage.share_slowest_5_percent)),
            number_cell(words.seconds(stage.mean_seconds_bad)),
            number_cell(words.share(stage.share_bad)),
            *((number_cell(words.share(stage.share_p99)),) if at_p99 else ()),
            number_cell(words.count(stage.n)),
        )
        for stage in stages
    )
    return Table(
        name=text.say("Mean time per request by stage"),
        caption=caption,
        columns=(
            Column(text.say("Stage")),
            Column(text.say("All"), number=True),
            Column(text.say("Share"), number=True),
            Column(text.say("Slowest 5 %"), number=True),
            Column(text.say("Share"), number=True),
            Column(text.say("Bad"), number=True),
            Column(text.say("Share"), number=True),
            *((Column(text.say("Share at P99"), number=True),) if at_p99 else ()),
            Column("n", number=True),
        ),
        rows=rows,
    )


def _before_first_token(stages: list[StageShare], text: Text) -> Figure:
    largest = max(stages, key=lambda stage: stage.share_of_ttft or 0.0)
    data = stacked([("TTFT", [stage.share_of_ttft for stage in stages])], stages, "ratio", text)
    return Figure(
        title=text.say("TTFT by stage"),
        says=text.say("Most of the time before the first token is {stage}: {share}.", stage=text.say(largest.stage), share=words.whole_share(largest.share_of_ttft)),
        charts=(Chart(text.say("Share of the time before the first token by stage"), data, 100),),
        legend=tuple(stage_swatch(text, stage.stage) for stage in stages),
        table=Table(
            name=text.say("Share of the time before the first token"),
            columns=(Column(text.say("Stage")), Column(text.say("Share of TTFT"), number=True), Column("n", number=True)),
            rows=tuple(
                row(Cell(((Piece(f" {text.say(s.stage)}"),),), swatch=stage_swatch(text, s.stage)), number_cell(words.share(s.share_of_ttft)), number_cell(words.count(s.n)))
                for s in stages
            ),
        ),
    )  # fmt: skip
