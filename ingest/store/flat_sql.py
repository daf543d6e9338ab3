"""SQL text of flat tables: source columns as text -> typed fields -> request rows with a reason where one cannot be.

Input: columns of a source as text; per column a canonical field and unit. Output: SELECT text; nothing is run here.
Layers, each a subquery of the next: raw text, typed values, fields, derived figures, request rows.
A value that is no number or instant though the source writes one there makes the row `bad_value`; the words of WORDS
are "not known". Source of the derivations: metric definitions, sections 1-3; stages sum to E2E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from ingest.bounds import FAR_NS, LAST_NS, LEAST_RATE, MAX_COST_USD, most
from ingest.schema import NS_PER_S, REQUESTS, STAGES

WORDS = ("", "none", "null", "nan", "-", "undefined", "n/a", "na", "inf", "+inf", "-inf", "infinity", "-infinity")
NO_NUMBERS = ("nan", "inf", "+inf", "-inf", "infinity", "-infinity")
FACTOR = {"s": NS_PER_S, "ms": 1_000_000, "us": 1000, "ns": 1}
EPOCH_DIGITS = {"s": 9, "ms": 6, "us": 3, "ns": 0}  # decimals that a nanosecond needs
DAY_NS = 86_400 * NS_PER_S
NOTHING: Mapping[str, str] = MappingProxyType({})
FIRST_NS = 1_420_070_400 * NS_PER_S  # 2015-01-01: no trace of an LLM service is older
CLOCK_NS = (946_684_800 * NS_PER_S, 4_102_444_800 * NS_PER_S)  # 2000 to 2100: what a clock, even a wrong one, shows
RESIDUAL_NS = 1_000_000  # stages may exceed the whole by 1 ms or 1 %: figures of two clocks
ZONED = r"[0-9]:[0-9]{2}[^+-]*(Z|z|[A-Za-z]+/[A-Za-z_]+|UTC|GMT|[+-][0-9]{2}(:?[0-9]{2})?)$"
FAR_COUNT = 1e19  # a number beyond counts no unit of time
RATE = "sampling_rate"  # a share: a number beyond (0, 1] is none
HTTP_DATE = "%a, %d %b %Y %H:%M:%S %Z"

Kind = Literal["text", "int", "float", "bool", "money", "time", "duration"]

EXTRA_KINDS: dict[str, Kind] = {
    "first_output_ns": "time",
    "tpot_ns": "duration",
    "status": "text",
    "identity": "text",
    "retries": "int",
    "started_ns": "time",
    "ended_ns": "time",
    "hour_ns": "time",
    "up_s": "float",
    "busy_s": "float",
    "mean_batch_size": "float",
    "cost_usd": "money",
}
STAGE_COLUMNS = tuple(f"{stage}_ns" for stage in STAGES)
MEASURED_STAGES = tuple(f"{stage}_ns" for stage in STAGES[:10])  # those a source can state
ENGINE_STAGES = ("queue_ns", "prefill_ns", "decode_ns")
TOKENS = tuple(column.name for column in REQUESTS if column.name.endswith("_tokens"))
DURATIONS = (
    *("e2e_ns", "ttft_ns", "ttfa_ns", "call_ttft_ns", "generation_ns", "itl_max_ns", "cold_start_ns", "tpot_ns"),
    *MEASURED_STAGES,
)
FIELDS: dict[str, Kind] = {
    **{column.name: "text" for column in REQUESTS if column.kind == "text"},
    **{column.name: "bool" for column in REQUESTS if column.kind == "bool"},
    **{column.name: "float" for column in REQUESTS if column.kind == "float"},
    **{column.name: "int" for column in REQUESTS if column.kind == "int"},
    **{column.name: "money" for column in REQUESTS if column.kind == "money"},
    **dict.fromkeys((*DURATIONS, *STAGE_COLUMNS), "duration"),
    **EXTRA_KINDS,
}
SQL_OF: dict[Kind, str] = {
    "text": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "money": "DECIMAL(38,12)",
    "time": "BIGINT",
    "duration": "BIGINT",
}


@dataclass(frozen=True)
class TimeForm:
    """How the instants of one source column are written, decided from all its rows.

    `unit`: of epoch numbers; None: no number of the column is an instant. `is_clockless`: its numbers count from no
    known instant, so they are times that place nothing; else a number without a unit is no time. `has_numbers`,
    `has_texts`: what occurs. `zones`: whether texts have a zone. `timezone`: of texts without one.
    """

    unit: Literal["s", "ms", "us", "ns"] | None = None
    has_numbers: bool = False
    has_texts: bool = True
    zones: Literal["all", "none", "some"] = "all"
    has_odd_texts: bool = False
    timezone: str = "UTC"
    origin_ns: int | None = None  # where numbers begin that do not count from 1970
    is_clockless: bool = False


@dataclass(frozen=True)
class Input:
    """One source column: SQL of its text, the field it gives, and how it is written."""

    sql: str
    field: str
    unit: str = ""
    is_zero_absent: bool = False
    time: TimeForm | None = None
    is_native: bool = False  # the SQL has the kind's type already
    key: str = ""  # name of the column in the source

    @property
    def kind(self) -> Kind:
        return FIELDS[self.field]


@dataclass(frozen=True)
class Plan:
    """Everything that the SQL of one source depends on.

    `relation`: FROM item that gives the raw columns. `inputs`: in order of priority per field. `attributes`: name ->
    SQL of a JSON value. `dimensions`: dimension -> SQL of text. `sampling_rate`: of rows that do not
    state their own. `constants`: text field -> the same text in every row. `now_ns`: instants more than a day later are refused.
    `closed`: condition on `started` of rows whose day was rolled up; "" if there is none.
    """

    relation: str
    inputs: tuple[Input, ...]
    source: str
    upload_id: str
    key: Literal["trace", "row"]
    now_ns: int
    sampling_rate: float = 1.0
    vantage: str | None = None
    generation_basis: str = "last_token"
    attributes: Mapping[str, str] = field(default_factory=dict)
    dimensions: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    closed: str = ""
    has_gaps: bool = True  # some rows lack an attribute: nulls are taken out of the JSON

    def has(self, name: str) -> bool:
        return any(item.field == name for item in self.inputs)


def text(value: str) -> str:
    """A SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """A quoted SQL identifier."""
    return '"' + value.replace('"', '""') + '"'


