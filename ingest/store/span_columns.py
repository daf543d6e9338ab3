"""SQL that turns raw spans into rows of table spans: which attribute is which column.

Input: a relation of raw spans (span_source.RAW); what was learned of their lists of names and of their kinds.
Output: SQL text of a relation with the columns of schema.SPANS.

Emitters write the same names in the same order again and again, so the place of every field is looked up once per
distinct LIST of names, not once per span; likewise the class of a span depends on few values, and is judged once per
distinct tuple of them. Both dictionaries are learned from a sample; a span they do not know keeps its raw lists, and
is read again once they are learned (spans.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property

import polars as pl

from ingest.bounds import MAX_COST_USD, MAX_COUNT, MAX_FIGURE, MAX_TOKENS, NO_TIME
from ingest.formats.attributes import ABSENT, MAPPED_FIELDS, PICKS
from ingest.formats.content import KNOWN, is_content
from ingest.formats.stages import KIND_PICKS, PRESENCE_PICKS, classify
from ingest.formats.visible import marked_sql, shown_name
from ingest.mapping import Mapping
from ingest.schema import SPAN_FIELDS, SQL_TYPES, Kind
from ingest.store.retention import REASON
from ingest.store.span_source import EVENTS, LEGACY, SNAKE

MARKS: dict[str, int] = {  # bits of column marks, and the flag that a request gets from them
    "base64_ids": 1,
    "enum_names": 2,
    "snake_case": SNAKE,
    "legacy_scope_key": LEGACY,
    "events_dropped": 16,
    "duplicate_span_ignored": 32,
}
PICK_KINDS: dict[str, Kind] = {name: kind for kind, names in SPAN_FIELDS.items() for name in names.split()}
_TOKENS = tuple(name for name in PICK_KINDS if name.endswith("_tokens") or name == "cache_write_ai_sdk")
_MOST: dict[str, int] = {  # fields of spans that cannot be larger
    **dict.fromkeys(_TOKENS, MAX_TOKENS),
    "retries": MAX_COUNT,
    "cost": MAX_COST_USD,
}
PROMOTED = "resource:"  # prefix of a promoted attribute of the resource among the names of its spans
MAX_PLACES = 4  # names of one field on one span that are looked at, best first

FIRST_YEAR_NS = 1_420_070_400_000_000_000  # 2015: earlier instants are wrong units or unset clocks
DAY_NS = 86_400_000_000_000


def promoted(mapping: Mapping) -> tuple[str, ...]:
    """Attributes of a mapping file, which may stand on the resource as well: they are told with each of its spans."""
    fields = (name for names in mapping.attributes.values() for name in names)
    return tuple(dict.fromkeys((*mapping.dimensions.values(), *fields)))


@dataclass
class Learned:
    """What is known of lists of names (hash -> names) and of kinds of steps (hash -> class and emitter)."""

    mapping: Mapping = field(default_factory=Mapping)
    keep_attributes: bool = True
    shapes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    kinds: dict[int, tuple[str | None, str | None]] = field(default_factory=dict)
    _places: dict[str, dict[int, tuple[int, ...]]] = field(default_factory=dict, repr=False)
    _placed: int = -1  # number of shapes that _places was made for

    @property
    def dimensions(self) -> dict[str, tuple[str, ...]]:
        """Pick of every promoted dimension -> attribute names, the span's own before its resource's."""
        return {
            f"dimension_{i}": (attribute, PROMOTED + attribute)
            for i, attribute in enumerate(self.mapping.dimensions.values())
        }

    def picks(self) -> dict[str, tuple[str, ...]]:
        """Names of every field, those of the mapping file in front."""
        own = {
            MAPPED_FIELDS.get(field, field): (*names, *(PROMOTED + name for name in names))
            for field, names in self.mapping.attributes.items()
        }
        return {name: (*own.get(name, ()), *names) for name, names in PICKS.items()} | self.dimensions

    def learn_kinds(self, rows: Iterable[Sequence[object]]) -> None:
        """Judges rows (hash, values of stages.KIND_COLUMNS)."""
        for key, *values in rows:
            step = [None if value is None else str(value) for value in values]
            self.kinds[int(str(key))] = classify(step, self.mapping.stages)

    def places(self) -> dict[str, dict[int, tuple[int, ...]]]:
        """Field -> shape -> places of its names in the list, from 1, best first; fields on no shape are left out."""
        if self._placed == len(self.shapes):
            return self._places
        ranks: dict[str, list[tuple[str, int]]] = {}
        for pick, wanted in self.picks().items():
            for rank, name in enumerate(dict.fromkeys(wanted)):
                ranks.setdefault(name, []).append((pick, rank))
        found: dict[str, dict[int, tuple[int, ...]]] = {}
        for key, names in self.shapes.items():
            at: dict[str, list[tuple[int, int]]] = {}
            for place, name in enumerate(names, start=1):
                for pick, rank in ranks.get(name, ()):
                    at.setdefault(pick, []).append((rank, place))
            for pick, ranked in at.items():
                first = dict(sorted(ranked, reverse=True))  # of a name told twice the first
                found.setdefault(pick, {})[key] = tuple(first[rank] for rank in sorted(first))[:MAX_PLACES]
        self._places, self._placed = found, len(self.shapes)
        return found

    def rest(self, names: tuple[str, ...]) -> tuple[list[int], list[str]]:
        """Places and JSON keys of the names that are kept as attributes; of a name told twice the first."""
        mapped = self.mapped_names
        first = {name: i for i, name in reversed(list(enumerate(names, start=1)))}
        kept = [
            (i, json.dumps(name, ensure_ascii=False) + ":")
            for name, i in sorted(first.items(), key=lambda item: item[1])
            if name is not None and name not in mapped and not is_content(name) and not name.startswith(PROMOTED)
        ]
        return [i for i, _ in kept], [key for _, key in kept]

    @cached_property
    def mapped_names(self) -> frozenset[str]:
        """Attribute names that a column holds."""
        return frozenset(name for names in self.picks().values() for name in names)

    def not_understood(self, spans_by_shape: dict[int, int]) -> dict[str, int]:
        """Names that no column holds and nobody knows, as they may be shown -> number of spans that carry them."""
        mapped, counts = self.mapped_names, dict[str, int]()
        names = {name for key in spans_by_shape for name in self.shapes.get(key, ()) if name is not None}
        told = {name: shown_name(name) for name in names if name not in mapped and not is_known(name)}
        for key, n in spans_by_shape.items():
            for name in {told[name] for name in self.shapes.get(key, ()) if name in told}:
                counts[name] = counts.get(name, 0) + n
        return counts


@cache
def is_known(name: str) -> bool:
    """Whether the attribute is understood though no column holds it."""
    return is_content(name) or name.startswith(PROMOTED) or any(fnmatchcase(name, pattern) for pattern in KNOWN)


def shape_frame(learned: Learned) -> pl.DataFrame:
    """Rows (shape_h, PICK_1, PICK_2, ..., rest, rest_keys), one per known list of names."""
    places = learned.places()
    columns: dict[str, pl.Series] = {"shape_h": pl.Series(list(learned.shapes), dtype=pl.UInt64)}
    for pick, by_shape in places.items():
        for i in range(max(map(len, by_shape.values()))):
            values = [
                by_shape[key][i] if key in by_shape and len(by_shape[key]) > i else None for key in learned.shapes
            ]
            columns[f"{pick}_{i + 1}"] = pl.Series(values, dtype=pl.Int64)
    if learned.keep_attributes:
        rest = [learned.rest(names) for names in learned.shapes.values()]
        columns["rest"] = pl.Series([places for places, _ in rest], dtype=pl.List(pl.Int32))
        columns["rest_keys"] = pl.Series([keys for _, keys in rest], dtype=pl.List(pl.String))
    return pl.DataFrame(columns)


def kind_frame(learned: Learned) -> pl.DataFrame:
    """Rows (kind_h, class, emitter), one per known kind of step."""
    return pl.DataFrame(
        {
            "kind_h": pl.Series(list(learned.kinds), dtype=pl.UInt64),
            "class": pl.Series([cls for cls, _ in learned.kinds.values()], dtype=pl.String),
            "emitter": pl.Series([emitter for _, emitter in learned.kinds.values()], dtype=pl.String),
        }
    )


def _pick(pick: str, n: int, kind: Kind) -> str:
    """SQL of one field from the places that the shape gives it."""
    sql_type = SQL_TYPES[kind]
    if n == 0:
        return f"NULL::{sql_type}"
    cast = {  # a text that says there is nothing is no number either
        "int": "whole({})",
        "float": "figure({})",
        "bool": "TRY_CAST({} AS BOOLEAN)",
        "money": "TRY_CAST({} AS DECIMAL(38,12))",
    }.get(kind, "told({})")
    terms = [cast.format(f"vals[{pick}_{i + 1}]") for i in range(n)]
    return terms[0] if n == 1 else f"coalesce({', '.join(terms)})"


def kinds_relation(raw: str, learned: Learned) -> str:
    """SQL of (kind_key, values of stages.KIND_COLUMNS) of every raw span."""
    names = ", ".join(f"k{i}" for i in range(len(_kind_values(learned))))
    values = ", ".join(f"{value} AS k{i}" for i, value in enumerate(_kind_values(learned)))
    return f"SELECT hash({names}) AS kind_key, {names} FROM (SELECT {values} {_from_shapes(raw)})"


@dataclass(frozen=True)
class Limits:
    """When a span may have begun: not after `latest_ns`, not in a day that was rolled up (`closed`, a condition on
    `started`), and not in a trace that went with one (`torn`, SQL of their ids)."""

    latest_ns: int
    closed: str = ""
    torn: str = ""


def shapes_relation(raw: str) -> str:
    """SQL of (shape_key, names) of every raw span."""
    return f"SELECT shape_key, names FROM ({raw})"


def refusals_relation(raw: str, learned: Learned, limits: Limits) -> str:
    """SQL of (line, refused, head, detail) of the lines and spans that cannot be."""
    n = _counts(learned)
    picks = ", ".join(f'{_pick(name, n.get(name, 0), PICK_KINDS[name])} AS "{name}"' for name in _MOST)
    judged = (
        f"SELECT *, coalesce({_refused(limits)}, {_beyond(n)}) AS refused FROM (SELECT *, {picks} {_from_shapes(raw)})"
    )
    return f"SELECT line, refused, text AS head, {_detail(n)} AS detail FROM ({judged}) WHERE refused IS NOT NULL"


def _beyond(counts: dict[str, int]) -> str:
    """SQL of the reason of a span with a count that cannot be; counts that no span tells are not looked at."""
    told = [(name, most) for name, most in _MOST.items() if counts.get(name)]
    far = " OR ".join(f"{name} NOT BETWEEN -{most} AND {most}" for name, most in told)
    below = " OR ".join(f"{name} < 0" for name, _ in told if name in _TOKENS)
    arms = [f"WHEN {far} THEN 'bad_value'"] * bool(far) + [f"WHEN {below} THEN 'negative_tokens'"] * bool(below)
    return f"CASE {' '.join(arms)} END" if arms else "NULL"


def _detail(counts: dict[str, int]) -> str:
    """SQL of the field, value and rule that a span was refused for; the ids and times of a line without span are null."""
    arms = " ".join(
        f"WHEN {name} NOT BETWEEN -{most} AND {most} THEN concat(names[{name}_1], ': ', {name}, ' is above {most:,}')"
        for name, most in _MOST.items()
        if counts.get(name)
    )
    below = " ".join(
        f"WHEN {name} < 0 THEN concat(names[{name}_1], ': ', {name}, ' is below 0')"
        for name in _TOKENS
        if counts.get(name)
    )
    return f"""CASE refused
        WHEN 'bad_trace_id' THEN concat('trace id: ', {marked_sql("trace_id")}, ' is no 16 bytes')
        WHEN 'no_span_id' THEN concat('span id: ', {marked_sql("span_id")}, ' is no 8 bytes')
        WHEN 'start_unset' THEN concat('start: ', CASE started WHEN {NO_TIME} THEN 'no count of nanoseconds' ELSE coalesce(started::VARCHAR, 'none') END)
        WHEN 'end_before_start' THEN concat('end: ', ended, ' lies before start: ', started)
        WHEN 'duration_too_long' THEN concat('from start: ', started, ' to end: ', ended)
        WHEN 'time_out_of_range' THEN concat('start: ', started, ' is out of range, in ns since 1970')
        WHEN '{REASON}' THEN concat('start: ', started, ' lies in a day that was rolled up, or its trace does')
        WHEN 'bad_value' THEN CASE WHEN ended < 0 THEN 'end: no count of nanoseconds since 1970' {arms} END
        WHEN 'negative_tokens' THEN CASE {below or "WHEN false THEN ''"} END END"""


def _refused(limits: Limits) -> str:
    """SQL of the reason against a line or span; the same reasons in the same order as otlp_messages.reason_against."""
    closed = f"WHEN {limits.closed} THEN '{REASON}'" if limits.closed else ""
    torn = f"WHEN trace_hex(trace_id) IN ({limits.torn}) THEN '{REASON}'" if limits.torn else ""
    return f"""CASE WHEN line_state IS NOT NULL THEN 'line.' || line_state
        WHEN trace_id IS NULL OR trace_id = '' THEN 'no_trace_id' WHEN trace_told IS NULL THEN 'bad_trace_id'
        WHEN trace_told = '00000000000000000000000000000000' THEN 'zero_trace_id'
        WHEN span_told IS NULL OR span_told = '0000000000000000' THEN 'no_span_id'
        WHEN coalesce(started, 0) IN (0, {NO_TIME}) THEN 'start_unset'
        WHEN started < {FIRST_YEAR_NS} OR started > {limits.latest_ns} THEN 'time_out_of_range' WHEN ended < 0 THEN 'bad_value'
        WHEN ended < started THEN 'end_before_start' WHEN ended - started > {DAY_NS} THEN 'duration_too_long' {closed} {torn} END"""


def identified(raw: str) -> str:
    """SQL of raw spans with what is derived of their ids and lists of names (span_source.DERIVED)."""
    return f"""SELECT *, hash(names) AS shape_key, coalesce(len(names), 0) AS n_attributes, trace_hex(trace_id) AS trace_told, span_hex(span_id) AS span_told,
        span_hex(parent_id) AS parent_told FROM ({raw})"""


def _from_shapes(raw: str) -> str:
    """SQL of raw spans and the places their shape gives.

    A look-up by subquery is a join that always hashes the few: of a frame or a file the planner does not know the size.
    """
    return f"""FROM (SELECT *, shape.* FROM (SELECT *,
        (SELECT span_shapes FROM span_shapes WHERE shape_h = shape_key) AS shape FROM ({raw})))"""


def _counts(learned: Learned) -> dict[str, int]:
    return {pick: max(map(len, by_shape.values())) for pick, by_shape in learned.places().items()}


def _kind_values(learned: Learned) -> list[str]:
    n = _counts(learned)
    values = [_pick(pick, n.get(pick, 0), "text") for pick in KIND_PICKS]
    there = [
        f"CASE WHEN {_pick(pick, n.get(pick, 0), 'text')} IS NULL THEN NULL ELSE '' END" for pick in PRESENCE_PICKS
    ]
    return ["scope", "name", "span_kind(kind)", "service", *values, *there]


def _kind_key(learned: Learned) -> str:
    return f"hash({', '.join(_kind_values(learned))})"


def fields(learned: Learned) -> list[str]:
    """Columns of schema.SPANS that attributes may fill; those that no known list of names has are left out."""
    n = _counts(learned)
    return [*(name for name in PICK_KINDS if n.get(name)), *(["dimensions"] if learned.dimensions else [])]


def columns_relation(raw: str, learned: Learned, *, sampling_rate: float | None, limits: Limits) -> str:
    """SQL of columns of schema.SPANS from raw spans, the fields alone that a span may tell; spans that cannot be have a
    reason in `refused`.

    Parameters of the statement: $upload_id, $source, and those of `raw`.
    """
    n = _counts(learned)
    picks = [f'{_pick(name, n[name], PICK_KINDS[name])} AS "{name}"' for name in fields(learned) if name in PICK_KINDS]
    rate = f"{sampling_rate!r}::DOUBLE" if sampling_rate is not None else "kept"
    if learned.keep_attributes:
        picks.append("CASE WHEN len(rest) > 0 THEN rest_json(rest, rest_keys, vals) END AS attributes")
    known = "shape_h IS NOT NULL AND kind_h IS NOT NULL"
    if learned.dimensions:
        told = ", ".join(_pick(pick, n.get(pick, 0), "text") for pick in learned.dimensions)
        picks.append(f"dimension_json({_texts(learned.mapping.dimensions)}, [{told}]) AS dimensions")
    return f"""
