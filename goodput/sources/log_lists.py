"""What a run saw of each root of logs: rows of raw.log_lists.

A log that did not change leaves no row of its own. That somebody looked at it and found nothing new
is what the listing of its root says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from goodput.logs.redact import redact
from goodput.sources.readings import Reading, Readings

TABLE = "log_lists"

_EMPTY = "nothing is there, which looks the same when a mount is missing"


@dataclass(eq=False)
class LogList:
    """A root of logs in one run; what cannot be seen is filled in while the run goes on.

    Attributes:
        root: folder, file, pattern, address or query, without anything secret.
        files: logs that were found.
        unseen: files and folders that could not be listed or read.
        reasons: why, in the order in which it was found out.
        is_seen: whether anything of the root could be listed.
        is_whole: whether every log below the root is found in each run, and not only its news.
        seen: identities of the logs that were found.
        names: logs that were found whose parts are not looked at one by one.
    """

    root: str
    files: int = 0
    unseen: dict[str, None] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    is_seen: bool = True
    is_whole: bool = False
    seen: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """The name of a root is what rows are joined by: what is secret in it goes at once."""
        self.root = redact(self.root)

    def see(self, log_id: str) -> None:
        """Notes that a log is there."""
        self.seen.add(log_id)

    def see_as(self, other: LogList, name: str, log_id: str | None) -> None:
        """Notes of a file that it was met below another root, which tells what became of it."""
        if log_id in other.seen:
            self.see(log_id)
        elif name in other.unseen:
            self.miss(name, "it could not be read")

    def miss(self, name: str, reason: object) -> None:
        """Notes a file or folder that could not be listed or read."""
        self.unseen[name] = None
        self.reasons.append(f"{name}: {reason}")

    def fail(self, reason: str) -> None:
        """Notes that the root could not be listed at all."""
        self.is_seen = False
        self.reasons.append(reason)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found, and nothing stood in the way."""
        return not self.files and not self.unseen

    def row(self, cluster: str, listed_at: datetime) -> dict[str, Any]:
        """The row of raw.log_lists."""
        if self.is_seen and self.is_empty:
            self.fail(_EMPTY)
        more = f" and {len(self.reasons) - 1} more" if len(self.reasons) > 1 else ""
        return {
            "cluster": cluster,
            "root": self.root,
            "listed_at": listed_at,
            "is_complete": not self.reasons,
            "reason": f"{self.reasons[0]}{more}" if self.reasons else None,
            "files": self.files,
            "unseen": list(self.unseen) if self.is_seen else None,
        }


def lost_logs(lists: Iterable[LogList], readings: Readings, now: datetime) -> list[Reading]:
    """The logs that roots held before and do not any more, as of now.

    A folder that is not mounted is as empty as one whose jobs are over: the build knows which of
    them still run. Two roots may bear one name, on two hosts or where only a secret told them
    apart: a log is gone if none of them has it.
    """
    by_root: dict[str, list[LogList]] = {}
    for listed in lists:
        if listed.is_whole and listed.is_seen and not listed.is_empty:
            by_root.setdefault(listed.root, []).append(listed)
    return [
        replace(reading, gone_at=now, returned_at=None)
        for root, of_root in by_root.items()
        for reading in readings.present_below(root)
        if not any(_tells_of(listed, reading) for listed in of_root)
    ]


def _tells_of(listed: LogList, reading: Reading) -> bool:
    """Whether a listing has a log, or says itself that it could not see it."""
    if reading.log_id in listed.seen:
        return True
    return any(place in listed.names or place in listed.unseen for place in _places(reading.path))


def _places(path: str) -> set[str]:
    """A log, the folders that it lies in, and the log that it may be a part of."""
    return {path, *(path[:end] for end, mark in enumerate(path) if mark in "/.")}
