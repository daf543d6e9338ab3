"""SQL of the relation of raw spans: one row per span, names and values of its attributes as two lists.

Input: lines of OTLP JSON (a file, or a table of lines), or a frame of RawSpan.
Output: SQL text of one relation in the columns RAW; every source of spans ends in it.

Each line is cut into span texts by one json_transform, and each span text is read by a second one: nested reading in
one go converts a whole line as one row and hardly runs in parallel. Everything of the resource is taken BEFORE the
spans are unnested, else the line is parsed again for every span.

A line that gives no span gives one row whose `line_state` says why: bad, metrics, logs, other, empty, or snake for a
line in snake_case, which is read by a second relation over those lines alone.
"""

from __future__ import annotations

from typing import Literal

from ingest.bounds import FAR_TIME_NS, LEAST_RATE, NO_TIME
from ingest.formats.attributes import FIRST_TOKEN_EVENTS, RESOURCE_PICKS

Spelling = Literal["camel", "snake"]

RESOURCE: tuple[str, ...] = tuple(RESOURCE_PICKS)
EVENTS: tuple[str, ...] = (
    *("event_first_ns", "event_gap_ns", "event_error", "event_finish", "slice_from_ns", "slice_to_ns"),
)
RAW: tuple[str, ...] = (
    *("line", "line_state", "text", "encoding", "scope", "trace_id", "span_id", "parent_id", "kept", "name"),
    *("kind", "started", "ended", "status", "dropped", *EVENTS, "names", "vals", *RESOURCE),
)
DERIVED: tuple[str, ...] = (  # hash and length of names; ids as hex, or null
    *("shape_key", "n_attributes", "trace_told", "span_told", "parent_told"),
)
SNAKE, LEGACY = 4, 8  # bits of `encoding`, as in span_columns.MARKS

_KINDS = ("string_value", "int_value", "double_value", "bool_value", "array_value", "kvlist_value", "bytes_value")
_THRESHOLD = "(?:^|,) *ot=(?:[^,;]*;)*th:([0-9a-f]{1,14}) *(?:[,;]|$)"  # of a trace state
_CHUNK_EVENTS = tuple(name for name in FIRST_TOKEN_EVENTS if name.endswith(".chunk"))


def file_lines(packing: str, *, numbered: bool) -> str:
    """SQL of (line, json) of a file whose path is the statement's parameter; json is null where a line is not one
    JSON value. `line` counts records, blank lines left out; without `numbered` it is null, and both cores are used."""
    line = "row_number() OVER ()" if numbered else "NULL::BIGINT"
    compression = {"none": "none", "gzip": "gzip", "zstd": "zstd"}[packing]
    return (
        f"SELECT {line} AS line, json FROM read_ndjson_objects($path, ignore_errors = true, "
        f"compression = '{compression}')"
    )


def _speller(spelling: Spelling) -> dict[str, str]:
    """Every field name of the encoding, told in snake case, in the wanted spelling."""
    names = (
        *("resource_spans", "scope_spans", "instrumentation_library_spans", "instrumentation_library"),
        *("resource_metrics", "resource_logs", "trace_id", "span_id", "parent_span_id", "trace_state"),
        *("start_time_unix_nano", "end_time_unix_nano", "dropped_events_count", "time_unix_nano", *_KINDS),
    )

    return {name: name if spelling == "snake" else _camel(name) for name in names}


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def _line_shape(key: dict[str, str]) -> str:
    """JSON structure of one line."""
    values = _value_shape(key)
    scope = '{"name":"VARCHAR"}'
    other = "resource_spans" if key["resource_spans"] != "resource_spans" else "resourceSpans"
    return (
        f'{{"{key["resource_spans"]}":[{{"resource":{{"attributes":[{{"key":"VARCHAR","value":{values}}}]}},'
        f'"{key["scope_spans"]}":[{{"scope":{scope},"spans":["JSON"]}}],'
        f'"{key["instrumentation_library_spans"]}":[{{"{key["instrumentation_library"]}":{scope},"spans":["JSON"]}}]}}],'
        f'"{other}":["JSON"],"{key["resource_metrics"]}":["JSON"],"{key["resource_logs"]}":["JSON"]}}'
    )


def _value_shape(key: dict[str, str]) -> str:
    """JSON structure of a value: each kind that it may be, as text but for doubles, which writers spell in many ways."""
    kinds = (f'"{key[kind]}":"{"DOUBLE" if kind == "double_value" else "VARCHAR"}"' for kind in _KINDS)
    return "{" + ",".join(kinds) + "}"


