"""Part 11: failures and retries, cache, load, replicas, batch sizes, growth with length.

Input: availability, cache, load and throughput of the result; Text. Output: blocks.
"""

from __future__ import annotations

from analysis.result import AnalysisResult, CountBucket, Growth, LoadPoint, Rate, ReplicaLine
from reports import text as words
from reports.charts.data import CountColumns, Line, Lines
from reports.text import Text
from reports.view.blocks import (
    Block,
    Chart,
    Column,
    Columns,
    Figure,
    Message,
    Panel,
    Part,
    Row,
    Swatch,
    Table,
    number_cell,
    plain,
    row,
    text_cell,
)
from reports.view.capacity import capacity_blocks
from reports.view.labels import of_count

MAX_ERRORS = 12
MAX_REPLICAS = 20


def rates_part(result: AnalysisResult, text: Text) -> Part:
    title, rail = text.say("11. Availability, cache, load, batch"), text.say("11. Availability, cache, batch")
    if result.summary.requests == 0:
        return Part("p11", title, rail, "", (Message(plain(text.say("No request lies in this selection."))),))
    lead = text.say("Rates are over all requests of the selection, nothing excluded; availability is over valid ones.")
    blocks: list[Block] = [Columns((_failures(result, text), _cache(result, text)))]
    if result.availability.by_error_type:
        blocks.append(_error_types(result, text))
    load = result.load
    blocks.append(_load_figures(result, text))
    blocks.append(
        _batch(load.batch_sizes, text)
        if any(b.n for b in load.batch_sizes)
        else Message(plain(text.say("No request has a batch size: log the number of sequences that decode together.")))
    )
    if len(load.by_concurrency) > 1:
        blocks.append(_concurrency(load.by_concurrency, text))
    blocks += capacity_blocks(load, text)
    if load.replicas:
        blocks.append(_replicas(load.replicas, text))
    if load.growth:
        blocks.append(_growth(load.growth, text))
    return Part("p11", title, rail, lead, tuple(blocks))


def _failures(result: AnalysisResult, text: Text) -> Panel:
    rates = result.availability
    named = (
        (text.say("availability"), rates.availability),
        (text.say("errors"), rates.error_rate),
        (text.say("of it timeouts"), rates.timeout_rate),
        (text.say("cancels"), rates.cancel_rate),
        (text.say("degraded"), rates.degraded_rate),
        (text.say("cold starts"), rates.cold_start_rate),
    )
    rows = [_rate_row(label, rate, text) for label, rate in named]
    summary = result.summary
    retries = f"{words.number(rates.retry_amplification)}×" if rates.retry_amplification is not None else words.UNKNOWN
    per_request = (
        words.number(summary.calls / summary.requests) if summary.requests and summary.calls else words.UNKNOWN
    )
    rows.append(
        row(
            text.say("attempts per request"),
            number_cell(retries),
            number_cell(text.say("{n} attempts", n=words.count(summary.attempts))),
        )
    )
    rows.append(
        row(
            text.say("calls per request"),
            number_cell(per_request),
            number_cell(text.say("{n} calls", n=words.count(summary.calls))),
        )
    )
    table = Table(
        name=text.say("Failures and retries"),
        columns=(
            Column(text.say("Rate")),
            Column(text.say("Share"), number=True),
            Column(text.say("Counts"), number=True),
        ),
        rows=tuple(rows),
    )
    return Panel(text.say("Failures and retries"), (table,))


def _rate_row(label: str, rate: Rate, text: Text) -> Row:
    if rate.rate is None:
        return row(label, number_cell(words.UNKNOWN), number_cell(text.say("not reported")))
    interval = words.share_interval(rate.interval) if rate.interval is not None else None
    return row(label, number_cell(words.share(rate.rate), interval), number_cell(of_count(text, rate.n, rate.of)))


