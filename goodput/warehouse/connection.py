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


def in_a_sentence(error: duckdb.Error) -> str:
    """What DuckDB says, without the class of the error and the picture of the statement."""
    said = str(error).strip().partition("\n\nLINE ")[0]
    _, found, rest = said.partition(" Error: ")
    first, *hints = [line.strip().rstrip("!.") for line in (rest if found else said).splitlines()]
    first = first.replace(" with name ", " ").replace(" in FROM clause", "")
    for hint in filter(None, hints):
        first += f"; {_within_text(hint)}".replace("candidate bindings:", "there is")
    return _within_text(first)


def _within_text(sentence: str) -> str:
    """Begun small, but for a word in capitals, such as SELECT."""
    word = sentence.partition(" ")[0]
    return sentence if len(word) > 1 and word.isupper() else sentence[:1].lower() + sentence[1:]
