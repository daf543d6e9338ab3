"""Blocks of part 11 about capacity: what load the service bears, hardware limits, agents, quality.

Input: load of the result; Text. Output: blocks, one for each record that is there.
"""

from __future__ import annotations

from analysis.result import AgentFigures, Load, QualityLine, RooflineLine, Saturation
from reports import text as words
from reports.text import Text
from reports.view.blocks import Block, Column, Message, Panel, Table, number_cell, plain, row, text_cell


def capacity_blocks(load: Load, text: Text) -> list[Block]:
    """Saturation, knees, roofline, agents, quality: each where the result has it."""
    blocks: list[Block] = []
    if load.saturation is not None:
        blocks.append(_saturation(load.saturation, text))
    knees = [
        text.say(
            "{metric} {statistic} rises faster from {n} requests in flight on: {before} per request below, {after} above.",
            metric=text.metric(knee.metric), statistic=knee.statistic.upper(), n=words.number(knee.concurrency),
            before=words.seconds(knee.slope_before), after=words.seconds(knee.slope_after),
        )
        for knee in load.knees
    ]  # fmt: skip
    if knees:
        blocks.append(Message(plain(" ".join(knees))))
    if load.roofline:
        blocks.append(_roofline(load.roofline, text))
    if load.agents is not None and load.agents.n:
        blocks.append(_agents(load.agents, text))
    if load.quality:
        blocks.append(_quality(load.quality, text))
    return blocks


def _saturation(found: Saturation, text: Text) -> Panel:
    blocks: list[Block] = [Message(plain(found.says))]
    if found.bands:
        rows = tuple(
            row(
                text.say("{n} req/s", n=words.number(band.requests_per_second)),
                number_cell(words.count(band.minutes)),
                number_cell(words.share(band.attainment, found.target), words.count(band.good + band.bad)),
                number_cell(words.share(band.fitted, found.target)),
            )
            for band in found.bands
        )
        columns = (
            Column(text.say("Offered load")), Column(text.say("Minutes"), number=True), Column(text.say("Attainment"), number=True),
            Column(text.say("Fitted, never rising"), number=True),
        )  # fmt: skip
        blocks.append(Table(text.say("Attainment by offered load"), columns, rows))
    return Panel(text.say("How much load is borne"), tuple(blocks))


def _roofline(lines: list[RooflineLine], text: Text) -> Panel:
    rows = tuple(
        row(
            line.model,
            number_cell(words.number(line.batch_size)),
            text_cell(text.say(line.prefill_bound) if line.prefill_bound is not None else words.UNKNOWN),
            text_cell(text.say(line.decode_bound)),
            number_cell(words.share(line.compute_use)),
            number_cell(words.share(line.bandwidth_use)),
            number_cell(words.share(line.kv_cache_usage_p95)),
            number_cell(words.share(line.mfu)),
            text_cell(", ".join(line.limits) or text.say("none")),
        )
        for line in lines
    )
    columns = (
        Column(text.say("Model")), Column(text.say("Batch"), number=True), Column(text.say("Prefill bound by")), Column(text.say("Decode bound by")),
        Column(text.say("Compute used"), number=True), Column(text.say("Bandwidth used"), number=True), Column(text.say("KV cache P95"), number=True),
        Column("MFU", number=True), Column(text.say("Limits reached")),
    )  # fmt: skip
    caption = text.say(
        "Least time that the devices of the fleet file need, over the measured one; medians over requests"
    )
    return Panel(
        text.say("Models against their devices"),
        (Table(text.say("Models against their devices"), columns, rows, caption=caption),),
    )


def _agents(found: AgentFigures, text: Text) -> Panel:
    figures = (
        (text.say("requests of several steps"), words.count(found.n)),
        (text.say("calls per request, mean"), words.number(found.calls_mean)),
        (text.say("calls per request, P95"), words.number(found.calls_p95)),
        (text.say("tool steps per request, mean"), words.number(found.tool_steps_mean)),
        (text.say("overhead per step, P50"), words.seconds(found.overhead_per_step_p50)),
        (text.say("overhead per step, P95"), words.seconds(found.overhead_per_step_p95)),
        (text.say("overhead over the request, P95"), words.seconds(found.overhead_p95)),
        (text.say("overhead, share of E2E"), words.share(found.overhead_share)),
    )
    rows = tuple(row(label, number_cell(value)) for label, value in figures)
    columns = (Column(text.say("Figure")), Column(text.say("Value"), number=True))
    caption = text.say("Overhead is all but queue, prefill, decode and tools")
    return Panel(text.say("Agents"), (Table(text.say("Agents"), columns, rows, caption=caption),))


def _quality(lines: list[QualityLine], text: Text) -> Panel:
    rows = tuple(
        row(
            line.model or words.UNKNOWN,
            number_cell(words.count(line.n)),
            number_cell(words.number(line.quality_mean)),
            number_cell(words.figure(line.cost_mean_usd, "USD")),
            number_cell(words.seconds(line.ttft_p50)),
            number_cell(words.seconds(line.e2e_p50)),
        )
        for line in lines
    )
    columns = (
        Column(text.say("Model")), Column("n", number=True), Column(text.say("Quality, mean"), number=True), Column(text.say("Cost, mean"), number=True),
        Column("TTFT P50", number=True), Column("E2E P50", number=True),
    )  # fmt: skip
    return Panel(
        text.say("Quality beside cost and latency"),
        (Table(text.say("Quality beside cost and latency"), columns, rows),),
    )
