"""tailwise ingest: load into a store, and say what became of every line.

Input: paths. Output: receipts; rows in the store or at the server.
"""

from __future__ import annotations

from api.commands.desk import open_desk
from api.commands.options import Reading, with_options
from ingest.errors import ConfigError


@with_options(Reading)
def ingest(reading: Reading) -> None:
    """Load traces into a store, or send them to a server."""
    if not reading.paths:
        raise ConfigError("PATH is missing. Give a file, a directory, a glob or -")
    if not (reading.store or reading.server):
        raise ConfigError("give --store FILE or --server URL: where the requests are to be kept")
    with open_desk(reading) as opened:
        opened.end()
