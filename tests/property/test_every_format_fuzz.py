"""Good files of every format through the door, mutated: no exception, no hang, and every row accounted for."""

from __future__ import annotations

import gzip
import json
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from ingest.errors import REJECT_REASONS
from ingest.formats.catalog import FORMATS
from ingest.formats.contract import Refusal
from ingest.formats.langfuse import _root_id
from ingest.load import LoadOptions, Receipt, load, load_paths
from ingest.store.database import Store, StoreSettings
from tests.property.test_formats_fuzz import mutated
from tests.property.test_tables_fuzz import BASES
from tests.support.otlp import request, span
from tests.support.readers import DATA

LONGEST_S = 900  # no hundred files of some kilobytes take longer, however loud the machine is
INPUTS_PER_STORE = 100
OF_SPANS = frozenset(
    ("otlp_json", "otlp_protobuf", "jaeger", "zipkin", "tempo", "span_objects", "phoenix", "langfuse", "langsmith")
)
REFUSED = {form.name for form in FORMATS if isinstance(form.reader, Refusal)}
OTLP = [
    request([span("chat", span_id="a", attributes={"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": n})])
    | {"n": n}
    for n in range(4)
]
MADE: dict[str, bytes] = {
    "otlp.jsonl": b"".join(json.dumps(line).encode() + b"\n" for line in OTLP),
    "otlp.json": json.dumps(OTLP, indent=1).encode(),
    "multiround.csv": b"prompt_tokens,generation_tokens,ttft,generation_time,user_id,question_id,launch_time,finish_time\n"
    + b"".join(b"10.0,%d.0,0.5,1.5,%d,1,17948232%02d.5,17948232%02d.5\n" % (n, n, n, n + 2) for n in range(10, 20)),
    **BASES,
}
SAMPLES: dict[str, bytes] = {
    f"{path.parent.name}/{path.name}": path.read_bytes() for path in sorted(DATA.glob("*/*")) if "torn" not in path.name
} | MADE


def reencoded(data: bytes, dice: random.Random) -> bytes:
    """The same text in another encoding, with other line ends, packed, or as it is."""
    kind = dice.randrange(12)
    if kind < 6:
        return data
    if kind == 6:
        return b"\xef\xbb\xbf" + data
    if kind == 7:
        return data.replace(b"\n", b"\r\n")
    if kind == 8:
        return data.replace(b"\n", b"\r")
    if kind == 9:
        return gzip.compress(data, mtime=0)[: dice.randrange(10, 4000)]
    text = data.decode("utf-8", "replace")
    return text.encode("utf-16") if kind == 10 else text.encode("latin-1", "replace").replace(b"?", b"\xe9", 1)


@contextmanager
def limited() -> Iterator[None]:
    """Ends what hangs with an error."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {LONGEST_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(receipt: Receipt, store: Store) -> None:
    """Read = accepted + duplicate + rejected, and the store says the same."""
    assert receipt.read == receipt.accepted + receipt.duplicate + receipt.rejected
    assert sum(receipt.reasons.values()) == receipt.rejected
    assert set(receipt.reasons) <= set(REJECT_REASONS)
    assert len(receipt.rejects) == min(receipt.rejected, 20)
    if receipt.state != "done":
        assert (receipt.state, receipt.read) == ("failed", 0)
        assert receipt.code != "unforeseen", receipt.message
        assert receipt.message
        return
    if (receipt.message or "").startswith("the same bytes"):
        return
    stored = store.rejects(receipt.upload_id)
    assert stored.height == receipt.rejected
    assert all(len(row["head"]) <= 200 and "\x1f" not in row["detail"] for row in stored.to_dicts())
    if receipt.format not in OF_SPANS:
        with store.cursor() as cursor:
            owned = "SELECT count(*) FROM {} WHERE upload_id = ?"
            found = [
                cursor.execute(owned.format(table), [receipt.upload_id]).fetchall()[0][0]
                for table in ("requests", "replica_hours")
            ]
        assert sum(found) == receipt.accepted


def check_whole(receipts: list[Receipt], store: Store) -> None:
    """Spans are as many as were accepted, whoever owns those that were told twice; nothing waits, nothing is doubled."""
    with store.cursor() as cursor:
        told = cursor.execute("SELECT trace_id, span_id FROM spans").fetchall()
        pending = cursor.execute("SELECT count(*) FROM pending_traces").fetchall()[0][0]
        doubled = cursor.execute("SELECT count(*) - count(DISTINCT request_key) FROM requests").fetchall()[0][0]
    assert (pending, doubled) == (0, 0)
    spans = sum(
        span_id != _root_id(trace_id) for trace_id, span_id in told
    )  # one that a reader made is no row of a file
    assert spans == sum(receipt.accepted for receipt in receipts if receipt.format in OF_SPANS)


def run(folder: Path, seed: int, inputs: int) -> None:
    """Damaged files, many in one load: their spans make requests once, which is most of the work."""
    dice = random.Random(seed)
    names = sorted(SAMPLES)
    for start in range(0, inputs, INPUTS_PER_STORE):
        part = folder / str(start)
        part.mkdir()
        contents: dict[str, bytes] = {}
        for number in range(start, min(start + INPUTS_PER_STORE, inputs)):
            name = names[(number + seed * 7) % len(names)]
            contents[f"{number:05}-{Path(name).name}"] = reencoded(mutated(SAMPLES[name], dice), dice)
        for told, data in contents.items():
            (part / told).write_bytes(data)
        with Store.open(settings=StoreSettings(threads=1)) as store:
            try:
                with limited():
                    receipts = load_paths([part / told for told in contents], store, LoadOptions())
            except BaseException as error:
                error.add_note(f"seed {seed}, inputs from {start}, in {part}")
                raise
            for receipt, data in zip(receipts, contents.values(), strict=True):
                try:
                    check(receipt, store)
                except BaseException as error:
                    error.add_note(f"seed {seed}, {receipt.name}: {data[:3000]!r}")
                    raise
            check_whole(receipts, store)


def test_there_is_a_good_file_of_every_format(tmp_path: Path) -> None:
    told = set()
    for name, data in SAMPLES.items():
        path = tmp_path / Path(name).name
        path.write_bytes(data)
        with Store.open(settings=StoreSettings(threads=1)) as store:
            told.add(load(path, store, LoadOptions()).format)
    assert {form.name for form in FORMATS} - REFUSED - told == {"simulator"}  # whose rows are a table's


def test_mutated_files_of_every_format_are_accounted_for(tmp_path: Path) -> None:
    run(tmp_path, seed=3, inputs=40)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(10, 30))
def test_ten_thousand_mutated_files_are_accounted_for(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, inputs=500)