def words(values: Sequence[str] = WORDS) -> str:
    return "(" + ", ".join(text(word) for word in values) + ")"


def present(sql: str) -> str:
    """The text, null where it is a word for "not known"."""
    return f"CASE WHEN length({sql}) < 10 AND lower(trim({sql})) IN {words()} THEN NULL ELSE {sql} END"


def typed(item: Input) -> str:
    """SQL of the typed value of one source column; null where it is none."""
    sql = item.sql
    if item.is_native and item.kind == "int":
        sql = within(sql, most(item.field))
    if item.is_native and item.kind != "float":
        return f"nullif({sql}, 0)" if item.is_zero_absent else sql
    value = {
        "text": lambda: _text_value(item),
        "int": lambda: within(f"try_cast({sql} AS BIGINT)", most(item.field)),
        "float": lambda: _float_value(sql, item.field),
        "bool": lambda: _bool_value(sql),
        "money": lambda: within(f"try_cast({sql} AS DECIMAL(38,12))", MAX_COST_USD),
        "time": lambda: cut(_instant(sql, item.time or TimeForm()), LAST_NS),
        "duration": lambda: _duration(sql, item.unit),
    }[item.kind]()
    return f"nullif({value}, 0)" if item.is_zero_absent else value


def within(sql: str, most_of_it: float) -> str:
    """The number, null where it lies beyond what one row can say."""
    return f"CASE WHEN {sql} BETWEEN -{most_of_it} AND {most_of_it} THEN {sql} END"


def cut(sql: str, far: int) -> str:
    """The number, no farther from 0 than `far`."""
    return f"CASE WHEN {sql} > {far} THEN {far} WHEN {sql} < -{far} THEN -{far} ELSE {sql} END"


def _text_value(item: Input) -> str:
    value = present(item.sql)
    if item.field != "error_type":
        return value
    paths = ", ".join(f"json_extract_string({item.sql}, '$.{key}')" for key in ("type", "code", "name", "message"))
    return f"CASE WHEN json_valid({item.sql}) AND {item.sql}[1] = '{{' THEN coalesce({paths}) ELSE {value} END"


