"""Tellings of a span that differ: whichever upload goes, the best of the others stands, and no mark outlives its cause."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from ingest.forget import forget
from ingest.load import load
from ingest.store.database import Store, StoreSettings
from ingest.store.span_marks import AGAIN
from tests.support.loads import PLAIN, write
from tests.support.otlp import request, span


def told(output: int, *names: str, **more: object) -> bytes:
    """Spans of one trace, each with that number of output tokens."""
    given = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": output, **more}
    return (
        json.dumps(request([span("chat", span_id=name, kind=3, attributes=given) for name in names])).encode() + b"\n"
    )


FILES = {
    "v": told(1, "a"),
    "w": told(1, "a") + b"\n",  # the same in other bytes
    "u": told(2, "a"),
    "full": told(3, "a", **{"x.more": "y"}),
}


def after(folder: Path, loaded: tuple[str, ...], gone: tuple[str, ...]) -> tuple[pl.DataFrame, int]:
    """Spans that stand, and how many tellings are kept."""
    paths = dict(zip(FILES, write(folder, {f"{name}.jsonl": content for name, content in FILES.items()}), strict=True))
    with Store.open(settings=StoreSettings(threads=1)) as store:
        for name in loaded:
            load(paths[name.rstrip("'")], store, PLAIN, upload_id=name)
        for name in gone:
            forget(store, name)
        kept = store.read("repeats", "told = 'tellings'").height
        return store.read("spans"), kept


@pytest.mark.parametrize(
    ("loaded", "gone", "standing"),
    [
        (("v", "u"), (), (2, "u", 1)),
        (("v", "u"), ("u",), (1, "v", 0)),
        (("v", "u"), ("v",), (2, "u", 0)),
        (("full", "u"), ("full",), (2, "u", 0)),  # the telling that lost at once
        (("v", "w", "u"), ("u",), (1, "w", 1)),  # of tellings as good as each other the latest
        (("v", "w", "u"), ("v", "u"), (1, "w", 0)),  # told alike before there was a conflict
        (("v", "u", "w"), ("w",), (2, "u", 1)),
        (("v", "u", "full"), ("full", "v"), (2, "u", 0)),
        (("v", "u", "v'"), ("v",), (1, "v'", 1)),  # the same bytes came again, later than those of u
    ],
)
def test_the_best_of_the_other_tellings_stands(
    tmp_path: Path, loaded: tuple[str, ...], gone: tuple[str, ...], standing: tuple[int, str, int]
) -> None:
    spans, n_kept = after(tmp_path, loaded, gone)
    assert [*zip(spans["output_tokens"], spans["upload_id"], strict=True)] == [standing[:2]]
    assert n_kept == standing[2]


def test_a_mark_goes_with_its_cause_and_comes_with_it(tmp_path: Path) -> None:
    contents = {"one": told(1, "a", "z"), "two": told(1, "a", "b"), "own": told(1, "c", "c", "d")}
    paths = dict(zip(contents, write(tmp_path, {f"{n}.jsonl": c for n, c in contents.items()}), strict=True))
    with Store.open(settings=StoreSettings(threads=1)) as store:
        for name in ("one", "two"):
            load(paths[name], store, PLAIN, upload_id=name)
        assert store.read("spans", order="span_id")["marks"].to_list() == [AGAIN, 0, 0]
        forget(store, "one")
        assert store.read("spans", order="span_id")["marks"].to_list() == [0, 0]
        load(paths["own"], store, PLAIN, upload_id="own")
        assert store.read("spans", order="span_id")["marks"].to_list() == [0, 0, AGAIN, 0]
        forget(store, "two")
        assert store.read("spans", order="span_id")["marks"].to_list() == [AGAIN, 0]
