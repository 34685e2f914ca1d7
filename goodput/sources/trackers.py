"""Event logs of foreign goodput recorders: AI-Hypercomputer resiliency and ml-goodput-measurement.

Rows of `tracker_events`, one an instant, plus `quarantine`. What the events mean for jobs,
attempts, steps and checkpoints is decided in sql/05_observed. Entries may be wrapped as Cloud
Logging exports them (`jsonPayload`), one a line or all in one JSON array.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from typing import Any, BinaryIO

from goodput._resources import catalog_dir
from goodput.sources.artefact import (
    Hints,
    Row,
    bounded_lines,
    cluster_of,
    from_epoch,
    is_binary,
    parse_time,
    quarantine_row,
    zone_of,
)

TABLE = "tracker_events"
RESILIENCY = "resiliency"
ML_GOODPUT = "ml_goodput"
MAX_ARRAY_BYTES = 64 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _BadEntryError(ValueError):
    """An entry that cannot become a row: the column at fault, and a sentence with the remedy."""

    def __init__(self, column: str | None, reason: str) -> None:
        super().__init__(reason)
        self.column = column
        self.reason = reason


@cache
def _catalog() -> dict[str, Any]:
    return tomllib.loads((catalog_dir() / "tracker_events.toml").read_text(encoding="utf-8"))


def sniff(head: bytes, name: str) -> bool:  # noqa: ARG001 -- one signature for all readers
    """Whether the first bytes of a file are entries of one of the recorders."""
    if is_binary(head):
        return False
    text = head.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text.startswith("["):
        text = text[1:].lstrip()
    if not text.startswith("{"):
        return False
    try:
        entry, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and _recorder_of(_unwrap(entry)) is not None


def read(stream: BinaryIO, hints: Hints) -> dict[str, list[Row]]:
    """Reads one file.

    Args:
        stream: the decompressed bytes.
        hints: `job` replaces the job name of every entry, `tz` is the zone of naive times, `gpus`
            the GPUs of one node.
    """
    events: list[Row] = []
    quarantine: list[Row] = []
    job = hints.get("job")
    for line, value in _entries(stream):
        if isinstance(value, dict):
            try:
                events.append(_event(_unwrap(value), job, line, hints))
                # Orbax's statistics may name no job: they belong to the job of the log they are in.
                job = events[-1]["job"]
            except _BadEntryError as bad:
                text = json.dumps(value, default=str)
                quarantine.append(
                    quarantine_row(hints, line, text, bad.reason, table=TABLE, column=bad.column)
                )
        else:
            reason = "is no JSON object; write one recorder entry a line"
            text = value if isinstance(value, str) else json.dumps(value)
            quarantine.append(quarantine_row(hints, line, text, reason, table=TABLE, column=None))
    return {TABLE: events, "quarantine": quarantine}


def _entries(stream: BinaryIO) -> Iterator[tuple[int, Any]]:
    """Numbered JSON values; text that is no JSON comes back as a string."""
    lines = bounded_lines(stream)
    for number, line in lines:
        if line is None:
            yield number, "(a line of more than 1 MiB)"
        elif line.strip(b"\xef\xbb\xbf \t") == b"[" or line.lstrip(b"\xef\xbb\xbf \t")[:2] == b"[{":
            yield from _array(number, chain([(number, line)], lines))
        elif line.strip():
            yield number, _json(line)


def _array(first: int, lines: Iterator[tuple[int, bytes | None]]) -> Iterator[tuple[int, Any]]:
    """The members of an array that spans lines; their number is their place in it."""
    text = bytearray()
    for _, line in lines:
        text += line or b""
        if len(text) > MAX_ARRAY_BYTES:
            yield first, "(an array of more than 64 MiB; write one entry a line)"
            return
    members = _json(bytes(text))
    if isinstance(members, list):
        yield from enumerate(members, first)
    else:
        yield first, members if isinstance(members, str) else text.decode("utf-8", "replace")


def _json(line: bytes) -> Any:
    text = line.decode("utf-8", "replace").lstrip("\ufeff")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _unwrap(entry: dict[str, Any]) -> dict[str, Any]:
    payload = entry.get("jsonPayload")
    return payload if isinstance(payload, dict) else entry


def _recorder_of(entry: dict[str, Any]) -> str | None:
    known = _catalog()
    if "job_name" in entry and entry.get("event_type") in known[RESILIENCY]["events"]:
        return RESILIENCY
    mlg = known[ML_GOODPUT]
    if "job_name" in entry and not mlg["times"].keys().isdisjoint(entry):
        return ML_GOODPUT
    is_checkpoint = any(mlg[kind]["start"] in entry for kind in ("saves", "restores"))
    return ML_GOODPUT if is_checkpoint and "event_type" in entry else None


def _event(entry: dict[str, Any], known_job: str | None, line: int, hints: Hints) -> Row:
    recorder = _recorder_of(entry)
    if recorder is None:
        raise _BadEntryError(
            "event", "is no event that goodput knows; it is left out of the account"
        )
    job = hints.get("job") or entry.get("job_name") or known_job
    if not isinstance(job, str) or not job:
        raise _BadEntryError("job", "names no job; add job_name, or give the job when collecting")
    row = _resiliency(entry, hints) if recorder == RESILIENCY else _ml_goodput(entry)
    row["t_us"] = (row["t"] - _EPOCH) // timedelta(microseconds=1)
    return {
        "cluster": cluster_of(hints),
        "recorder": recorder,
        "job": job,
        "gpus": _gpus_per_node(hints),
        "origin": hints.get("file"),
        "origin_line": line,
        **row,
    }


def _gpus_per_node(hints: Hints) -> int:
    given = hints.get("gpus", "")
    known = re.fullmatch(r"[0-9]{1,4}", given)
    return int(given) if known else int(_catalog()["default_gpus_per_node"])


def _resiliency(entry: dict[str, Any], hints: Hints) -> Row:
    stamp = entry.get("timestamp")
    at = parse_time(stamp, zone_of(hints)) if isinstance(stamp, str) else from_epoch(stamp)
    if at is None:
        raise _BadEntryError("t", "has no timestamp; write ISO 8601 such as 2025-04-02T06:08:24.3")
    step = _whole(entry.get("step"))
    if step is None and entry["event_type"] in _catalog()[RESILIENCY]["with_step"]:
        raise _BadEntryError("step", "has no step number, so it moves no progress; add step")
    return {
        "event": entry["event_type"],
        "t": at,
        "node_rank": _whole(entry.get("node_rank"), below=2**31),
        "step": step,
    }


def _ml_goodput(entry: dict[str, Any]) -> Row:
    mlg = _catalog()[ML_GOODPUT]
    key = next((key for key in entry if key in mlg["times"]), None)
    if key is not None:
        return {
            "event": mlg["times"][key],
            "t": _instant(entry, key),
            "step": _whole(entry.get("step_count")),
            "detail": entry.get("custom_badput_event_type"),
        }
    for kind, event in (("saves", "save"), ("restores", "restore")):
        if entry.get("event_type") in mlg[kind]["event_types"]:
            return {"event": event, **_checkpoint(entry, mlg[kind])}
    raise _BadEntryError("event", f"has an unknown event_type {entry.get('event_type')!r}")


def _checkpoint(entry: dict[str, Any], keys: dict[str, str]) -> Row:
    step = _whole(entry.get("step"))
    duration = entry.get(keys["duration"])
    if step is None:
        raise _BadEntryError("step", "has no step number; a checkpoint without one proves nothing")
    if not isinstance(duration, int | float) or not 0 <= duration < timedelta.max.total_seconds():
        raise _BadEntryError("duration_s", f"has no {keys['duration']} of at least 0 seconds")
    return {
        "t": _instant(entry, keys["start"]),
        "step": step,
        "duration_s": float(duration),
        "waited_until": _waited_until(entry, keys),
        "is_synchronous": entry.get("synchronous"),
        "directory": entry.get("directory"),
        "detail": entry["event_type"],
    }


def _waited_until(entry: dict[str, Any], keys: dict[str, str]) -> datetime | None:
    """When the previous asynchronous save was done: this one had to wait for it."""
    start = from_epoch(entry.get(keys.get("wait_start", "")))
    duration = entry.get(keys.get("wait_duration", ""))
    if start is None or not isinstance(duration, int | float):
        return None
    try:
        return start + timedelta(seconds=duration)
    except (OverflowError, ValueError):
        return None


def _instant(entry: dict[str, Any], key: str) -> datetime:
    at = from_epoch(entry.get(key))
    if at is None:
        raise _BadEntryError("t", f"has no time in {key}; write epoch seconds")
    return at


def _whole(value: Any, below: int = 2**53) -> int | None:
    """A whole number, also where JSON made a float of it; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if -below < value < below else None