def _float_value(sql: str, wanted: str) -> str:
    value = f"try_cast({sql} AS DOUBLE)"
    sound = f"isfinite({value})"  # said of rates too: statistics of Parquet leave NaN out, and so does what they answer
    sound += f" AND {value} BETWEEN {LEAST_RATE!r} AND 1" if wanted == RATE else ""
    return f"CASE WHEN {sound} THEN {value} END"


def _bool_value(sql: str) -> str:
    return (
        f"CASE lower({sql}) WHEN 'true' THEN true WHEN 'false' THEN false WHEN '1' THEN true WHEN '0' THEN false "
        "WHEN 'yes' THEN true WHEN 'no' THEN false WHEN 't' THEN true WHEN 'f' THEN false END"
    )


def _duration(sql: str, unit: str) -> str:
    if unit == "ns":
        return cut(f"try_cast({sql} AS BIGINT)", FAR_NS)
    value = f"(try_cast({sql} AS DOUBLE) * {FACTOR[unit]})"
    return f"CASE WHEN isfinite({value}) THEN try_cast(round({cut(value, FAR_NS)}) AS BIGINT) END"


def _instant(sql: str, form: TimeForm) -> str:
    numbers = _epoch(sql, form.unit) if form.has_numbers else ""
    if numbers and form.origin_ns is not None:
        count = f"try_cast({sql} AS DECIMAL(28,9)) * {FACTOR[form.unit or 's']}::DECIMAL(10,0)"
        numbers = f"try_cast({form.origin_ns} + try_cast({count} AS BIGINT) AS BIGINT)"
    texts = moment_sql(sql, form) if form.has_texts else ""
    if numbers and texts:
        return f"CASE WHEN try_cast({sql} AS DOUBLE) IS NULL THEN {texts} ELSE {numbers} END"
    return numbers or texts or "CAST(NULL AS BIGINT)"


def _epoch(sql: str, unit: str | None) -> str:
    if unit is None:
        return "CAST(NULL AS BIGINT)"
    if unit == "ns":
        return f"coalesce(try_cast({sql} AS BIGINT), try_cast(try_cast({sql} AS DECIMAL(38,9)) AS BIGINT))"
    decimals = f"DECIMAL(19,{EPOCH_DIGITS[unit]})"  # an epoch in ns has 19 digits until 2286
    return f"try_cast(try_cast({sql} AS {decimals}) * {FACTOR[unit]}::DECIMAL(10,0) AS BIGINT)"


def moment_sql(sql: str, form: TimeForm) -> str:
    """SQL of the instant that a text says, in ns since 1970; null where it is none."""
    zoned = f"epoch_ns(try_cast({sql} AS TIMESTAMPTZ_NS))"
    if form.timezone == "UTC":
        naive = f"epoch_ns(try_cast({sql} AS TIMESTAMP_NS))"
    else:
        naive = f"epoch_ns(timezone({text(form.timezone)}, try_cast({sql} AS TIMESTAMP)))"
    if form.zones == "all":
        value = zoned
    elif form.zones == "none":
        value = naive
    else:
        value = f"CASE WHEN regexp_matches({sql}, '{ZONED}') THEN {zoned} ELSE {naive} END"
    if not form.has_odd_texts:
        return value
    comma = f"regexp_replace({sql}, ',([0-9])', '.\\1')"
    again = moment_sql(comma, TimeForm(zones="some", timezone=form.timezone))
    return f"coalesce({value}, {again}, epoch_ns(try_strptime({sql}, '{HTTP_DATE}')))"


def typed_layer(plan: Plan, columns: Sequence[str] = ()) -> str:
    """SELECT of the typed values v0, v1, ... with whether one is bad (`bad`) and whether all are null (`empty`)."""
    values = [f"{typed(item)} AS v{number}" for number, item in enumerate(plan.inputs)]
    raws = [f"{item.sql} AS r{number}" for number, item in enumerate(plan.inputs) if item.kind != "text"]
    extras = [f"{sql} AS a{number}" for number, sql in enumerate(plan.attributes.values())]
    extras += [f"{sql} AS d{number}" for number, sql in enumerate(plan.dimensions.values())]
    seen = [item.sql for item in plan.inputs] + list(plan.attributes.values()) + list(plan.dimensions.values())
    empty = f"coalesce({', '.join(f'CAST({sql} AS VARCHAR)' for sql in seen)}) IS NULL AS is_empty"
    return f"SELECT {', '.join([*columns, *values, *raws, *extras, empty])} FROM {plan.relation}"