def _cache(result: AnalysisResult, text: Text) -> Panel:
    cache = result.cache
    if cache.hit_ratio is None:
        says = text.say("No request says how many input tokens were cached: log gen_ai.usage.cache_read.input_tokens.")
        return Panel(text.say("Cache"), (Message(plain(says)),))
    rows = (
        row(text.say("cached share of input"), number_cell(words.share(cache.hit_ratio)), number_cell(of_count(text, cache.cached_input_tokens, cache.input_tokens_known))),
        row(text.say("requests with a hit"), number_cell(words.share(cache.hit_requests / cache.n_known if cache.n_known else None)), number_cell(of_count(text, cache.hit_requests, cache.n_known))),
        row(text.say("answered from a response cache"), number_cell(words.count(cache.response_cache_hits)), number_cell("")),
        row(text.say("saved, USD"), number_cell(words.cents(result.costs.saved_usd if result.costs.saved_usd is not None else cache.saved_usd)), number_cell("")),
    )  # fmt: skip
    columns = (
        Column(text.say("Figure")),
        Column(text.say("Value"), number=True),
        Column(text.say("Counts"), number=True),
    )
    return Panel(text.say("Cache"), (Table(text.say("Cache"), columns, rows),))


def _error_types(result: AnalysisResult, text: Text) -> Panel:
    ranked = sorted(result.availability.by_error_type.items(), key=lambda item: (-item[1], item[0]))
    rows = [row(text_cell(name, style="code"), number_cell(words.count(n))) for name, n in ranked[:MAX_ERRORS]]
    if rest := ranked[MAX_ERRORS:]:
        rows.append(
            row(text.say("other ({n})", n=words.count(len(rest))), number_cell(words.count(sum(n for _, n in rest))))
        )
    columns = (Column(text.say("Error")), Column(text.say("Requests"), number=True))
    return Panel(text.say("Errors by type"), (Table(text.say("Errors by type"), columns, tuple(rows)),))


def _load_figures(result: AnalysisResult, text: Text) -> Panel:
    load, throughput = result.load, result.throughput
    peak = text.moment(throughput.peak_at) if throughput.peak_at is not None else ""
    figures = (
        (text.say("requests per second"), words.number(throughput.requests_per_second), ""),
        (text.say("busiest minute, requests per second"), words.number(throughput.peak_requests_per_second), peak),
        (text.say("input tokens per second"), words.number(throughput.input_tokens_per_second), ""),
        (text.say("output tokens per second"), words.number(throughput.output_tokens_per_second), ""),
        (text.say("mean concurrency"), words.number(load.mean_concurrency), text.say("{n} by arrival rate × mean E2E", n=words.number(load.littles_law))),
        (text.say("highest concurrency"), words.count(load.max_concurrency), ""),
        (text.say("burstiness of arrivals"), words.number(load.arrivals_fano), text.say("variance over mean per 10 s; 1 is random")),
        (text.say("busy share of replicas"), words.share(load.gpu_utilization), text.say("busy over up time; no hardware counter")),
        (text.say("MFU"), words.share(load.mfu), text.say("model flops over the device's peak")),
    )  # fmt: skip
    rows = tuple(
        row(
            label,
            number_cell(value),
            text_cell(says if value != words.UNKNOWN else text.say("not known"), style="note"),
        )
        for label, value, says in figures
    )
    columns = (Column(text.say("Figure")), Column(text.say("Value"), number=True), Column(text.say("Note")))
    return Panel(text.say("Load"), (Table(text.say("Load"), columns, rows),))


def _batch(buckets: list[CountBucket], text: Text) -> Figure:
    total = sum(bucket.n for bucket in buckets)
    shares = [bucket.n / total if bucket.share is None else bucket.share for bucket in buckets]
    most = max(range(len(buckets)), key=lambda place: shares[place])
    data = CountColumns(
        groups=tuple(bucket.label for bucket in buckets),
        values=tuple(shares),
        hovers=tuple(
            f"{bucket.label}\n{words.share(share)}\nn {words.count(bucket.n)}"
            for bucket, share in zip(buckets, shares, strict=True)
        ),
        token="series-1",  # noqa: S106 - a colour's name, no secret
        unit="ratio",
    )
    return Figure(
        title=text.say("Batch size"),
        says=text.say(
            "Sequences decoding together, mean over a request. Most often {label}: {share}.",
            label=buckets[most].label,
            share=words.share(shares[most]),
        ),
        charts=(Chart(text.say("Share of requests by batch size"), data, 200),),
        table=Table(
            name=text.say("Batch size"),
            columns=(
                Column(text.say("Batch")),
                Column(text.say("Requests"), number=True),
                Column(text.say("Share"), number=True),
            ),
            rows=tuple(
                row(b.label, number_cell(words.count(b.n)), number_cell(words.share(share)))
                for b, share in zip(buckets, shares, strict=True)
            ),
        ),
    )


