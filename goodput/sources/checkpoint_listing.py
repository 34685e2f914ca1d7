"""Listings of checkpoint storage, and the small files in which trainers note their progress.

Rows of `checkpoint_files`, one a checkpoint, plus `quarantine`. A listing says which steps were
saved, when, how large, and whether each is whole; whose job that was is decided in sql/05_observed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from types import MappingProxyType
from typing import Any, BinaryIO

from goodput.sources.artefact import (
    Hints,
    Row,
    bounded_lines,
    cluster_of,
    from_epoch,
    is_binary,
    quarantine_row,
    zone_of,
)
from goodput.sources.checkpoint_layouts import Found, defect, find_checkpoints
from goodput.sources.listing_lines import Content, Entry, parse_lines

TABLE = "checkpoint_files"
MAX_NOTE_BYTES = 64 << 20
NO_NOTE: Mapping[str, Any] = MappingProxyType({})
_NOTE_HEAD_BYTES = 4096
_SNIFF_LINES = 400
_SNIFF_SHARE = 0.6
_MAX_REFUSED = 20
_LATEST = "latest_checkpointed_iteration.txt"
_STEP_IN_PATH = re.compile(r"(?:^|[/_.-])(\d{1,18})(?=/|$)")
_REMEDY = (
    "there are no times, so this proves nothing about when; list the checkpoints with "
    "find DIR -printf '%T@ %s %p\\n' or ls -lR --time-style=full-iso"
)


def sniff(head: bytes, name: str) -> bool:
    """Whether the first bytes of a file are a listing with checkpoints, or a trainer's note."""
    if is_binary(head):
        return False
    text = head.decode("utf-8", "replace")
    if _is_note(text, name):
        return True
    numbered = list(enumerate(text.splitlines()[:_SNIFF_LINES], start=1))
    if len(numbered) > 1 and not text.endswith("\n") and len(text) > MIN_HEAD_CHARS:
        numbered.pop()
    parts = list(parse_lines(numbered, zone_of({}), None))
    entries = [part for part in parts if isinstance(part, Entry)]
    refused = sum(isinstance(part, tuple) for part in parts)
    enough = len(entries) >= _SNIFF_SHARE * (len(entries) + refused)
    return bool(entries) and enough and bool(find_checkpoints(entries))


MIN_HEAD_CHARS = 1024
"""A shorter head is the whole file, whose last line counts even without an end of line."""


def _is_note(text: str, name: str) -> bool:
    if name.rsplit("/", 1)[-1] == _LATEST:
        return True
    start = text.lstrip("\ufeff \t\r\n")[:4096]
    if not start.startswith("{"):
        return False
    keys = set(re.findall(r'"(\w+)"\s*:', start))
    return {"global_step", "log_history"} <= keys | _late_keys(
        keys
    ) or "init_timestamp_nsecs" in keys


def _late_keys(keys: set[str]) -> set[str]:
    """A trainer's state names its history after its global step, perhaps beyond the head."""
    return {"log_history"} if "is_world_process_zero" in keys else set()


def read(stream: BinaryIO, hints: Hints) -> dict[str, list[Row]]:
    """Reads one file.

    Args:
        stream: the decompressed bytes.
        hints: `job` whose checkpoints these are, `root` above relative paths, `tz` of times that
            name no zone, `year` of `ls` times that show none.
    """
    head = stream.readline(_NOTE_HEAD_BYTES)
    is_note = head.lstrip(b"\xef\xbb\xbf \t").startswith(b"{")
    if is_note or hints.get("file", "").endswith(_LATEST):
        return _read_note(head + stream.read(MAX_NOTE_BYTES), hints)
    return _read_listing(bounded_lines(stream, head), hints)


def _read_listing(lines: Iterable[tuple[int, bytes | None]], hints: Hints) -> dict[str, list[Row]]:
    refused: list[tuple[int, str]] = []
    year = hints.get("year", "")
    parts = list(
        parse_lines(
            _texts(lines, refused),
            zone_of(hints),
            int(year) if re.fullmatch(r"\d{4}", year) else None,
        )
    )
    refused += [part for part in parts if isinstance(part, tuple)]
    notes = _pasted_notes(part for part in parts if isinstance(part, Content))
    found = find_checkpoints(part for part in parts if isinstance(part, Entry))
    rows = [checkpoint_row(item, hints, notes.get(item.path, {})) for item in found]
    return {TABLE: rows, "quarantine": [*_refusals(refused, rows, hints), *_timeless(rows, hints)]}


def _texts(
    lines: Iterable[tuple[int, bytes | None]], refused: list[tuple[int, str]]
) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        if line is None:
            refused.append((number, "(a line of more than 1 MiB)"))
        elif b"\0" in line:
            refused.append((number, "(binary bytes)"))
        else:
            yield number, line.decode("utf-8", "replace")


def _pasted_notes(contents: Iterable[Content]) -> dict[str, dict[str, Any]]:
    """Orbax metadata whose text was pasted after the listing, by checkpoint path."""
    texts: dict[str, str] = {}
    for content in contents:
        texts[content.path] = texts.get(content.path, "") + content.text
    notes = {}
    for path, text in texts.items():
        value = _json(text)
        if path.endswith("_CHECKPOINT_METADATA") and value is not None:
            notes[path.rpartition("/")[0]] = value
    return notes


