"""Assembly, third part: which stage every moment of a request belongs to.

Input: as_span, as_root, as_member, as_call. Output: temporary tables
    as_piece       t, label, call, len: time by the deepest classified span; `call` where the time is a call's own
    as_call_stage  one row per call: its time divided by what its engine or its client's first token says

At each moment the deepest classified span wins, so nothing is counted twice and parallel steps count by wall clock.
A trace whose classified spans do not overlap needs no sweep: each has its own length, the rest is the root's.
"""

from __future__ import annotations

import duckdb

from ingest.schema import STAGES
from ingest.store.assembly_tree import climb

_STAGE_LIST = ", ".join(f"'{stage}'" for stage in STAGES)
_LABEL = f"CASE WHEN cls IN ({_STAGE_LIST}) THEN cls WHEN cls = 'container' THEN 'unattributed' END"
PARTS = (
    *("queue", "prefill", "decode", "network", "model", "before_first_token", "after_first_token", "unattributed"),
)


def build(cursor: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables of this part."""
    _clients(cursor)
    _classified(cursor)
    _pieces(cursor)
    _divide(cursor)


def _clients(cursor: duckdb.DuckDBPyConnection) -> None:
    """Model spans around a gateway's span: their own time is the network to it."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE as_client (r BIGINT)")
    gateways = "SELECT r, t FROM as_span WHERE cls = 'gateway' AND top IS NOT NULL AND pr IS NOT NULL"
    if _count(cursor, f"SELECT count(*) FROM ({gateways})"):
        climb(cursor, gateways)
        cursor.execute("INSERT INTO as_client SELECT r FROM as_above JOIN as_span USING (r) WHERE top IS NOT NULL")


def _classified(cursor: duckdb.DuckDBPyConnection) -> None:
    """Spans that take part, clipped to their root; an engine's span only where no model span tells the call."""
    network = "node.r IN (SELECT r FROM as_client) AND node.cls = 'call'"
    label = f"CASE WHEN {network} THEN 'network' ELSE {_LABEL.replace('cls', 'node.cls')} END"
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_part AS
        SELECT node.r, node.t, node.s, node.depth, greatest(node.st, root.st) AS a, least(node.en, root.en) AS z, {label} AS label,
            CASE WHEN NOT ({network}) THEN member.call END AS call
        FROM as_span AS node JOIN as_root AS root ON root.t = node.t
        LEFT JOIN as_member AS member ON member.r = node.r LEFT JOIN as_call AS told ON told.call = member.call
        WHERE (node.r <> root.r OR root.en > root.own_en) AND least(node.en, root.en) > greatest(node.st, root.st)
            AND ((node.cls IN ({_STAGE_LIST}) OR node.cls = 'call') OR (node.cls = 'container' AND NOT node.is_plain)
                OR (node.cls = 'engine' AND NOT told.has_model))""")
    cursor.execute(f"""CREATE OR REPLACE TEMP TABLE as_whole AS
        SELECT node.r, node.t, node.s, node.st AS a, node.en AS z,
            CASE WHEN node.en > node.own_en THEN 'unattributed' WHEN {network} OR member.r IS NULL THEN coalesce({label}, 'unattributed') END AS label,
            CASE WHEN node.en = node.own_en AND NOT ({network}) THEN member.call END AS call
        FROM as_root AS node LEFT JOIN as_member AS member ON member.r = node.r""")


def _pieces(cursor: duckdb.DuckDBPyConnection) -> None:
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_swept AS
        SELECT DISTINCT t FROM (SELECT t, a, max(z) OVER (PARTITION BY t ORDER BY a, z, r ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM as_part) WHERE before > a
        UNION SELECT t FROM as_whole WHERE call IS NOT NULL AND t IN (SELECT t FROM as_part)""")
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_piece AS
        SELECT t, label, call, a, z - a AS len FROM as_part WHERE t NOT IN (SELECT t FROM as_swept)
        UNION ALL
        SELECT whole.t, whole.label, whole.call, whole.a, whole.z - whole.a - coalesce(taken.len, 0) AS len FROM as_whole AS whole
            LEFT JOIN (SELECT t, sum(z - a)::BIGINT AS len FROM as_part GROUP BY t) AS taken USING (t)
            WHERE whole.t NOT IN (SELECT t FROM as_swept)""")
    if not _count(cursor, "SELECT count(*) FROM as_swept"):
        return
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_cover AS
        SELECT s, t, depth, a, z, label, call FROM as_part WHERE t IN (SELECT t FROM as_swept)
        UNION ALL SELECT s, t, -1, a, z, label, call FROM as_whole WHERE t IN (SELECT t FROM as_swept)""")
    # a tree of blocks of segments: each span stands on the few blocks that make it up, each segment asks the few it is in,
    # so that spans nested in each other by the thousand are not compared each with each
    cursor.execute("""INSERT INTO as_piece
        WITH cut AS (SELECT t, x AS a, lead(x) OVER in_order AS z, row_number() OVER in_order - 1 AS i
            FROM (SELECT t, a AS x FROM as_cover UNION SELECT t, z FROM as_cover) WINDOW in_order AS (PARTITION BY t ORDER BY x)),
        cover AS (SELECT spanned.t, spanned.label, spanned.call, first.i AS lo, past.i AS hi,
                (spanned.depth::HUGEINT + 2) * 5192296858534827628530496329220096::HUGEINT -- 2^112: depth, start, then the span's own hash
                    + spanned.a::HUGEINT * 1125899906842624 + (spanned.s >> 14)::HUGEINT AS worth
            FROM as_cover AS spanned JOIN cut AS first ON first.t = spanned.t AND first.a = spanned.a
                JOIN cut AS past ON past.t = spanned.t AND past.a = spanned.z),
        halved AS (SELECT *, (lo + (1 << level) - 1) >> level AS l, hi >> level AS r
            FROM (SELECT *, unnest(range(floor(log2(hi - lo))::BIGINT + 1)) AS level FROM cover)),
        block AS (SELECT t, level, number, arg_max(struct_pack(label := label, call := call, worth := worth), worth) AS best
            FROM (SELECT *, l AS number FROM halved WHERE l < r AND l % 2 = 1
                UNION ALL SELECT *, r - 1 AS number FROM halved WHERE l < r AND r % 2 = 1) GROUP BY t, level, number),
        height AS (SELECT t, max(level) AS top FROM block GROUP BY t),
        asked AS (SELECT cut.t, i, a, z, unnest(range(top + 1)) AS level FROM cut JOIN height ON height.t = cut.t WHERE z IS NOT NULL),
        won AS (SELECT asked.t, asked.i, any_value(a) AS a, any_value(z) AS z, arg_max(best, best.worth) AS winner
            FROM asked JOIN block ON block.t = asked.t AND block.level = asked.level AND block.number = asked.i >> asked.level
            GROUP BY asked.t, asked.i)
        SELECT t, winner.label, winner.call, a, z - a AS len FROM won""")


