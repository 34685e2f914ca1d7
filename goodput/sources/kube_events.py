"""Events of Kubernetes in either of its two APIs, as rows of kube_events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from goodput.sources.artefact import Row
from goodput.sources.kube_fields import Problem
from goodput.sources.kube_values import are_names, parse_instant, parse_whole, safe_text

_TIMES = (
    "firstTimestamp",
    "deprecatedFirstTimestamp",
    "eventTime",
    "lastTimestamp",
    "deprecatedLastTimestamp",
)
_COUNTS = ("count", "deprecatedCount")
# Exporters write numbers as texts, and texts as numbers.
_TEXTS = (str, int)
READ_OF_EVENTS = (
    *(f"metadata.{key}" for key in ("uid", "namespace", "name", "resourceVersion")),
    "metadata.creationTimestamp",
    *("involvedObject", "regarding", "source", "deprecatedSource", "series"),
    *("type", "reason", "message", "note", *_TIMES, *_COUNTS),
    *("reportingComponent", "reportingController", "reportingInstance"),
)
"""All that `event_row` looks at."""

_NOTHING: Mapping[str, Any] = {}


class UnusableEvent(Exception):
    """It says not which event it is, or nothing of when it happened.

    Attributes:
        column: what is missing.
        message: what it said.
    """

    def __init__(self, reason: str, column: str, message: str | None) -> None:
        super().__init__(reason)
        self.column = column
        self.message = message


def event_row(
    value: Mapping[str, Any], cluster: str, horizon: datetime
) -> tuple[Row, list[Problem]]:
    """One event, and what of it could not be read.

    Args:
        cluster: where it happened.
        horizon: times after it are of a wrong clock and left out.

    Raises:
        UnusableEvent: it has no uid, or no time.
    """
    metadata, source = _part(value, "metadata"), _part(value, "source")
    about = _part(value, "involvedObject" if "involvedObject" in value else "regarding")
    problems: list[Problem] = []
    times = _times(value, metadata, horizon, problems)
    message = _prose(value, "message")
    words = _words(
        metadata.get("uid"),
        metadata.get("namespace"),
        metadata.get("name"),
        metadata.get("resourceVersion"),
        value.get("type"),
        about.get("kind"),
        about.get("namespace"),
        about.get("name"),
        about.get("uid"),
        source.get("component"),
        value.get("reportingComponent"),
        value.get("reportingController"),
        source.get("host"),
        _part(value, "deprecatedSource").get("host"),
        value.get("reportingInstance"),
    )
    uid, namespace, name, version, kind = words[:5]
    if not uid or not times:
        what, column = ("any time", "lastTimestamp") if uid else ("uid", "metadata.uid")
        raise UnusableEvent(f"an event without {what}", column, message)
    row = {
        "cluster": cluster,
        "uid": uid,
        "namespace": namespace,
        "name": name,
        "resource_version": version,
        "type": kind,
        "reason": _prose(value, "reason"),
        "message": message or _prose(value, "note"),
        "count": _count(value, problems),
        "first_at": min(times),
        "last_at": max(times),
        "object_kind": words[5],
        "object_namespace": words[6],
        "object_name": words[7],
        "object_uid": words[8],
        "component": words[9] or words[10] or words[11],
        "host": words[12] or words[13] or words[14],
    }
    return row, problems


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else _NOTHING


def _words(*values: Any) -> list[str | None]:
    """Some texts as they are stored; None where there is none.

    Nearly always all of them are names, and found to be so in one go.
    """
    if are_names(values):
        return [value or None for value in values]
    return [
        safe_text(value) if isinstance(value, _TEXTS) and value != "" else None for value in values
    ]


def _prose(value: Mapping[str, Any], key: str) -> str | None:
    found = value.get(key)
    return safe_text(found, is_prose=True) if isinstance(found, _TEXTS) and found != "" else None


def _times(
    value: Mapping[str, Any],
    metadata: Mapping[str, Any],
    horizon: datetime,
    problems: list[Problem],
) -> list[datetime]:
    """All times it names."""
    found = [(key, value[key]) for key in _TIMES if key in value]
    found.append(("series.lastObservedTime", _part(value, "series").get("lastObservedTime")))
    found.append(("metadata.creationTimestamp", metadata.get("creationTimestamp")))
    times: list[datetime] = []
    for path, text in found:
        if text is None or not isinstance(text, _TEXTS):
            continue
        try:
            instant = parse_instant(text)
        except ValueError:
            problems.append((path, str(text), "no RFC 3339 time; the field was left out"))
            continue
        if instant and instant <= horizon:
            times.append(instant)
    return times


def _count(value: Mapping[str, Any], problems: list[Problem]) -> int:
    """How often it happened, by whichever counter is highest; 1 where none counts."""
    found = [(key, value[key]) for key in _COUNTS if key in value]
    found.append(("series.count", _part(value, "series").get("count")))
    highest = 1
    for path, number in found:
        if number is None:
            continue
        try:
            highest = max(highest, parse_whole(number))
        except ValueError as error:
            problems.append((path, str(number), str(error)))
    return highest