def checkpoint_row(found: Found, hints: Hints, note: Mapping[str, Any] = NO_NOTE) -> Row:
    """The row of a checkpoint.

    Args:
        hints: as `read`.
        note: what the checkpoint's own metadata file says, where it is known.
    """
    files = list(found.files.values())
    entries = files or ([found.directory] if found.directory else [])
    times = [entry.written_at for entry in entries if entry.written_at is not None]
    sizes = [entry.size for entry in files if entry.size is not None]
    problem = defect(found) if files or found.is_temporary else None
    started, committed = _from_nanoseconds(note, "init"), _from_nanoseconds(note, "commit")
    first, last = started or min(times, default=None), committed or max(times, default=None)
    return {
        **_provenance(hints, found.line),
        "root": _root(found.path, hints),
        "path": found.path,
        "layout": found.layout.name,
        "step": found.step,
        "files": len(files) if files else None,
        "bytes": sum(sizes) if sizes else None,
        "first_written_at": first,
        "last_written_at": last,
        "committed_at": committed,
        "is_complete": problem is None if files or problem else None,
        "defect": problem,
        "planned_steps": None,
    }


def _provenance(hints: Hints, line: int) -> Row:
    return {
        "cluster": cluster_of(hints),
        "job": hints.get("job"),
        "origin": hints.get("file"),
        "origin_line": line,
    }


def _root(path: str, hints: Hints) -> str | None:
    directory = path.rpartition("/")[0]
    above = hints.get("root", "").rstrip("/")
    if not above or directory.startswith(("/", above)) or "://" in directory:
        return directory or above or None
    return f"{above}/{directory}".rstrip("/")


def _from_nanoseconds(note: Mapping[str, Any], which: str) -> datetime | None:
    value = note.get(f"{which}_timestamp_nsecs")
    return from_epoch(value / 1_000_000_000) if isinstance(value, int | float) and value else None


def _json(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refusals(refused: list[tuple[int, str]], rows: list[Row], hints: Hints) -> Iterator[Row]:
    if not rows:
        reason = (
            "holds no checkpoint that a layout knows; see goodput/catalog/checkpoint_layouts.toml "
            "for the names that count"
        )
        yield quarantine_row(hints, None, None, reason, table=TABLE, column="path")
    for line, text in islice(refused, _MAX_REFUSED):
        reason = "is no line of a listing; it is left out"
        yield quarantine_row(hints, line, text, reason, table=TABLE, column=None)
    if len(refused) > _MAX_REFUSED:
        reason = f"{len(refused) - _MAX_REFUSED} more lines are no lines of a listing"
        yield quarantine_row(hints, None, None, reason, table=TABLE, column=None)


def _timeless(rows: list[Row], hints: Hints) -> Iterator[Row]:
    timeless = [row["step"] for row in rows if row["last_written_at"] is None]
    if steps := sorted(step for step in timeless if step is not None):
        many = f"{len(steps)} checkpoints, steps {steps[0]} to {steps[-1]}"
        value = many if len(steps) > 1 else f"step {steps[0]}"
        yield quarantine_row(hints, None, value, _REMEDY, table=TABLE, column="last_written_at")


def _read_note(data: bytes, hints: Hints) -> dict[str, list[Row]]:
    """One checkpoint from trainer_state.json, _CHECKPOINT_METADATA or Megatron's last iteration."""
    text = data.decode("utf-8", "replace").strip().lstrip("\ufeff")
    path = hints.get("file", "")
    note = _json(text)
    if note is not None and "global_step" in note:
        row = _note_row(path, "hf-trainer", note.get("global_step"), hints)
        row["planned_steps"] = note.get("max_steps") if _is_step(note.get("max_steps")) else None
    elif note is not None and "init_timestamp_nsecs" in note:
        row = _orbax_note(path, note, hints)
    elif text.isdecimal():
        # Megatron writes this number when all ranks are done: what it names is whole.
        row = _note_row(path, "megatron", int(text[:18]), hints)
        row.update(root=row["path"], path=f"{row['path']}/iter_{row['step']:07d}", is_complete=True)
    else:
        reason = "is no whole trainer_state.json, _CHECKPOINT_METADATA or iteration number"
        bad = quarantine_row(hints, 1, text, reason, table=TABLE, column="step")
        return {TABLE: [], "quarantine": [bad]}
    if row["step"] is None and row["layout"] != "orbax":
        bad = quarantine_row(hints, 1, text, "names no step", table=TABLE, column="step")
        return {TABLE: [], "quarantine": [bad]}
    return {TABLE: [row], "quarantine": list(_timeless([row], hints))}


def _is_step(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _note_row(path: str, layout: str, step: Any, hints: Hints) -> Row:
    directory = path.rpartition("/")[0] or path
    return {
        **_provenance(hints, 1),
        "root": _root(directory, hints),
        "path": directory,
        "layout": layout,
        "step": step if _is_step(step) else None,
        "files": None,
        "bytes": None,
        "first_written_at": None,
        "last_written_at": None,
        "committed_at": None,
        "is_complete": None,
        "defect": None,
        "planned_steps": None,
    }


def _orbax_note(path: str, note: dict[str, Any], hints: Hints) -> Row:
    steps = _STEP_IN_PATH.findall(path.rpartition("/")[0])
    row = _note_row(path, "orbax", int(steps[-1]) if steps else None, hints)
    committed = _from_nanoseconds(note, "commit")
    started = _from_nanoseconds(note, "init") or committed
    row.update(first_written_at=started, last_written_at=committed or started)
    row.update(committed_at=committed, is_complete=committed is not None)
    return row
