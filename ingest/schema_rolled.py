"""Tables of roll-ups: what is kept of a day whose raw rows retention dropped.

Every figure is an integer that is added up, so roll-ups of any parts of a day, added, are the roll-up of the day. A
day is cut at midnight of UTC and at midnight of the zone of the objectives; `start_ns` names such a piece, and the
instants of other columns lie within it. Dimensions are those that a reader asks for over months; a value beyond the
most frequent ones of its day is kept as `OTHER`, but for users, who are all kept. Null is "not known", as in requests.
"""

from __future__ import annotations

from ingest.schema import Column

OTHER = "(other)"  # stands for the rarer values of a dimension on one day

_START = Column("start_ns", "int", "start of the piece of a day (rolled_days)", "ns since 1970 UTC", required=True)
_MODEL = Column("model", "text", "model that served")
_SCENARIO = Column("scenario", "text", "kind of workload")
_TENANT = Column("tenant", "text", "organization or team that pays")
_STREAMING = Column("streaming", "bool", "whether the answer was streamed")
_RATE = Column("sampling_rate", "float", "share of requests that the source kept", "ratio", required=True)

ROLLED_DAYS: tuple[Column, ...] = (
    _START,
    Column("end_ns", "int", "end of the piece; later rows of it are refused", "ns since 1970 UTC", required=True),
    Column("rolled_ns", "int", "when its raw rows were dropped", "ns since 1970 UTC", required=True),
    Column("n_requests", "int", "requests that were rolled up", required=True),
    Column("n_calls", "int", "calls that were dropped", required=True),
    Column("n_spans", "int", "spans that were dropped", required=True),
    Column("first_ns", "int", "earliest arrival", "ns since 1970 UTC"),
    Column("last_ns", "int", "latest arrival", "ns since 1970 UTC"),
    Column("objectives", "json", "fingerprint of the definition by id of each objective that was counted"),
    Column("price_book", "text", "books that priced it"),
)

ROLLED_TRACES: tuple[Column, ...] = (
    Column("trace_id", "text", "trace of a dropped request that has spans in a day that still stands", required=True),
    Column("last_ns", "int", "start of its last span", "ns since 1970 UTC", required=True),
)

ROLLED_PRICES: tuple[Column, ...] = (
    Column("price_key", "text", "hash of the price", required=True),
    Column("price", "json", "the price as it was used", required=True),
)

ROLLED_STATUS: tuple[Column, ...] = (
    _START, _MODEL, _SCENARIO, _TENANT, _STREAMING,
    Column("status_class", "text", "as in requests", required=True),
    _RATE,
    Column("requests", "int", "rows of requests", required=True),
    Column("attempts", "int", "tries, retries included", required=True),
)  # fmt: skip

ROLLED_VERDICTS: tuple[Column, ...] = (  # twice: by hour alone, and by model, scenario and tenant over the whole piece
    _START,
    Column(
        "hour_ns",
        "int",
        "start of the hour of UTC, or of the piece if that is later; null: the whole piece, by dimensions",
        "ns since 1970 UTC",
    ),
    Column("objective", "text", "id of the objective", required=True),
    Column("clause", "int", "number of the condition from 0; null: the objective as a whole"),
    _MODEL,
    _SCENARIO,
    _TENANT,
    _RATE,
    Column("good", "int", "keeps it; of a condition: keeps its threshold", required=True),
    Column("bad", "int", "breaks it; of a condition: it applies and is not kept", required=True),
    Column("unknown", "int", "cannot be said", required=True),
    Column("excluded", "int", "not judged by policy", required=True),
    Column("figures", "int", "requests that have the figure which is added up; null on days that kept no sums"),
    Column("numerator", "sum", "sum of the figure, or of the upper part of a quotient", "unit of the metric"),
    Column("denominator", "sum", "sum of the lower part of a quotient, or the number of figures", "unit of the metric"),
)

ROLLED_LATENCY: tuple[Column, ...] = (
    _START,
    _MODEL,
    _SCENARIO,
    _STREAMING,
    Column("input_bucket", "text", "label of the input length"),
    _RATE,
    Column("metric", "text", "metric of requests with status ok", required=True),
    Column("bucket", "int", "number of the logarithmic bucket (analysis/rollups/buckets)", required=True),
    Column("n", "int", "requests in it", required=True),
)

CHARGE_COUNTS: tuple[str, ...] = (  # figures of charge lines that are counts (analysis/aggregates/charges)
    "requests", "charged", "counts_unpriced",
    "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens",
    "known_input_tokens", "known_cached_input_tokens", "known_output_tokens", "known_reasoning_tokens",
    "input_meter", "cached_input_meter", "cache_write_5m_meter", "cache_write_1h_meter", "audio_input_meter",
    "image_input_meter", "output_meter", "reasoning_meter", "audio_output_meter",
)  # fmt: skip
CHARGE_AMOUNTS: tuple[str, ...] = (  # and those that are money
    "cost_pico", "uncached_input_pico", "cached_input_pico", "cache_write_pico", "output_pico", "reasoning_pico",
    "saved_pico",
)  # fmt: skip

ROLLED_CHARGES: tuple[Column, ...] = (
    _START,
    Column("user", "text", "person or end user behind the requests"),
    _TENANT, _SCENARIO, _MODEL,
    Column("provider", "text", "provider, lower case"),
    Column("region", "text", "region that served"),
    Column("dimensions", "json", "promoted dimensions, as in requests; null on days that have too many values"),
    _RATE,
    Column("unpriced_request", "bool", "whether the requests have no cost", required=True),
    Column("unpriced", "text", "why"),
    Column("verdict", "text", "good, bad, unknown or excluded, by the objectives of that day"),
    Column("waste", "text", "failed, timed_out, retried or abandoned"),
    Column("price_key", "text", "price they were charged at (rolled_prices)"),
    Column("first_ns", "int", "earliest arrival", "ns since 1970 UTC"),
    Column("last_ns", "int", "latest arrival", "ns since 1970 UTC"),
    *(Column(name, "int", "as in charge lines", required=True) for name in CHARGE_COUNTS),
    *(Column(name, "sum", "as in charge lines", "USD", required=True) for name in CHARGE_AMOUNTS),
)  # fmt: skip

ROLLED: dict[str, tuple[Column, ...]] = {
    "rolled_days": ROLLED_DAYS,
    "rolled_traces": ROLLED_TRACES,
    "rolled_prices": ROLLED_PRICES,
    "rolled_status": ROLLED_STATUS,
    "rolled_verdicts": ROLLED_VERDICTS,
    "rolled_latency": ROLLED_LATENCY,
    "rolled_charges": ROLLED_CHARGES,
}