def fields_layer(plan: Plan, columns: Sequence[str] = (), told: Mapping[str, str] = NOTHING) -> str:
    """SELECT of one column per field, null where the source has none, with `is_bad` and `is_empty`.

    Args:
        columns: of the relation, carried through.
        told: further columns -> SQL over the typed and raw values v0, r0, ...
    """
    further = [f"{sql} AS {name(column)}" for column, sql in told.items()]
    by_field: dict[str, list[int]] = {}
    for number, item in enumerate(plan.inputs):
        by_field.setdefault(item.field, []).append(number)
    selected = []
    for wanted, kind in FIELDS.items():
        numbers = by_field.get(wanted)
        if numbers:
            values = ", ".join(f"v{number}" for number in numbers)
            selected.append(
                f"coalesce({values}) AS {name(wanted)}" if len(numbers) > 1 else f"{values} AS {name(wanted)}"
            )
        elif wanted in plan.constants:
            selected.append(f"{text(plan.constants[wanted])} AS {name(wanted)}")
        else:
            selected.append(f"CAST(NULL AS {SQL_OF[kind]}) AS {name(wanted)}")
    return (
        f"SELECT {', '.join([*columns, *further, *selected, *_carried(plan)])}, {_bad(plan)} AS is_bad, is_empty "
        f"FROM ({typed_layer(plan, columns)})"
    )


def _carried(plan: Plan) -> list[str]:
    """Attributes and dimensions as JSON text, made where the raw columns still are."""
    found = []
    if plan.attributes:
        pairs = ", ".join(f"{text(key)}, a{number}" for number, key in enumerate(plan.attributes))
        made = f"json_object({pairs})"
        made = f"json_merge_patch('{{}}', {made})" if plan.has_gaps else made
        found.append(f"nullif(CAST({made} AS VARCHAR), '{{}}') AS made_attributes")
    else:
        found.append("CAST(NULL AS VARCHAR) AS made_attributes")
    if plan.dimensions:
        pairs = ", ".join(f"{text(key)}, {present(f'd{number}')}" for number, key in enumerate(plan.dimensions))
        found.append(
            f"nullif(CAST(json_merge_patch('{{}}', json_object({pairs})) AS VARCHAR), '{{}}') AS made_dimensions"
        )
    else:
        found.append("CAST(NULL AS VARCHAR) AS made_dimensions")
    return found


def _bad(plan: Plan) -> str:
    """Whether a number, flag or instant is written that is none."""
    clauses = [clause for number, item in enumerate(plan.inputs) if (clause := bad_clause(number, item))]
    return f"({' OR '.join(clauses)})" if clauses else "false"


def bad_clause(number: int, item: Input) -> str:
    """SQL of whether the value of an input is none for its kind; "" where it always is one."""
    is_unbounded = item.is_native and item.kind != "int" and item.field != RATE
    if item.kind == "text" or is_unbounded:
        return ""
    absent = words([word for word in WORDS if word not in NO_NUMBERS] if item.field == RATE else WORDS)
    return (
        f"CASE WHEN v{number} IS NULL AND r{number} IS NOT NULL THEN "
        f"lower(trim(CAST(r{number} AS VARCHAR))) NOT IN {absent}{_or_number(item, number)} ELSE false END"
    )


def _or_number(item: Input, number: int) -> str:
    """The further condition where a number gives no value and yet is no fault: 0 for absent, a clock from nowhere."""
    written = f"try_cast(CAST(r{number} AS VARCHAR) AS DOUBLE)"
    if item.time is not None and item.time.is_clockless:
        return f" AND NOT coalesce(abs({written}) < {FAR_COUNT!r}, false)"
    is_textual = item.time is not None and item.time.has_numbers and item.time.unit is None
    return f" AND {written} IS DISTINCT FROM 0" if item.is_zero_absent or is_textual else ""
