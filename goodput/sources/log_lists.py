"""What a run saw of each root of logs: rows of raw.log_lists.

A log that did not change leaves no row of its own. That somebody looked at it and found nothing new
is what the listing of its root says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from goodput.logs.redact import redact

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
    """

    root: str
    files: int = 0
    unseen: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    is_seen: bool = True

    def __post_init__(self) -> None:
        """The name of a root is what rows are joined by: what is secret in it goes at once."""
        self.root = redact(self.root)

    def miss(self, name: str, reason: object) -> None:
        """Notes a file or folder that could not be listed or read."""
        self.unseen.append(name)
        self.reasons.append(f"{name}: {reason}")

    def fail(self, reason: str) -> None:
        """Notes that the root could not be listed at all."""
        self.is_seen = False
        self.reasons.append(reason)

    def row(self, cluster: str, listed_at: datetime) -> dict[str, Any]:
        """The row of raw.log_lists."""
        if self.is_seen and not self.files and not self.unseen:
            self.fail(_EMPTY)
        more = f" and {len(self.reasons) - 1} more" if len(self.reasons) > 1 else ""
        return {
            "cluster": cluster,
            "root": self.root,
            "listed_at": listed_at.replace(microsecond=listed_at.microsecond // 1000 * 1000),
            "is_complete": not self.reasons,
            "reason": f"{self.reasons[0]}{more}" if self.reasons else None,
            "files": self.files,
            "unseen": self.unseen if self.is_seen else None,
        }