def _text_of(value: str, key: dict[str, str]) -> str:
    """SQL of the text of a value, whatever kind it is; null of a list or map that may be spelled otherwise than the
    store writes that of protobuf."""
    texts = {kind: f"{value}.{key[kind]}" for kind in _KINDS}
    texts["double_value"] += "::VARCHAR"
    texts |= {
        kind: f"CASE WHEN NOT regexp_matches({texts[kind]}, '{_VARIED}') THEN {texts[kind]} END" for kind in _LISTS
    }
    return f"coalesce({', '.join(texts.values())})"


def _uniform(value: str, key: dict[str, str]) -> str:
    """SQL of the text of a value in whatever spelling: of lists and maps 64-bit integers are text and doubles doubles,
    an empty one has its values, a key without value an empty one, and every field name is in camel case."""
    texts = {kind: f"{value}.{key[kind]}" for kind in _KINDS}
    texts["double_value"] += "::VARCHAR"
    text = f"coalesce({', '.join(texts[kind] for kind in _LISTS)})"
    for kind in _KINDS:
        text = f"""replace({text}, '"{kind}":', '"{_camel(kind)}":')"""
    text = f"whole_doubles({text})"
    for pattern, told in _UNIFORM:
        text = f"regexp_replace({text}, '{pattern}', '{told}', 'g')"
    return f"coalesce({', '.join(texts[kind] for kind in _KINDS if kind not in _LISTS)}, {text})"


_LISTS = ("array_value", "kvlist_value")
_VARIED = r'"(int|double)Value":-?[0-9]|_value":|\{\}|"key"'
_UNIFORM = (
    (r"^\{\}$", '{"values":[]}'),
    ('"intValue":(-?[0-9]+)', r'"intValue":"\1"'),
    ('"doubleValue":(-?[0-9]+)([,}])', r'"doubleValue":\1.0\2'),
    (r'"(array|kvlist)Value":\{\}', r'"\1Value":{"values":[]}'),
    (r'\{"key":("(?:[^"\\]|\\.)*")\}', r'{"key":\1,"value":{}}'),
)


def _span_shape(key: dict[str, str]) -> str:
    """JSON structure of one span; every scalar whose spelling varies is text."""
    value = _value_shape(key)
    texts = ",".join(f'"{key[name]}":"VARCHAR"' for name in ("trace_id", "span_id", "parent_span_id", "trace_state"))
    times = ",".join(f'"{key[name]}":"BIGINT"' for name in ("start_time_unix_nano", "end_time_unix_nano"))
    event = (
        f'{{"name":"VARCHAR","{key["time_unix_nano"]}":"BIGINT",'
        f'"attributes":[{{"key":"VARCHAR","value":{{"{key["string_value"]}":"VARCHAR"}}}}]}}'
    )
    return (
        f'{{{texts},"name":"VARCHAR","kind":"VARCHAR",{times},"status":{{"code":"VARCHAR"}},'
        f'"{key["dropped_events_count"]}":"BIGINT","attributes":[{{"key":"VARCHAR","value":{value}}}],'
        f'"events":[{event}]}}'
    )


def _span_fields(key: dict[str, str]) -> str:
    """SQL of the span's columns of RAW from the struct t of one span text s."""
    start, end, at = key["start_time_unix_nano"], key["end_time_unix_nano"], key["time_unix_nano"]
    events = f"""CASE WHEN len(t.events) > 0 THEN list_transform(t.events, lambda e: struct_pack(
        name := e.name, at := CASE WHEN e.{at} > 0 THEN e.{at} END, attributes := list_transform(e.attributes,
            lambda a: struct_pack(key := a.key, said := a.value.{key["string_value"]})))) END"""
    return f"""
        left(s, 200) AS text,
        t.{key["trace_id"]} AS trace_id, t.{key["span_id"]} AS span_id, t.{key["parent_span_id"]} AS parent_id,
        kept_share(t.{key["trace_state"]}) AS kept, nullif(t.name, '') AS name,
        coalesce(t.kind, '0') AS kind,
        CASE WHEN t.{start} IS NULL THEN other_time(s, '$.{start}') ELSE t.{start} END AS started,
        CASE WHEN t.{end} IS NULL THEN other_time(s, '$.{end}') ELSE t.{end} END AS ended,
        t.status.code AS status, t.{key["dropped_events_count"]} AS dropped, {events} AS events,
        list_transform(t.attributes, lambda a: coalesce(a.key, '')) AS names,
        list_transform(t.attributes, lambda a: {_text_of("a.value", key)}) AS vals"""