SELECT coalesce(trace_told, lower(trace_id)) AS trace_id, coalesce(span_told, lower(span_id)) AS span_id,
    nullif(parent_told, '0000000000000000') AS parent_id,
    $upload_id AS upload_id, $source AS source, name, span_kind(kind)::BIGINT AS kind, started AS started_ns, ended AS ended_ns,
    span_status(status) AS status_code, scope, class, emitter,
    encoding + CASE WHEN length(trace_id) IN (22, 24) THEN 1 ELSE 0 END
        + CASE WHEN coalesce(starts_with(kind, 'SPAN_KIND'), false) OR coalesce(starts_with(status, 'STATUS'), false) THEN 2 ELSE 0 END
        + CASE WHEN dropped > 0 THEN 16 ELSE 0 END AS marks,
    n_attributes,
    (hash(name, started, ended, span_status(status), vals) >> 1)::BIGINT AS content_key, (shape_key >> 1)::BIGINT AS shape_key,
    {rate} AS sampling_rate, service, resource_namespace, resource_region, resource_version, resource_replica,
    {", ".join((*EVENTS, *picks))},
    CASE WHEN NOT ({known}) THEN coalesce(names, []) END AS raw_names, CASE WHEN NOT ({known}) THEN vals END AS raw_values,
    coalesce({_refused(limits)}, {_beyond(n)}) AS refused
