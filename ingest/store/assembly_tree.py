"""Assembly, first part: spans of the wanted traces, their tree, and what is rewritten before calls are looked for.

Input: table spans; temporary table as_wanted (trace_id).
Output: temporary tables
    as_span   one narrow row per span: r (row, below 0 for one made here), t, s, p (hashes of trace, span, parent),
              cls, emitter, st, en, kind; and from the tree: pr (row of the parent), depth, top (outermost call or
              engine among ancestors and itself), near (class of the nearest call, engine or gateway above), eng (nearest
              engine above), rank (of the thread it hangs under), in_tool, is_plain (nothing but containers above)
    as_root   one row per trace: t, r, s, st, en (own_en: of the span itself), cls, n_roots
    as_slice  parts of an engine told as spans: eng, queue_ns, prefill_ns, decode_ns, network_ns

Columns are narrow and ids are 64-bit hashes: the sweep and the joins touch every span, the wide row only calls need.
Ways to the root are put together by doubling, so a chain of spans costs little more than siblings; what hangs in a
circle has no way to a root, and is left out.
"""

from __future__ import annotations

import duckdb

# hash() of a text alone is no key: texts whose eight-byte words are exchanged or counted up share it by the thousand,
# and ids that count would make one request of strangers. Hashed together with a part of itself it is one.
MACROS: tuple[str, ...] = (
    "CREATE OR REPLACE TEMP MACRO trace_key(x) AS hash(x, substr(x, 5, 24))",
    "CREATE OR REPLACE TEMP MACRO span_key(x) AS hash(x, substr(x, 5, 8))",
)
_CALL = "cls IN ('call', 'engine')"


def build(cursor: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables of this part."""
    _read(cursor)
    _roots(cursor)
    _walk(cursor)
    _engines_of_slices(cursor)
    _triton(cursor)


def _read(cursor: duckdb.DuckDBPyConnection) -> None:
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_flat AS
        SELECT row_id AS r, trace_key(trace_id) AS t, span_key(span_id) AS s,
            CASE WHEN parent_id IS NOT NULL THEN span_key(parent_id) END AS p,
            "class" AS cls, emitter, started_ns AS st, coalesce(ended_ns, started_ns) AS en, kind, service,
            TRY_CAST(rank AS BIGINT) AS own_rank
        FROM as_source WHERE trace_id IN (SELECT trace_id FROM as_wanted)""")
    # a plain server span is a gateway where its own service is one in that trace
    if _count(cursor, "SELECT count(*) FROM as_flat WHERE cls = 'server'"):
        cursor.execute("""UPDATE as_flat SET cls = CASE WHEN (t, service) IN (
                SELECT t, service FROM as_flat WHERE emitter = 'litellm' AND cls IN ('gateway', 'call'))
            THEN 'gateway' ELSE 'container' END WHERE cls = 'server'""")


