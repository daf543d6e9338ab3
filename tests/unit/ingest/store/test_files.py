"""Files as SQL may read them."""

from __future__ import annotations

from pathlib import Path

from ingest.store.database import Store, StoreSettings
from ingest.store.files import reachable
from tests.support.loads import write


def test_files_outside_the_folders_and_patterns_are_linked_into_the_scratch(tmp_path: Path) -> None:
    inside, pattern, outside = write(tmp_path, {"in/a.txt": b"a", "in/b[1].txt": b"b", "out/c.txt": b"c"})
    with Store.open(settings=StoreSettings(folders=(tmp_path / "in",))) as store, store.cursor() as cursor:
        paths = [reachable(store, cursor, path) for path in (inside, pattern, outside)]
        texts = [cursor.execute("SELECT content FROM read_text(?)", [path]).fetchall() for path in paths]
        assert texts == [[("a",)], [("b",)], [("c",)]]
        assert paths[0] == str(inside)
        assert [Path(path).parent == store.scratch.resolve() for path in paths] == [False, True, True]
        assert reachable(store, cursor, outside) == paths[2]