def _concurrency(points: list[LoadPoint], text: Text) -> Figure:
    """TTFT against the requests in flight on arrival."""
    middles = tuple((point.concurrency_from + point.concurrency_to) / 2 for point in points)

    def series(name: str, token: str, dash: str, values: list[float | None]) -> Line:
        hovers = tuple(
            f"{name}\n{_range(p)}\n{words.seconds(v)}\nn {words.count(p.n)}"
            for p, v in zip(points, values, strict=True)
        )
        return Line(name, token, dash, 2.0, middles, tuple(values), hovers)

    drawn = (
        series("TTFT P95", "series-1", "solid", [p.ttft_p95 for p in points]),
        series("TTFT P50", "series-2", "dash", [p.ttft_p50 for p in points]),
        series(text.say("queue P95"), "stage-queue", "dot", [p.queue_p95 for p in points]),
    )
    first, last = points[0], points[-1]
    return Figure(
        title=text.say("Latency by concurrency"),
        says=text.say("TTFT P95 is {low} at {few} requests in flight and {high} at {many}.", low=words.seconds(first.ttft_p95), few=_range(first), high=words.seconds(last.ttft_p95), many=_range(last)),
        charts=(Chart(text.say("TTFT and queue by requests in flight"), Lines(drawn, "", "s"), 220),),
        legend=(Swatch("series-1", "TTFT P95", "line"), Swatch("series-2", "TTFT P50", "dash"), Swatch("stage-queue", text.say("queue P95"), "line")),
        table=Table(
            name=text.say("Latency by concurrency"),
            columns=(
                Column(text.say("In flight")), Column("n", number=True), Column("TTFT P50", number=True), Column("TTFT P95", number=True),
                Column("TPOT P50", number=True), Column(text.say("queue P95"), number=True),
            ),
            rows=tuple(row(_range(p), number_cell(words.count(p.n)), *(number_cell(words.seconds(v)) for v in (p.ttft_p50, p.ttft_p95, p.tpot_p50, p.queue_p95))) for p in points),
        ),
    )  # fmt: skip


def _range(point: LoadPoint) -> str:
    if point.concurrency_from == point.concurrency_to:
        return words.number(point.concurrency_from)
    return f"{words.number(point.concurrency_from)}–{words.number(point.concurrency_to)}"


def _replicas(replicas: list[ReplicaLine], text: Text) -> Panel:
    shown = replicas[:MAX_REPLICAS]
    rows = tuple(
        row(
            line.replica,
            number_cell(words.count(line.n)),
            number_cell(words.share(line.share)),
            number_cell(words.seconds(line.queue_p95)),
            number_cell(words.seconds(line.tpot_p50)),
            number_cell(words.share(line.error_rate)),
            number_cell(words.share(line.utilization)),
        )
        for line in shown
    )
    caption = (
        text.say("First {n} of {of}", n=words.count(len(shown)), of=words.count(len(replicas)))
        if len(shown) < len(replicas)
        else None
    )
    columns = (
        Column(text.say("Replica")), Column(text.say("Requests"), number=True), Column(text.say("Share"), number=True), Column(text.say("queue P95"), number=True),
        Column("TPOT P50", number=True), Column(text.say("Errors"), number=True), Column(text.say("Busy"), number=True),
    )  # fmt: skip
    return Panel(text.say("Replicas"), (Table(text.say("Replicas"), columns, rows, caption=caption),))


def _growth(growth: list[Growth], text: Text) -> Panel:
    rows = tuple(
        row(
            text.say("{metric} by {length}", metric=text.metric(line.metric), length=text.metric(line.by)),
            number_cell(f"{words.seconds(line.slope * 1000)}" if line.slope is not None else words.UNKNOWN),
            number_cell(words.number(line.r_squared)),
            number_cell(words.number(line.spearman)),
            number_cell(words.count(line.n)),
        )
        for line in growth
    )
    columns = (
        Column(text.say("Figure")), Column(text.say("Per 1,000 tokens"), number=True), Column("R²", number=True),
        Column(text.say("Rank correlation"), number=True), Column("n", number=True),
    )  # fmt: skip
    caption = text.say("Least squares over requests with status ok; rank correlation by Spearman")
    return Panel(
        text.say("Growth with length"), (Table(text.say("Growth with length"), columns, rows, caption=caption),)
    )
