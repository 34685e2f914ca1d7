"""Reads dumped Kubernetes objects and events: JSON, YAML, Lists, watch streams, many in one file.

A document is one List, one object, or one line of JSON lines. Its observation time is the newest
instant inside it: the content decides, so reading a copy of the file again adds no row. That is the
latest time the document proves; the dump may have been made a little later.
"""

from __future__ import annotations

import codecs
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from goodput.sources.artefact import Hints, Row, cluster_of, quarantine_row
from goodput.sources.kube_documents import End, Item, json_documents, yaml_documents
from goodput.sources.kube_fields import (
    Kind,
    Problem,
    Pruner,
    find_kind,
    format_instant,
    parse_instant,
    safe_text,
)

OBJECTS = "kube_objects"
EVENTS = "kube_events"
LISTS = "kube_lists"
QUARANTINE = "quarantine"

_HEAD_BYTES = 64 << 10
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PROMPT = re.compile(rb"\A\s*[$>#%]\s*(?:kubectl|oc)\s[^\n]*\n")
_JSON_HEAD = re.compile(rb'"(apiVersion|creationTimestamp|lastTransitionTime)"\s*:')
_YAML_HEAD = re.compile(rb"^ {0,4}(- )?apiVersion: ?[\w./\"'-]+\s*$", re.MULTILINE)
_FRAGMENT = re.compile(
    rb"(?:#[^\n]*\n|\s*\n)*(?:- )?(?:(?:status|spec|metadata|items|conditions):\s*\n|last\w+Time:)"
)
# A writer's clock may run ahead; a time this far in the future is an error, not an observation.
_NOT_YET = timedelta(days=1)

_WATCH_KEYS = {"type", "object"}
_GET = "dump whole objects with `kubectl get KIND -A -o json`"


def sniff(head: bytes, name: str) -> bool:
    """Whether a file begins like Kubernetes objects in JSON or YAML."""
    del name
    return _looks_like(head) is not None


def _looks_like(head: bytes) -> str | None:
    """Whether a file begins as "json" or "yaml", perhaps below the command that printed it."""
    text = head.removeprefix(codecs.BOM_UTF8)
    if text.startswith(_UTF16):
        text = text[2:].replace(b"\0", b"")
    text = _PROMPT.sub(b"", text, count=1).lstrip()
    if text[:1] in (b"{", b"[") and _JSON_HEAD.search(text):
        return "json"
    return "yaml" if _YAML_HEAD.search(text) or _FRAGMENT.match(text) else None


def read(stream: BinaryIO, hints: Hints) -> dict[str, list[Row]]:
    """Rows of kube_objects, kube_events, kube_lists and quarantine from one dumped file.

    Args:
        stream: the uncompressed bytes.
        hints: `cluster`, `file` and `now` (RFC 3339; instants after it were not observed).
    """
    reader = _Reader(hints)
    for part in _parts(stream):
        if isinstance(part, Item):
            reader.take(part.value, part.line)
        else:
            reader.end(part)
    return reader.finish()


def read_page(
    items: Iterable[Any], kind: str, api_version: str, observed_at: datetime, hints: Hints
) -> dict[str, list[Row]]:
    """Rows of kube_objects, kube_events and quarantine from one page of a live list.

    Args:
        items: objects as the API server gave them; in lists they do not say what they are.
        observed_at: when they were so, by the API server's clock.
        hints: `cluster` and `file`.
    """
    reader = _Reader({**hints, "now": format_instant(observed_at)})
    for item in items:
        reader.take(item, 0, (kind, api_version))
    return reader.observed(observed_at)


def _parts(stream: BinaryIO) -> Iterator[Item | End]:
    head = stream.read(_HEAD_BYTES)
    encoding = "utf-16" if head.startswith(_UTF16) else "utf-8-sig"
    form = _looks_like(head)
    rest = _Joined(_PROMPT.sub(b"", head, count=1), stream)
    text = io.TextIOWrapper(io.BufferedReader(rest), encoding=encoding, errors="replace")
    return json_documents(text) if form == "json" else yaml_documents(text)


