"""run.json: whose rate it is, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.paths import find
from ingest.run_file import rate_for, rates
from tests.support.loads import write

RUN = b'{"start": "2026-03-02T11:00:00Z", "hours": 1, "seed": 2, "sampling_rate": %s}'


def test_a_rate_belongs_to_its_folder_and_the_only_one_to_all(tmp_path: Path) -> None:
    files = {
        "a/run.json": RUN % b"0.5",
        "a/x.jsonl": b"",
        "b/run.json": RUN % b"0.25",
        "b/x.jsonl": b"",
        "x.jsonl": b"",
    }
    write(tmp_path, files)
    found = find([tmp_path], tmp_path)
    known = rates(found)
    assert {str(path.relative_to(tmp_path)): rate for path, rate in known.items()} == {
        "a/run.json": 0.5,
        "b/run.json": 0.25,
    }
    assert [rate_for(file, known) for file in found if file.path not in known] == [0.5, 0.25, None]
    only = {path: rate for path, rate in known.items() if path.parent.name == "a"}
    assert [rate_for(file, only) for file in found if file.name.endswith("x.jsonl")] == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"sampling_rate": 0.5}', RUN % b"0", RUN % b"1e-300", RUN % b'"half"', RUN % b"7"]
)
def test_what_states_no_rate_of_a_run_is_none(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, {"run.json": content})
    assert rates(find([tmp_path], tmp_path)) == {}