def _event_fields() -> str:
    """SQL of the columns EVENTS from the list `events`, null for nearly every span."""

    def only(expression: str) -> str:
        return f"CASE WHEN events IS NOT NULL THEN {expression} END"

    starts, ends = "['QUEUE_START', 'HTTP_SEND_START', 'GRPC_SEND_START']", "['HTTP_SEND_END', 'GRPC_SEND_END']"
    transfer = "'kv_cache_transfer_start'", "'kv_cache_transfer_end'"
    expressions = {
        "event_first_ns": f"first_event(events, {list(FIRST_TOKEN_EVENTS)})",
        "event_gap_ns": "longest_gap(chunk_times(events))",
        "event_error": "event_said(events, 'exception', 'exception.type')",
        "event_finish": "event_said(events, 'gen_ai.choice', 'finish_reason')",
        "slice_from_ns": f"first_event(events, list_append({starts}, {transfer[0]}))",
        "slice_to_ns": f"first_event(events, list_append({ends}, {transfer[1]}))",
    }
    return ", ".join(f"{only(expression)} AS {name}" for name, expression in expressions.items())


def _resource_picks() -> str:
    """SQL of the resource's columns from its lists of names and values."""

    def value(name: str) -> str:
        return f"nullif(resource_values[list_position(resource_names, '{name}')], '')"

    return ", ".join(
        f"coalesce({', '.join(value(name) for name in names)}, NULL) AS {pick}"
        for pick, names in RESOURCE_PICKS.items()
    )


def lines_relation(lines: str, spelling: Spelling, *, promoted: bool = False) -> str:
    """SQL of RAW from a relation (line, json), see file_lines.

    `spelling`: "camel" reads all lines and names those in snake case; "snake" reads those alone.
    `promoted`: the values of the resource attributes in the parameter $promoted are appended to each span's own,
    under the names in the parameter $promoted_as.
    """
    key = _speller(spelling)
    resource = ", ".join(RESOURCE)
    mine, other = key["resource_spans"], "resource_spans" if spelling == "camel" else "resourceSpans"
    legacy, values = key["instrumentation_library_spans"], _uniform("y.value", key)
    state = f"""CASE WHEN json IS NULL THEN 'bad' WHEN j.{mine} IS NOT NULL THEN NULL WHEN j.{other} IS NOT NULL THEN 'snake'
        WHEN j.{key["resource_metrics"]} IS NOT NULL THEN 'metrics' WHEN j.{key["resource_logs"]} IS NOT NULL THEN 'logs'
        WHEN trim(json::VARCHAR, '{{}} ') = '' THEN 'empty' ELSE 'other' END"""
    wanted = "" if spelling == "camel" else f" WHERE j.{mine} IS NOT NULL"
    bits = SNAKE if spelling == "snake" else 0
    # attributes without a value are not told, as in protobuf
    names = (
        "CASE WHEN told IS NULL THEN names ELSE list_where(names, list_transform(told, lambda v: v IS NOT NULL)) END"
    )
    vals = "CASE WHEN told IS NULL THEN vals ELSE list_filter(told, lambda v: v IS NOT NULL) END"
    extra = "NULL AS extra"
    if promoted:
        extra = "list_transform($promoted, lambda n: resource_values[list_position(resource_names, n)]) AS extra"
        names, vals = f"list_concat({names}, $promoted_as)", f"list_concat({vals}, extra)"
    return f"""
SELECT line, coalesce(line_state, CASE WHEN s IS NULL THEN 'nothing' END) AS line_state, text, encoding, scope, trace_id,
    span_id, parent_id, kept, name, kind, started, ended, status, dropped, {_event_fields()}, {names} AS names,
    {vals} AS vals, {resource}
FROM (SELECT *, CASE WHEN list_position(vals, NULL) IS NOT NULL THEN list_transform(
        json_transform(s, '{{"attributes":[{{"value":{_value_shape(key)}}}]}}').attributes,
            lambda a: {_uniform("a.value", key)}) END AS told
FROM (SELECT line, line_state, encoding, scope, {resource}, extra, s, {_span_fields(key)}
FROM (SELECT line, line_state, encoding, scope, {resource}, extra, s, json_transform(s, '{_span_shape(key)}') AS t
FROM (SELECT line, line_state, encoding, scope, {resource}, extra, unnest({_some("spans")}) AS s
FROM (SELECT line, line_state, encoding, {resource}, extra, u.scope.name AS scope, u.spans AS spans
FROM (SELECT line, line_state, encoding, {_resource_picks()}, {extra}, unnest({_some("scopes")}) AS u
FROM (SELECT * REPLACE (list_where(resource_names, list_transform(resource_values, lambda v: v IS NOT NULL)) AS resource_names,
        list_filter(resource_values, lambda v: v IS NOT NULL) AS resource_values)
FROM (SELECT line, line_state, list_transform(x.resource.attributes, lambda y: y.key) AS resource_names,
        list_transform(x.resource.attributes, lambda y: {values}) AS resource_values,
        CASE WHEN x.{legacy} IS NULL THEN {bits} ELSE {bits | LEGACY} END AS encoding,
        CASE WHEN x.{legacy} IS NULL THEN x.{key["scope_spans"]} ELSE list_concat(x.{key["scope_spans"]},
            list_transform(x.{legacy}, lambda u: struct_pack(
                scope := u.{key["instrumentation_library"]}, spans := u.spans))) END AS scopes
FROM (SELECT line, line_state, unnest({_some("resources")}) AS x
FROM (SELECT line, {state} AS line_state, j.{mine} AS resources
FROM (SELECT line, json, json_transform(json, '{_line_shape(key)}') AS j FROM ({lines})){wanted}))))))))))"""


