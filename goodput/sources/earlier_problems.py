"""Problems that a file had earlier and, read again, has no more: rows of raw.quarantine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from goodput.lake import Lake
from goodput.logs.redact import redact
from goodput.sources.artefact import Problem
from goodput.warehouse.rawviews import QUARANTINE

# In words of readers: what follows may be missing, or lie in a quote that is not closed.
_CUT = re.compile(r"\b(?:cut off|damaged|quote|cells where|is not a CSV row)\b")
_KEY = ("file", "row_number", "table_name", "column_name", "value", "reason")

Key = tuple[Any, ...]

_LAST = f"""
    select
        {", ".join(_KEY)},
        cleared_at is not null as is_cleared,
        ingested_from is not distinct from $origin as is_ours
    from raw.{QUARANTINE}
    where cluster = $cluster and ($files is null or list_contains($files, file))
    qualify row_number() over (
        partition by {", ".join(_KEY)}, ingested_from
        order by coalesce(again_at, cleared_at) desc nulls last
    ) = 1
    order by is_ours
"""


class EarlierProblems:
    """What the lake knows to be wrong with the files of one place, and what of it is so again."""

    def __init__(
        self, lake: Lake, cluster: str, origin: str, files: Iterable[str] | None = None
    ) -> None:
        """Asks the lake.

        Args:
            origin: the place, as the rows name it that were read from there.
            files: the names of its files; None stands for all.
        """
        # Another place may have the same problem, and the lake holds each row once: there, ours is
        # not told yet, which is as if it had been cleared.
        self._is_cleared: dict[Key, bool] = {}
        self._again: set[Key] = set()
        self._whole: set[str] = set()
        snapshot = lake.snapshot()
        if QUARANTINE in snapshot.tables:
            names = None if files is None else list(files)
            asked = {"cluster": cluster, "origin": origin, "files": names}
            for row in snapshot.ask(QUARANTINE, _LAST, asked):
                is_open = row["is_ours"] and not row["is_cleared"]
                self._is_cleared[tuple(row[name] for name in _KEY)] = not is_open

    def read(self, file: str) -> None:
        """Notes that a file is read from its start."""
        self._whole.add(file)

    def meet(self, file: str, table: str | None, problems: Iterable[Problem]) -> None:
        """Notes what is wrong with a file this time."""
        for problem in problems if self._is_cleared else ():
            if problem.row_number is None or problem.ends_file or _CUT.search(problem.reason):
                self._whole.discard(file)  # not read to its end: the rest may be as it was
            told = (problem.column, problem.value, problem.reason)
            safe = (None if text is None else redact(text) for text in told)
            key = (file, problem.row_number, table, *safe)
            if key in self._is_cleared:
                self._again.add(key)

    def rows(self, now: datetime) -> list[dict[str, Any]]:
        """The problems that are no more, and those that came back, as of now."""
        rows = []
        for key, is_cleared in self._is_cleared.items():
            if is_cleared and key in self._again:
                rows.append({**dict(zip(_KEY, key, strict=True)), "again_at": now})
            elif not is_cleared and key not in self._again and key[0] in self._whole:
                rows.append({**dict(zip(_KEY, key, strict=True)), "cleared_at": now})
        return rows
