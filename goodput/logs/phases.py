"""The phases of an attempt that have begun and not ended, and those that another file completes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from goodput.logs.segments import Phase


@dataclass(slots=True)
class OpenPhases:
    """What has begun in one attempt.

    Attributes:
        early_ends: what ended at the beginning of the log and may have begun in the file before it.
    """

    early_ends: dict[str, Phase]
    # When, in which line, and after how many steps each began.
    _begun: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def begin(self, kind: str, at: int | None, line: int, steps: int) -> None:
        """Notes that a phase begins; of several ranks that say so, the first counts."""
        if at is not None and kind not in self._begun:
            self._begun[kind] = (at, line, steps)

    def end(
        self, kind: str, at: int | None, line: int, elapsed_ms: int | None
    ) -> tuple[Phase | None, bool]:
        """The phase that ends, and whether its begin is known: as it was said, or by its length."""
        start, begin_line = self._begun.pop(kind, (None, line, 0))[:2]
        if start is None and elapsed_ms is not None and at is not None:
            start = at - elapsed_ms
        if start is None:
            return None, False
        is_long = at is not None and at > start
        return Phase(kind, start, at, begin_line) if is_long else None, True

    def forget(self, kind: str) -> None:
        """Takes back that a phase began: its end tells how long it took, which is as sure."""
        self._begun.pop(kind, None)

    def note_early_end(self, kind: str, at: int | None, line: int) -> None:
        """Remembers the end of a phase that may have begun in the file before this one."""
        if at is not None and kind not in self.early_ends:
            self.early_ends[kind] = Phase(kind, at, at, line)

    def late_begins(self, steps: int) -> Iterator[Phase]:
        """Phases that may end in the file after this one: no step has come since they began."""
        for kind, (at, line, before) in self._begun.items():
            if before == steps:
                yield Phase(kind, at, None, line)