def _roots(cursor: duckdb.DuckDBPyConnection) -> None:
    """Of the spans without a parent in the trace the earliest that is no engine's; in a circle the earliest of all."""
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_linked AS
        SELECT child.*, parent.r AS pr, parent.st AS parent_st FROM as_flat AS child
        LEFT JOIN as_flat AS parent ON parent.t = child.t AND parent.s = child.p AND parent.r <> child.r""")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_top AS
        SELECT *, CASE WHEN cls = 'ignored' THEN 2 WHEN cls = 'engine' THEN 1 ELSE 0 END AS worth FROM as_linked WHERE pr IS NULL
        UNION ALL BY NAME
        SELECT *, 0 AS worth FROM as_linked WHERE t NOT IN (SELECT t FROM as_linked WHERE pr IS NULL)
        QUALIFY row_number() OVER (PARTITION BY t ORDER BY st, s) = 1""")
    # a parent that never came lasted at least as long as its children: its request ends with the last of them
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_root AS
        SELECT t, r, s, st, CASE WHEN p IS NULL THEN en ELSE greatest(en, coalesce(siblings_en, en)) END AS en, en AS own_en, cls, kind, n_roots
        FROM (SELECT *, count(*) OVER (PARTITION BY t) AS n_roots,
                max(CASE WHEN worth = 0 THEN en END) OVER (PARTITION BY t, p) AS siblings_en,
                row_number() OVER (PARTITION BY t ORDER BY worth, st, s) AS i FROM as_top) WHERE i = 1""")


def _walk(cursor: duckdb.DuckDBPyConnection) -> None:
    """Depth and what is above, from the roots down; most traces are done with the root and its children."""
    child_call = _CALL.replace("cls", "child.cls")
    top = "child.r, child.t, child.s, child.p, child.cls, child.emitter, child.st, child.en, child.kind"
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_span AS
        SELECT {top}, CASE WHEN child.r <> root.r THEN root.r END AS pr, CASE WHEN child.r <> root.r THEN root.st END AS parent_st,
            CASE WHEN child.r = root.r THEN 0 ELSE 1 END AS depth,
            CASE WHEN child.r <> root.r AND root.cls IN ('call', 'engine') THEN root.r WHEN {child_call} THEN child.r END AS top,
            CASE WHEN child.r <> root.r AND root.cls IN ('call', 'engine', 'gateway') THEN root.cls END AS near,
            CASE WHEN child.r <> root.r AND root.cls = 'engine' THEN root.r END AS eng, child.own_rank AS rank,
            child.r <> root.r AND coalesce(root.cls = 'tool', false) AS in_tool,
            coalesce(child.cls = 'container', false) AND (child.r = root.r OR coalesce(root.cls = 'container', false)) AS is_plain
        FROM as_linked AS child JOIN as_root AS root ON root.t = child.t
        WHERE root.n_roots = 1 AND (child.r = root.r OR child.pr = root.r)
        UNION ALL
        SELECT {top}, NULL AS pr, NULL AS parent_st, CASE WHEN child.r = root.r THEN 0 ELSE 1 END AS depth,
            CASE WHEN {child_call} THEN child.r END AS top, NULL AS near, NULL AS eng, child.own_rank AS rank, false AS in_tool,
            coalesce(child.cls = 'container', false) AS is_plain
        FROM as_top AS child JOIN as_root AS root ON root.t = child.t WHERE root.n_roots > 1""")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_rest AS
        SELECT child.* FROM as_linked AS child JOIN as_root AS root ON root.t = child.t
        WHERE child.pr IS NOT NULL AND child.r <> root.r AND (root.n_roots > 1 OR child.pr <> root.r)""")
    if not _count(cursor, "SELECT count(*) FROM as_rest"):
        return
    _ways(cursor)
    cursor.execute(f"""INSERT INTO as_span BY NAME
        SELECT {top}, child.pr, child.parent_st, base.depth + way.depth AS depth,
            coalesce(base.top, way.top, CASE WHEN {child_call} THEN child.r END) AS top, coalesce(way.near, base.near) AS near,
            coalesce(way.eng, base.eng) AS eng, coalesce(child.own_rank, way.rank, base.rank) AS rank,
            way.in_tool OR base.in_tool AS in_tool,
            base.is_plain AND way.is_plain AND coalesce(child.cls = 'container', false) AS is_plain
        FROM as_rest AS child JOIN as_way AS way USING (r) JOIN as_span AS base ON base.r = way.up""")


def _ways(cursor: duckdb.DuckDBPyConnection) -> None:
    """Makes as_way: from every span of as_rest the way up to one in as_span, and what the spans on it are.

    Each round puts the way of the span at its end behind every way, so ways double and a chain of n spans takes
    log2(n) rounds. Ways of spans in a circle never end; they are left after as many rounds as the longest could take.
    """
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_way AS
        SELECT child.r, child.pr AS up, 1 AS depth, CASE WHEN {_CALL.replace("cls", "above.cls")} THEN above.r END AS top,
            CASE WHEN above.cls IN ('call', 'engine', 'gateway') THEN above.cls END AS near,
            CASE WHEN above.cls = 'engine' THEN above.r END AS eng, above.own_rank AS rank,
            coalesce(above.cls = 'tool', false) AS in_tool, coalesce(above.cls = 'container', false) AS is_plain
        FROM as_rest AS child JOIN as_flat AS above ON above.r = child.pr""")
    open_ways = "SELECT count(*) FROM as_way WHERE up IN (SELECT r FROM as_way)"
    for _ in range(_count(cursor, "SELECT count(*) FROM as_way").bit_length()):
        if not _count(cursor, open_ways):
            break
        cursor.execute("""CREATE OR REPLACE TEMP TABLE as_way AS
            SELECT low.r, coalesce(high.up, low.up) AS up, low.depth + coalesce(high.depth, 0) AS depth,
                coalesce(high.top, low.top) AS top, coalesce(low.near, high.near) AS near, coalesce(low.eng, high.eng) AS eng,
                coalesce(low.rank, high.rank) AS rank, low.in_tool OR coalesce(high.in_tool, false) AS in_tool,
                low.is_plain AND coalesce(high.is_plain, true) AS is_plain
            FROM as_way AS low LEFT JOIN as_way AS high ON high.r = low.up""")