class _Joined(io.RawIOBase):
    """The bytes that were looked at, then the rest of the stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(data) :] if self._head else b""
        buffer[: len(data)] = data
        return len(data)


@dataclass(slots=True)
class _Seen:
    """What the objects of one kind in a document have in common."""

    items: int = 0
    namespaces: set[str | None] = field(default_factory=set)
    labels: dict[str, Any] | None = None

    def add(self, namespace: str | None, labels: dict[str, Any]) -> None:
        self.items += 1
        self.namespaces.add(namespace)
        shared = labels if self.labels is None else self.labels
        self.labels = {k: v for k, v in shared.items() if labels.get(k) == v}


class _Reader:
    """Turns the items of a file into rows, document by document."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self._cluster = cluster_of(hints)
        now = parse_instant(hints.get("now")) or datetime.now(UTC)
        self._horizon = now + _NOT_YET
        self._tables: dict[str, list[Row]] = {OBJECTS: [], EVENTS: [], LISTS: [], QUARANTINE: []}
        self._start_document()

    def _start_document(self) -> None:
        self._objects: list[Row] = []
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._unknown: Counter[str] = Counter()
        self._unnamed: list[tuple[Any, int]] = []
        self._newest: datetime | None = None

    def take(self, value: Any, line: int, list_kind: tuple[str, str] = ("", "")) -> None:
        """One item of the current document."""
        deleted = False
        if isinstance(value, dict) and value.keys() == _WATCH_KEYS:
            deleted = value["type"] == "DELETED"
            if value["type"] in ("BOOKMARK", "ERROR"):
                return
            value = value["object"]
        if not isinstance(value, dict):
            self._refuse(line, None, None, str(value), f"no Kubernetes object; {_GET}")
            return
        if isinstance(value.get("items"), list):
            header = (str(value.get("kind")).removesuffix("List"), str(value.get("apiVersion")))
            for entry in value["items"]:
                self.take(entry, line, header)
            return
        kind_name, api_version = _identify(value, list_kind)
        if not kind_name:
            # The kind of its list may stand behind the items.
            self._unnamed.append((value, line))
            return
        kind = find_kind(kind_name, api_version)
        if kind is None:
            self._unknown[f"{kind_name} ({api_version})"] += 1
        elif kind.role == "event":
            self._event(value, kind, line)
        else:
            self._object(value, kind, api_version, line, deleted=deleted)

    def end(self, end: End) -> None:
        """The current document is over: its rows get their observation time."""
        header_kind = str(end.header.get("kind", ""))
        self._name(header_kind, str(end.header.get("apiVersion", "")))
        if end.flaw:
            self._refuse(end.line, OBJECTS, None, None, end.flaw)
        for name, count in sorted(self._unknown.items()):
            reason = f"{count} objects of kind {name} left out: they say nothing about GPU time"
            self._refuse(end.line, OBJECTS, "kind", name, reason)
        metadata = end.header.get("metadata")
        more = isinstance(metadata, dict) and metadata.get("continue")
        if more:
            reason = "only the first page of a list; dump it without --limit or --chunk-size"
            self._refuse(end.line, LISTS, "metadata.continue", str(more), reason)
        if end.is_list and not end.flaw and not more and self._newest:
            version = str(end.header.get("apiVersion", ""))
            self._lists(header_kind, version.rpartition("/")[0])
        for row in self._objects:
            row["observed_at"] = self._newest
        self._tables[OBJECTS] += self._objects
        self._start_document()

    def _name(self, header_kind: str, api_version: str) -> None:
        """Items without a kind of their own are of the kind that their list is named after."""
        kind = header_kind.removesuffix("List")
        unnamed, self._unnamed = self._unnamed, []
        if kind and kind != header_kind:
            for value, line in unnamed:
                self.take(value, line, (kind, api_version))
        elif unnamed:
            value, line = unnamed[0]
            what = f"{len(unnamed)} pieces" if len(unnamed) > 1 else "a piece"
            reason = f"neither kind nor apiVersion, so {what} of an object; {_GET}"
            self._refuse(line, None, "kind", json.dumps(value, default=str), reason)

    def finish(self) -> dict[str, list[Row]]:
        """All rows of the file; objects of documents without any instant get the file's newest."""
        known = [row["observed_at"] for row in self._tables[OBJECTS] if row["observed_at"]]
        newest = max(known, default=None)
        for row in self._tables[OBJECTS]:
            row["observed_at"] = row["observed_at"] or newest
        return self._tables

    def observed(self, at: datetime) -> dict[str, list[Row]]:
        """All rows, their objects observed at a known moment."""
        for row in self._objects:
            row["observed_at"] = at
        # Where on its page an object stands changes from poll to poll; the refusal does not.
        for row in self._tables[QUARANTINE]:
            row["row_number"] = None
        return {**self._tables, OBJECTS: self._objects}

    def _lists(self, header_kind: str, group: str) -> None:
        if header_kind.endswith("List") and header_kind != "List":
            self._seen.setdefault((header_kind.removesuffix("List"), group), _Seen())
        for (kind, api_group), seen in sorted(self._seen.items()):
            self._tables[LISTS].append(
                {
                    "cluster": self._cluster,
                    "kind": kind,
                    "api_group": api_group,
                    "observed_at": self._newest,
                    "items": seen.items,
                    "namespace": next(iter(seen.namespaces)) if len(seen.namespaces) == 1 else None,
                    "labels": json.dumps(seen.labels or {}, sort_keys=True),
                }
            )

    def _object(
        self, value: dict[str, Any], kind: Kind, api_version: str, line: int, *, deleted: bool
    ) -> None:
        pruner = Pruner(self._horizon)
        try:
            body = pruner.prune(value, kind)
        except RecursionError:
            self._refuse(line, OBJECTS, None, None, "the object is nested too deeply")
            return
        metadata = body["metadata"]
        name, uid = metadata.get("name"), metadata.get("uid")
        for path, text, reason in pruner.problems:
            self._refuse(line, OBJECTS, path, text, f"{kind.kind} {name}: {reason}")
        if not isinstance(name, str):
            reason = f"a {kind.kind} without name; {_GET}"
            self._refuse(line, OBJECTS, "metadata.name", None, reason)
            return
        if kind.needs_uid and not isinstance(uid, str):
            reason = f"{kind.kind} {name} has no uid: a manifest, no object of a cluster; {_GET}"
            self._refuse(line, OBJECTS, "metadata.uid", None, reason)
            return
        if kind.role == "node" and "creationTimestamp" not in metadata:
            reason = f"{kind.kind} {name} has no creationTimestamp and cannot be placed in time"
            self._refuse(line, OBJECTS, "metadata.creationTimestamp", None, f"{reason}; {_GET}")
        self._observe(pruner.newest)
        if deleted:
            # The last content of what was deleted is older than the deletion.
            self._observe(pruner.deletion)
        self._note(kind, metadata)
        self._objects.append(
            {
                "cluster": self._cluster,
                "api_version": api_version,
                "kind": kind.kind,
                "namespace": metadata.get("namespace"),
                "name": name,
                "uid": uid,
                "resource_version": safe_text(metadata.get("resourceVersion")),
                **_owner(value),
                "observed_at": None,
                "is_deleted": deleted,
                "body": json.dumps(body, sort_keys=True, separators=(",", ":")),
            }
        )

    def _note(self, kind: Kind, metadata: dict[str, Any]) -> None:
        seen = self._seen.setdefault((kind.kind, kind.api_group), _Seen())
        seen.add(metadata.get("namespace"), metadata.get("labels", {}))

    def _observe(self, instant: datetime | None) -> None:
        if instant:
            self._newest = max(instant, self._newest or instant)

    def _event(self, value: dict[str, Any], kind: Kind, line: int) -> None:
        event = _Event(value)
        uid = event.text("uid", "metadata")
        times = event.times(self._horizon)
        if not uid or not times:
            column = "lastTimestamp" if uid else "metadata.uid"
            reason = f"an event without {'any time' if uid else 'uid'}; {_GET}"
            self._refuse(line, EVENTS, column, event.text("message"), reason)
            return
        count = event.count()
        for path, text, reason in event.problems:
            self._refuse(line, EVENTS, path, text, reason)
        self._observe(times[-1])
        # Events share no labels that a selector could have asked for.
        self._note(kind, {"namespace": event.text("namespace", "metadata")})
        self._tables[EVENTS].append(
            {
                "cluster": self._cluster,
                "uid": uid,
                "namespace": event.text("namespace", "metadata"),
                "name": event.text("name", "metadata"),
                "resource_version": event.text("resourceVersion", "metadata"),
                "type": event.text("type"),
                "reason": event.text("reason"),
                "message": event.text("message") or event.text("note"),
                "count": count,
                "first_at": times[0],
                "last_at": times[-1],
                **event.regarding(),
                "component": event.text("component", "source")
                or event.text("reportingComponent")
                or event.text("reportingController"),
                "host": event.text("host", "source")
                or event.text("host", "deprecatedSource")
                or event.text("reportingInstance"),
            }
        )

    def _refuse(
        self, line: int, table: str | None, column: str | None, value: str | None, reason: str
    ) -> None:
        self._tables[QUARANTINE].append(
            quarantine_row(
                self._hints,
                line,
                safe_text(value, is_prose=True),
                reason,
                table=table or OBJECTS,
                column=column,
            )
        )