def _some(items: str) -> str:
    """SQL of a list with at least one entry, so that a line without spans still gives a row."""
    return f"CASE WHEN len({items}) > 0 THEN {items} ELSE [NULL] END"


MACROS: tuple[str, ...] = (
    # doubles within a list that are told with more digits than a double has, as the store writes doubles
    """CREATE OR REPLACE TEMP MACRO whole_doubles(x) AS CASE WHEN NOT regexp_matches(x, '"doubleValue":-?[0-9]{16}') THEN x
        ELSE list_reduce(list_concat([x], list_distinct(regexp_extract_all(x, '"doubleValue":(-?[0-9]{16,})[,}]', 1))),
            lambda told, n: regexp_replace(told, '"doubleValue":' || n || '([,}])',
                '"doubleValue":' || coalesce(to_json(TRY_CAST(n AS DOUBLE))::VARCHAR, n) || '\\1', 'g')) END""",
    f"""CREATE OR REPLACE TEMP MACRO far_time(x) AS
        CASE WHEN isfinite(x) THEN greatest(-{FAR_TIME_NS:e}, least(x, {FAR_TIME_NS:e}))::BIGINT ELSE {NO_TIME} END""",
    # a time that is no integer of 64 bits: two halves, {"low": ..., "high": ...}, by some JavaScript exporters; one
    # beyond, which is cut; null where it is absent or empty, NO_TIME where it is something else
    f"""CREATE OR REPLACE TEMP MACRO other_time(s, path) AS CASE WHEN json_exists(s, path || '.high') THEN coalesce(
            TRY(json_extract(s, path || '.high')::BIGINT * 4294967296
                + ((json_extract(s, path || '.low')::BIGINT + 4294967296) % 4294967296)), {NO_TIME})
        WHEN trim(json_extract_string(s, path)) <> '' THEN far_time(TRY_CAST(json_extract_string(s, path) AS DOUBLE)) END""",
    # share that a consistent probability sampler kept: 1 - threshold / 2^56; null where the threshold is not one to
    # fourteen hex digits, or so high that a weight of 1 / share says nothing
    """CREATE OR REPLACE TEMP MACRO told_share(digits) AS
        1.0 - ('0x' || rpad(nullif(digits, ''), 14, '0'))::UBIGINT / 72057594037927936.0""",
    f"""CREATE OR REPLACE TEMP MACRO kept_share(state) AS CASE
        WHEN contains(state, 'th:') AND told_share(regexp_extract(state, '{_THRESHOLD}', 1)) >= {LEAST_RATE:e}
        THEN told_share(regexp_extract(state, '{_THRESHOLD}', 1)) END""",
    """CREATE OR REPLACE TEMP MACRO first_event(events, wanted) AS
        list_min(list_transform(list_filter(events, lambda e: list_contains(wanted, e.name)), lambda e: e.at))""",
    f"""CREATE OR REPLACE TEMP MACRO chunk_times(events) AS
        list_sort(list_transform(list_filter(events, lambda e: e.name IN {_CHUNK_EVENTS}), lambda e: e.at))""",
    """CREATE OR REPLACE TEMP MACRO longest_gap(times) AS
        CASE WHEN len(times) > 1 THEN
            list_max(list_transform(range(2, len(times) + 1), lambda i: times[i] - times[i - 1])) END""",
    """CREATE OR REPLACE TEMP MACRO event_said(events, wanted, attribute) AS
        list_filter(list_filter(events, lambda e: e.name = wanted)[1].attributes,
            lambda a: a.key = attribute AND a.said IS NOT NULL)[1].said""",
)