def climb(cursor: duckdb.DuckDBPyConnection, below: str) -> None:
    """Makes as_above (r, steps): the spans above those of a query, and how far the nearest of these is below.

    Args:
        below: SQL of (r, t); these spans themselves are not among those above.
    """
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE as_above AS SELECT DISTINCT r, t, 0 AS steps FROM ({below})")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_jump AS SELECT r, pr AS up FROM as_span
        WHERE pr IS NOT NULL AND t IN (SELECT t FROM as_above)""")
    length = 1
    while _count(cursor, "SELECT count(*) FROM as_jump"):
        cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_above AS
            SELECT r, any_value(t) AS t, min(steps) AS steps FROM (SELECT * FROM as_above UNION ALL
                SELECT up, t, steps + {length} FROM as_above JOIN as_jump USING (r)) GROUP BY r""")
        cursor.execute("""CREATE OR REPLACE TEMP TABLE as_jump AS
            SELECT low.r, high.up FROM as_jump AS low JOIN as_jump AS high ON high.r = low.up""")
        length *= 2
    cursor.execute("DELETE FROM as_above WHERE steps = 0")


def _engines_of_slices(cursor: duckdb.DuckDBPyConnection) -> None:
    """Queue, prefill and decode told as spans: figures of the engine above them, else of an engine made for them."""
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE as_slice (eng BIGINT, queue_ns BIGINT, prefill_ns BIGINT, decode_ns BIGINT, "
        "network_ns BIGINT)"
    )
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_made (eng BIGINT, r BIGINT)")
    if not _count(cursor, "SELECT count(*) FROM as_span WHERE starts_with(cls, 'slice.')"):
        return
    # siblings without an engine: one engine per parent
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_made AS
        SELECT -1 - min(r) OVER (PARTITION BY t, coalesce(pr, r)) AS eng, r FROM as_span
        WHERE starts_with(cls, 'slice.') AND eng IS NULL""")
    cursor.execute("""INSERT INTO as_span BY NAME SELECT made.eng AS r, any_value(t) AS t, hash(made.eng) AS s,
            any_value(p) AS p, 'engine' AS cls, any_value(emitter) AS emitter, min(st) AS st, max(en) AS en, 2 AS kind,
            any_value(pr) AS pr, min(st) AS parent_st, min(depth) AS depth, coalesce(any_value(top), made.eng) AS top,
            any_value(near) AS near, NULL AS eng, NULL AS rank, bool_or(in_tool) AS in_tool, false AS is_plain
        FROM as_made AS made JOIN as_span USING (r) GROUP BY made.eng""")
    cursor.execute("""INSERT INTO as_slice SELECT eng,
            sum(en - st) FILTER (cls = 'slice.queue')::BIGINT, sum(en - st) FILTER (cls = 'slice.prefill')::BIGINT,
            sum(en - st) FILTER (cls = 'slice.decode')::BIGINT, sum(en - st) FILTER (cls = 'slice.network')::BIGINT
        FROM (SELECT coalesce(made.eng, span.eng) AS eng, span.cls, st, en, rank,
                min(rank) OVER (PARTITION BY coalesce(made.eng, span.eng)) AS lowest
            FROM as_span AS span LEFT JOIN as_made AS made USING (r) WHERE starts_with(span.cls, 'slice.'))
        WHERE rank IS NOT DISTINCT FROM lowest GROUP BY eng""")
    cursor.execute("UPDATE as_span SET cls = NULL WHERE starts_with(cls, 'slice.')")


def _triton(cursor: duckdb.DuckDBPyConnection) -> None:
    """Of several computations the longest is the model; queue and sending are told by pairs of events."""
    if not _count(cursor, "SELECT count(*) FROM as_span WHERE emitter = 'triton'"):
        return
    cursor.execute("""UPDATE as_span SET cls = NULL, top = NULL WHERE emitter = 'triton' AND cls = 'engine' AND r NOT IN (
        SELECT r FROM as_span WHERE emitter = 'triton' AND cls = 'engine'
        QUALIFY row_number() OVER (PARTITION BY t ORDER BY en - st DESC, st, s) = 1)""")
    cursor.execute("""INSERT INTO as_span BY NAME
        WITH told AS (SELECT node.*, spans.slice_from_ns AS a, spans.slice_to_ns AS z FROM as_span AS node JOIN as_source AS spans ON spans.row_id = node.r
            WHERE node.emitter = 'triton' AND slice_from_ns IS NOT NULL)
        SELECT -1 - told.r AS r, told.t, hash(-1 - told.r) AS s, told.s AS p, CASE WHEN z IS NULL THEN 'queue' ELSE 'network' END AS cls,
            'triton' AS emitter, a AS st, coalesce(z, model.st) AS en, 1 AS kind, told.r AS pr, told.depth + 1 AS depth,
            false AS in_tool, false AS is_plain, a AS parent_st
        FROM told LEFT JOIN as_span AS model ON model.pr = told.r AND model.cls = 'engine' AND z IS NULL
        WHERE coalesce(z, model.st) >= a""")


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0