def _divide(cursor: duckdb.DuckDBPyConnection) -> None:
    """A call's own time: by its engine's parts if they are whole, else cut at the first token, else undivided.

    An engine that is the root counts its own total, not its span's.
    """
    cursor.execute("""CREATE OR REPLACE TEMP TABLE as_own AS
        SELECT told.*, own.len - CASE WHEN root.cls = 'engine' AND root.r = told.first_r AND root.en = root.own_en THEN (root.en - root.st) - told.engine_total_ns ELSE 0 END AS share,
            own.before
        FROM as_call AS told LEFT JOIN as_root AS root ON root.t = told.t
        LEFT JOIN (SELECT piece.call, sum(len)::BIGINT AS len,
                sum(greatest(0, least(len, told.st + told.first_ns - piece.a)))::BIGINT AS before
            FROM as_piece AS piece JOIN as_call AS told ON told.call = piece.call GROUP BY piece.call) AS own ON own.call = told.call""")
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE as_call_stage AS SELECT call, t, {_shares()} FROM ({_CASES})")


# share: the call's own time; inside: what of it the engine's total covers; measured: sum of the engine's parts
_CASES = """
SELECT *, CASE WHEN measured > share * 1.02 + 1000000 THEN share::DOUBLE / measured ELSE 1.0 END AS squeeze,
    CASE WHEN prefill_ns IS NOT NULL AND decode_ns IS NOT NULL THEN 'whole'
        WHEN n_engines > 0 AND inference_ns IS NOT NULL THEN 'inference'
        WHEN n_engines > 0 AND (queue_ns IS NOT NULL OR decode_ns IS NOT NULL) THEN 'some'
        WHEN first_ns IS NOT NULL THEN 'first' WHEN has_model OR engine IN ('triton', 'tgi') THEN 'model' ELSE 'nothing' END AS basis
FROM (SELECT *, coalesce(queue_ns, 0) + coalesce(prefill_ns, 0) + coalesce(decode_ns, 0) + coalesce(inference_ns, 0)
        + coalesce(transfer_ns, 0) AS measured,
    CASE WHEN has_model AND n_engines > 0 THEN least(share, engine_total_ns) ELSE share END AS inside
FROM (SELECT * REPLACE (coalesce(share, 0) AS share) FROM as_own))"""


def _shares() -> str:
    def scaled(name: str) -> str:
        return f"CAST(round({name} * squeeze) AS BIGINT)"

    told = "basis IN ('whole', 'inference', 'some')"
    rest = f"greatest(0, inside - {scaled('measured')})"
    later = "CASE WHEN engine_first_ns IS NOT NULL THEN greatest(0, least(inside, engine_first_ns) - coalesce(queue_ns, 0) - coalesce(transfer_ns, 0)) END"
    expressions = {
        "queue": f"CASE WHEN {told} THEN {scaled('queue_ns')} END",
        "prefill": f"CASE WHEN {told} THEN {scaled('prefill_ns')} END",
        "decode": f"CASE WHEN {told} THEN {scaled('decode_ns')} END",
        "network": f"""CASE WHEN {told} AND has_model THEN share - inside + coalesce(transfer_ns, 0)
            WHEN {told} THEN transfer_ns END""",
        "model": f"CASE basis WHEN 'model' THEN share WHEN 'inference' THEN {scaled('inference_ns')} "
        f"WHEN 'some' THEN CASE WHEN engine IN ('triton', 'tgi') AND engine_first_ns IS NULL THEN {rest} END END",
        "before_first_token": f"CASE basis WHEN 'first' THEN before WHEN 'some' THEN {later} END",
        "after_first_token": """CASE basis WHEN 'first' THEN share - before
            WHEN 'some' THEN CASE WHEN engine_first_ns IS NOT NULL AND decode_ns IS NULL THEN greatest(0, inside - engine_first_ns) END END""",
        "unattributed": "CASE WHEN basis = 'nothing' THEN share END",
    }
    return ", ".join(f"{sql} AS {name}" for name, sql in expressions.items()) + ", basis, squeeze"


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0
