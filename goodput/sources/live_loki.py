"""Logs out of Loki: the streams of a query, each read like a file that rotates.

What a stream is the log of is taken from its labels: the file that the kubelet wrote, else
namespace, pod and container under the names that shippers give them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import groupby

from goodput.errors import GoodputError
from goodput.sources.log_lists import LogList
from goodput.sources.log_parts import PART, SETTLE, Part, newest_parts, part_start
from goodput.sources.loki_http import Entry, Loki
from goodput.sources.one_log import Readable, Tables
from goodput.sources.places import Stored
from goodput.sources.readings import Readings

FIRST_LOOK = 4 * PART
"""How far back the first run of a query looks."""

_NS = 1_000_000_000
_ID_LENGTH = 8
_NAMESPACE = ("namespace", "k8s_namespace_name", "kubernetes_namespace_name")
_POD = ("pod", "k8s_pod_name", "kubernetes_pod_name")
_CONTAINER = ("container", "k8s_container_name", "kubernetes_container_name")
_FILE = ("filename", "file", "log_file_path")
# They differ from line to line of one log.
_OF_LINES = frozenset({"stream", "level", "detected_level", "severity", "severity_text"})
_CRI = re.compile(r"\d{4}-\d\d-\d\dT\S+ std(?:out|err) [FP] ")


class LokiLogs:
    """The logs that a query finds.

    Attributes:
        errors: none; what does not answer ends the run, and the next one takes the rest.
        lists: the query, with the parts that had lines.
        tables: none.
    """

    def __init__(
        self, loki: Loki, query: str, now: datetime, *, start: datetime | None = None
    ) -> None:
        """Nothing is asked for yet.

        Args:
            query: LogQL that gives lines.
            now: what is newer is left to the next run.
            start: begin with the part that this lies in; None goes on where the lake ends.
        """
        self.errors: list[GoodputError] = []
        self.tables: Tables = {}
        self._loki = loki
        self._query = query
        self._now = now
        self._start = start
        # Two queries know nothing of what the other has read.
        self._source = f"loki-{hashlib.sha256(query.encode()).hexdigest()[:_ID_LENGTH]} "
        self.lists = [LogList(f"loki {query}")]

    def logs(self, readings: Readings) -> Iterator[tuple[LogList, Readable, Stored]]:
        """The parts of all streams, oldest first, from the newest one on that was read.

        Raises:
            SourceUnreachable, UsageError: as Loki.entries.
        """
        known = [part.start for part in newest_parts(readings, self._source).values()]
        start = part_start(self._start or max(known, default=self._now - FIRST_LOOK))
        while start < self._now:
            end = min(start + PART, self._now)
            with ExitStack() as opened:
                for name, part in sorted(self._parts(start, end, opened).items()):
                    self.lists[0].files += 1
                    yield self.lists[0], part, part.stored(name, self._now - SETTLE)
            start += PART

    def _parts(self, start: datetime, end: datetime, opened: ExitStack) -> dict[str, Part]:
        """The lines of a span by the log that they belong to."""
        parts: dict[str, Part] = {}
        entries = self._loki.entries(self._query, _nanoseconds(start), _nanoseconds(end))
        for stream, lines in groupby(entries, lambda entry: entry.stream):
            name = f"{self._source}{log_name(json.loads(stream))}"
            if name not in parts:
                parts[name] = Part(start)
                opened.callback(parts[name].close)
            for entry in lines:
                parts[name].add(_line(entry))
        return parts


def log_name(labels: dict[str, str]) -> str:
    """What the log of a stream is called, so that its name says whose it is.

    The labels stand in it as folders, in the order of their names, for --path-pattern.
    """
    file = _first(labels, _FILE)
    if not file.endswith(".log"):
        names = (_first(labels, keys) for keys in (_NAMESPACE, _POD, _CONTAINER))
        file = f"{'_'.join(name or 'unknown' for name in names)}.log"
    folders = [
        f"{name}={_flat(value)}/"
        for name, value in sorted(labels.items())
        if name not in _FILE and name not in _OF_LINES
    ]
    return "".join(folders) + file.lstrip("/")


def _first(labels: dict[str, str], names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")


def _flat(value: str) -> str:
    return value.replace("/", "_")


def _line(entry: Entry) -> bytes:
    """The line as `kubectl logs --timestamps` shows it, or as the container runtime wrote it."""
    if _CRI.match(entry.line):
        return f"{entry.line}\n".encode()
    seconds, rest = divmod(entry.at_ns, _NS)
    clock = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{clock}.{rest:09d}Z {entry.line}\n".encode()


def _nanoseconds(instant: datetime) -> int:
    return round(instant.timestamp() * 1000) * (_NS // 1000)