FROM (SELECT keyed.*, step.* FROM (SELECT *, {_kind_key(learned)} AS kind_key {_from_shapes(raw)}) AS keyed
    LEFT JOIN {_KINDS} ON step.kind_h = kind_key)"""


# One subquery within another is planned by copying all that is read: 0.3 s a statement. Of a list the planner expects one
# row, so it is the side that is hashed.
_KINDS = "(SELECT unnest(list(span_kinds)) AS step FROM span_kinds)"


def _texts(values: Iterable[str]) -> str:
    return "[" + ", ".join("'" + value.replace("'", "''") + "'" for value in values) + "]"


_ABSENT = ", ".join(f"'{text}'" for text in ABSENT)
MACROS: tuple[str, ...] = (
    f"CREATE OR REPLACE TEMP MACRO told(x) AS CASE WHEN strlen(x) <= {max(map(len, ABSENT))} AND x IN ({_ABSENT}) THEN NULL ELSE x END",
    # a count told as a number, as text, as a whole double, or in two halves
    """CREATE OR REPLACE TEMP MACRO whole(x) AS coalesce(TRY_CAST(x AS BIGINT),
        CASE WHEN starts_with(x, '{"low"') THEN TRY(json_extract(x, '$.high')::BIGINT * 4294967296
            + ((json_extract(x, '$.low')::BIGINT + 4294967296) % 4294967296)) END)""",
    f"CREATE OR REPLACE TEMP MACRO figure(x) AS CASE WHEN abs(TRY_CAST(x AS DOUBLE)) <= {MAX_FIGURE} THEN TRY_CAST(x AS DOUBLE) END",
    """CREATE OR REPLACE TEMP MACRO span_kind(x) AS CASE WHEN length(x) = 1 THEN CASE WHEN x BETWEEN '0' AND '9' THEN x END ELSE CASE x WHEN 'SPAN_KIND_INTERNAL' THEN '1' WHEN 'SPAN_KIND_SERVER' THEN '2'
        WHEN 'SPAN_KIND_CLIENT' THEN '3' WHEN 'SPAN_KIND_PRODUCER' THEN '4' WHEN 'SPAN_KIND_CONSUMER' THEN '5'
        WHEN 'SPAN_KIND_UNSPECIFIED' THEN '0' END END""",
    """CREATE OR REPLACE TEMP MACRO span_status(x) AS CASE WHEN x IS NULL OR x = '0' THEN 0 WHEN x = '2' THEN 2 ELSE CASE x WHEN '1' THEN 1 WHEN 'STATUS_CODE_ERROR' THEN 2
        WHEN 'STATUS_CODE_OK' THEN 1 ELSE 0 END END::BIGINT""",
    """CREATE OR REPLACE TEMP MACRO trace_hex(x) AS CASE
        WHEN length(x) = 32 AND regexp_full_match(x, '[0-9a-fA-F]+') THEN lower(x)
        WHEN length(x) = 16 AND regexp_full_match(x, '[0-9a-fA-F]+') THEN '0000000000000000' || lower(x)
        WHEN length(x) IN (22, 24) THEN blob_hex(x, 16) END""",
    """CREATE OR REPLACE TEMP MACRO span_hex(x) AS CASE
        WHEN length(x) = 16 AND regexp_full_match(x, '[0-9a-fA-F]+') THEN lower(x)
        WHEN length(x) IN (11, 12) THEN blob_hex(x, 8) END""",
    """CREATE OR REPLACE TEMP MACRO blob_hex(x, n) AS CASE WHEN octet_length(TRY(from_base64(rpad(x, n // 8 * 12, '=')))) = n
        THEN lower(hex(TRY(from_base64(rpad(x, n // 8 * 12, '='))))) END""",
    """CREATE OR REPLACE TEMP MACRO unwrapped_json(x) AS CAST(CASE WHEN json_exists(x, '$.values[0].key') THEN
        to_json(map_from_entries(list_transform(json_extract(x, '$.values[*]'),
            lambda v: struct_pack(k := v ->> '$.key', v := (v ->> '$.value.*')[1]))))
        ELSE to_json(list_transform(json_extract(x, '$.values[*]'), lambda v: (v ->> '$.*')[1])) END AS VARCHAR)""",
    # lists and maps of values in their wrappings become lists and objects of texts; text that only begins like one stays
    """CREATE OR REPLACE TEMP MACRO plain_json(x) AS CASE WHEN starts_with(x, '{"values":') THEN
        coalesce(TRY(unwrapped_json(regexp_replace(x, '"(intValue|int_value)":(-?[0-9]+)', '"\\1":"\\2"', 'g'))),
            CAST(to_json(x) AS VARCHAR)) ELSE coalesce(CAST(to_json(x) AS VARCHAR), 'null') END""",
    """CREATE OR REPLACE TEMP MACRO rest_json(rest, keys, vals) AS '{' || array_to_string(
        list_transform(rest, lambda place, i: keys[i] || plain_json(vals[place])), ',') || '}'""",
    """CREATE OR REPLACE TEMP MACRO dimension_json(names, told) AS nullif(CAST(to_json(map_from_entries(list_filter(
        list_zip(names, told), lambda e: e[2] IS NOT NULL))) AS VARCHAR), '{}')""",
)