_EVENT_TIMES = (
    (None, "firstTimestamp"),
    (None, "deprecatedFirstTimestamp"),
    (None, "eventTime"),
    (None, "lastTimestamp"),
    (None, "deprecatedLastTimestamp"),
    ("series", "lastObservedTime"),
    ("metadata", "creationTimestamp"),
)
_EVENT_COUNTS = ((None, "count"), (None, "deprecatedCount"), ("series", "count"))
_EVENT_PROSE = ("message", "note", "reason")
# As many digits as a bigint surely takes.
_COUNT = re.compile(r"[0-9]{1,18}\Z")


def _path(part: str | None, key: str) -> str:
    return f"{part}.{key}" if part else key


class _Event:
    """One event in either of its two APIs."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value
        self.problems: list[Problem] = []

    def text(self, key: str, part: str | None = None) -> str | None:
        """The text at a key, of the event itself or of a part of it; None where it is empty."""
        value = self._found(key, part)
        if not isinstance(value, str | int) or value == "":
            return None
        return safe_text(value, is_prose=key in _EVENT_PROSE)

    def _found(self, key: str, part: str | None) -> Any:
        within = self._value if part is None else self._value.get(part)
        return within.get(key) if isinstance(within, dict) else None

    def count(self) -> int:
        """How often it happened, by whichever counter is highest; 1 where none counts."""
        highest = 1
        for part, key in _EVENT_COUNTS:
            found = self._found(key, part)
            if found is None:
                continue
            # Exporters write numbers as texts.
            if isinstance(found, bool) or not _COUNT.match(str(found)):
                reason = "no whole number; the field was left out"
                self.problems.append((_path(part, key), str(found), reason))
            else:
                highest = max(highest, int(found))
        return highest

    def times(self, horizon: datetime) -> list[datetime]:
        """All known times of it in order; one beyond the horizon is a wrong clock and left out."""
        found: list[datetime] = []
        for part, key in _EVENT_TIMES:
            value = self._found(key, part)
            try:
                instant = parse_instant(value if isinstance(value, str | int) else None)
            except ValueError:
                reason = "no RFC 3339 time; the field was left out"
                self.problems.append((_path(part, key), str(value), reason))
                continue
            if instant and instant <= horizon:
                found.append(instant)
        return sorted(found)

    def regarding(self) -> Row:
        """The object that it is about."""
        key = "involvedObject" if "involvedObject" in self._value else "regarding"
        return {
            "object_kind": self.text("kind", key),
            "object_namespace": self.text("namespace", key),
            "object_name": self.text("name", key),
            "object_uid": self.text("uid", key),
        }


def _identify(value: dict[str, Any], list_kind: tuple[str, str]) -> tuple[str, str]:
    """Kind and apiVersion: the object's own, its list's, or what its shape gives away."""
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if isinstance(kind, str) and isinstance(api_version, str):
        return kind, api_version
    if list_kind[0]:
        return list_kind
    status, spec = value.get("status"), value.get("spec")
    shapes = {
        "Event": "involvedObject" in value,
        "Node": isinstance(status, dict) and "nodeInfo" in status,
        "Pod": isinstance(spec, dict) and isinstance(spec.get("containers"), list),
    }
    whole = isinstance(value.get("metadata"), dict)
    return next(((name, "v1") for name, fits in shapes.items() if whole and fits), ("", ""))


def _owner(value: dict[str, Any]) -> Row:
    """The controller among the owner references, else the first of them."""
    metadata = value.get("metadata")
    found = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    references = [r for r in found if isinstance(r, dict)] if isinstance(found, list) else []
    references.sort(key=lambda r: r.get("controller") is not True)
    owner = references[0] if references else {}
    return {f"owner_{key}": safe_text(owner.get(key)) for key in ("kind", "name", "uid")}
