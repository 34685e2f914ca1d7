"""Lists checkpoint storage into the lake: what is there, what is whole, what went since.

Only names, sizes and times are read, and the first bytes of shards that are too small to be ones.
An unchanged checkpoint adds no row; one that an earlier complete listing of the same root had and
this one has not is deleted as of this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from goodput.contract import quoted, raw_table
from goodput.errors import GoodputError, UsageError
from goodput.lake import Lake
from goodput.sources.artefact import Row
from goodput.sources.checkpoint_layouts import Found, find_checkpoints, small_parts
from goodput.sources.checkpoint_listing import TABLE, checkpoint_row
from goodput.sources.listing_lines import Entry
from goodput.sources.places import Listing, Place, Stored
from goodput.sources.publisher import Publisher
from goodput.texts import counted

LISTS = "checkpoint_lists"
SETTLE = timedelta(seconds=60)
"""A checkpoint written to more recently may still be being written, whatever its layout says."""

_LFS = b"version https://git-lfs.github.com/spec/"
_FATES = ("deleted_at", "returned_at")
_UNSETTLED = "written to just before it was listed: it may still be being written"
_EMPTY = (
    "nothing is there: an empty folder may be a mount that is missing, so it proves no deletion"
)

Key = tuple[str, int | None]


@dataclass(frozen=True)
class TakenCheckpoints:
    """What a run saw.

    Attributes:
        checkpoints: that are there now, in all roots that could be listed.
        rows_added: rows by table that the lake did not have.
        errors: of the roots that could not be listed.
    """

    checkpoints: int
    rows_added: dict[str, int]
    errors: list[GoodputError]


def take_checkpoints(
    lake: Lake,
    roots: Iterable[str],
    *,
    cluster: str,
    now: datetime,
    job: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> TakenCheckpoints:
    """Lists roots and publishes what changed, known from `now` on.

    Args:
        roots: folders, or addresses such as s3://bucket/prefix.
        job: whose checkpoints these are, where their path does not tell.
        say: told one line per root.

    Raises:
        UsageError: an address that cannot be understood, or one with wildcards.
    """
    now = now.replace(microsecond=now.microsecond // 1000 * 1000)
    opened = [_open(root) for root in roots]
    errors: list[GoodputError] = []
    there = 0
    publisher = Publisher(lake, "checkpoints", lambda: now, cluster=cluster)
    with closing(publisher):
        for place in opened:
            try:
                listing = place.listing()
            except GoodputError as error:
                errors.append(error)
                say(str(error))
                continue
            hints = {"cluster": cluster, "file": place.name, **({"job": job} if job else {})}
            rows = _rows(place, listing, hints, now)
            history = _history(lake, cluster, place.name)
            reason = _incompleteness(listing)
            changes = [*_changes(rows, history, now)]
            if reason is None:
                changes += _deletions(rows, history, _bare_folders(listing), now)
            marker = _marker(hints, listing, len(rows), now, reason)
            publisher.take({TABLE: changes, LISTS: [marker]}, place.name)
            there += len(rows)
            say(_sentence(place, rows, changes, reason))
        publisher.flush()
    return TakenCheckpoints(there, publisher.rows_added, errors)


def _open(root: str) -> Place:
    # Runs are compared by the name of the root, so it must not depend on where they start.
    place = Place.open(root if "://" in root else str(Path(root).absolute()))
    if place.pattern:
        raise UsageError(
            f"{place.name} with a pattern is no root: what a pattern leaves out would look deleted;"
            " name the folder above"
        )
    return place


def _rows(
    place: Place, listing: Listing, hints: Mapping[str, str], now: datetime
) -> dict[Key, Row]:
    """The rows of all checkpoints that are there."""
    entries = [
        Entry(stored.name, stored.size, stored.written_at, stored.is_directory, 0)
        for stored in listing.entries
    ]
    by_name = {stored.name: stored for stored in listing.entries}
    rows = (_row(place, found, by_name, hints, now) for found in find_checkpoints(entries))
    return {(row["path"], row["step"]): row for row in rows}


def _row(
    place: Place,
    found: Found,
    by_name: Mapping[str, Stored],
    hints: Mapping[str, str],
    now: datetime,
) -> Row:
    row = {**checkpoint_row(found, hints), "origin_line": None}
    if row["is_complete"]:
        pointer = next(
            (entry for entry in small_parts(found) if _is_pointer(place, by_name[entry.path])), None
        )
        if pointer:
            return {**row, "is_complete": False, "defect": f"{pointer.path} is a Git LFS pointer"}
        if row["last_written_at"] is not None and row["last_written_at"] > now - SETTLE:
            return {**row, "is_complete": None, "defect": _UNSETTLED}
    return row


def _is_pointer(place: Place, stored: Stored) -> bool:
    try:
        return place.read_at(stored, 0, len(_LFS)) == _LFS
    except OSError:  # it went since it was listed, or may not be read: the listing counts
        return False


def _history(lake: Lake, cluster: str, root: str) -> dict[Key, list[Row]]:
    """What earlier runs said about the checkpoints of a root, oldest first."""
    columns = ", ".join(map(quoted, raw_table(TABLE).domain_columns))
    rows = lake.ask(
        TABLE,
        f"select {columns} from raw.{TABLE} where cluster = $cluster and origin = $root"
        " order by ingested_at nulls first, run_id",
        {"cluster": cluster, "root": root},
    )
    history: dict[Key, list[Row]] = {}
    for row in rows:
        history.setdefault((row["path"], row["step"]), []).append(row)
    return history


def _changes(
    rows: Mapping[Key, Row], history: Mapping[Key, Sequence[Row]], now: datetime
) -> Iterator[Row]:
    """Rows of checkpoints that are new or not as the last row says."""
    for key, row in rows.items():
        earlier = history.get(key, ())
        last = earlier[-1] if earlier else None
        is_gone = last is not None and last["deleted_at"] is not None
        if last is not None and _is_crumbling(row, last):
            if not is_gone:
                yield {**last, "deleted_at": now, "returned_at": None}
        elif last is None or is_gone or not _is_same(row, last):
            came_back = any(_is_same(row, other) for other in earlier)
            # The same row again would be no new one: the lake holds each content once.
            yield {**row, "returned_at": now} if came_back else row


def _is_same(row: Row, other: Row) -> bool:
    return all(row.get(name) == value for name, value in other.items() if name not in _FATES)


def _is_crumbling(row: Row, last: Row) -> bool:
    """Whether a whole checkpoint lost files and got none: it is being deleted, not written."""
    if not last["is_complete"] or last["files"] is None:
        return False
    if row["files"] is None:
        return True  # its folder is left, with nothing in it
    return bool(
        row["is_complete"] is False
        and row["files"] < last["files"]
        and row["last_written_at"] <= last["last_written_at"]
    )


def _deletions(
    rows: Mapping[Key, Row],
    history: Mapping[Key, Sequence[Row]],
    bare: set[str],
    now: datetime,
) -> Iterator[Row]:
    for key, earlier in history.items():
        is_gone = key not in rows and earlier[-1]["deleted_at"] is None
        if is_gone and bare.isdisjoint(_above(key[0])):
            yield {**earlier[-1], "deleted_at": now, "returned_at": None}


def _bare_folders(listing: Listing) -> set[str]:
    """Folders with no file below: a mount that is missing below the root looks like that."""
    filled: set[str] = set()
    for entry in listing.entries:
        if not entry.is_directory:
            filled.update(_above(entry.name))
    return {entry.name for entry in listing.entries if entry.is_directory} - filled


def _above(path: str) -> Iterator[str]:
    """The folders that a file or folder lies in."""
    return (path[:end] for end, mark in enumerate(path) if mark == "/")


def _incompleteness(listing: Listing) -> str | None:
    """Why a listing proves no deletion; None if it does."""
    if listing.flaws:
        more = f" and {len(listing.flaws) - 1} more" if len(listing.flaws) > 1 else ""
        return f"{listing.flaws[0]}{more}"
    return None if any(not entry.is_directory for entry in listing.entries) else _EMPTY


def _marker(
    hints: Mapping[str, str], listing: Listing, checkpoints: int, now: datetime, reason: str | None
) -> dict[str, Any]:
    return {
        "cluster": hints["cluster"],
        "root": hints["file"],
        "listed_at": now,
        "is_complete": reason is None,
        "reason": reason,
        "files": sum(not entry.is_directory for entry in listing.entries),
        "checkpoints": checkpoints,
    }


def _sentence(
    place: Place, rows: Mapping[Key, Row], changes: Sequence[Row], reason: str | None
) -> str:
    gone = sum(change.get("deleted_at") is not None for change in changes)
    whole = sum(bool(row["is_complete"]) for row in rows.values())
    text = (
        f"{place.name}: {counted(len(rows), 'checkpoint')}, {whole} whole;"
        f" {len(changes) - gone} new or changed, {gone} deleted"
    )
    return text if reason is None else f"{text}; not complete: {reason}"
