"""DuckDB connections with the settings every query here relies on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb


def connect(
    database: str | Path = ":memory:", *, read_only: bool = False
) -> duckdb.DuckDBPyConnection:
    """A connection in UTC that never downloads an extension.

    The session time zone defaults to the host's, which would move naive timestamps; extensions that
    are not built in would be fetched from the network at first use. A database in memory would
    spill into the working directory.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if str(database) == ":memory:":
        config["temp_directory"] = str(Path(tempfile.gettempdir()) / "goodput-duckdb")
    con = duckdb.connect(str(database), read_only=read_only, config=config)
    con.execute("set TimeZone = 'UTC'")
    return con
