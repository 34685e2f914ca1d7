"""Kubernetes objects and events as rows, of a dump or of a live list.

A dump has documents: one List, one object, or one line of JSON lines each. The observation time of
a document is the newest instant inside it: the content decides, so reading a copy of the file again
adds no row. That is the latest time it proves; the dump may have been made a little later.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from goodput.sources.artefact import Hints, Row, cluster_of, quarantine_row
from goodput.sources.kube_events import UnusableEvent, event_row
from goodput.sources.kube_fields import Pruner
from goodput.sources.kube_kinds import Kind, find_kind
from goodput.sources.kube_values import format_instant, parse_instant, safe_text

if TYPE_CHECKING:
    from goodput.sources.kube_documents import End

OBJECTS = "kube_objects"
EVENTS = "kube_events"
LISTS = "kube_lists"
QUARANTINE = "quarantine"

# A writer's clock may run ahead; a time this far in the future is an error, not an observation.
_NOT_YET = timedelta(days=1)

_WATCH_KEYS = {"type", "object"}
_GET = "dump whole objects with `kubectl get KIND -A -o json`"


def read_page(
    items: Iterable[Any], kind: str, api_version: str, observed_at: datetime, hints: Hints
) -> dict[str, list[Row]]:
    """Rows of kube_objects, kube_events and quarantine from one page of a live list.

    Args:
        items: objects as the API server gave them; in lists they do not say what they are.
        observed_at: when they were so, by the API server's clock.
        hints: `cluster` and `file`.
    """
    reader = ObjectReader({**hints, "now": format_instant(observed_at)})
    for item in items:
        reader.take(item, 0, (kind, api_version))
    return reader.observed(observed_at)


@dataclass(slots=True)
class _Seen:
    """What the objects of one kind in a document have in common."""

    items: int = 0
    namespaces: set[str | None] = field(default_factory=set)
    labels: dict[str, Any] | None = None

    def add(self, namespace: str | None, labels: dict[str, Any]) -> None:
        self.items += 1
        self.namespaces.add(namespace)
        if self.labels is None:
            self.labels = labels
        elif self.labels:
            self.labels = {k: v for k, v in self.labels.items() if labels.get(k) == v}


class ObjectReader:
    """Turns objects into rows, document by document."""

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
        key = kind.kind, kind.api_group
        seen = self._seen.get(key)
        if seen is None:
            seen = self._seen[key] = _Seen()
        namespace = metadata.get("namespace")
        seen.add(namespace if isinstance(namespace, str) else None, metadata.get("labels", {}))

    def _observe(self, instant: datetime | None) -> None:
        if instant:
            self._newest = max(instant, self._newest or instant)

    def _event(self, value: dict[str, Any], kind: Kind, line: int) -> None:
        try:
            row, problems = event_row(value, self._cluster, self._horizon)
        except UnusableEvent as error:
            self._refuse(line, EVENTS, error.column, error.message, f"{error}; {_GET}")
            return
        for path, text, reason in problems:
            self._refuse(line, EVENTS, path, text, reason)
        self._observe(row["last_at"])
        # Events share no labels that a selector could have asked for.
        self._note(kind, {"namespace": row["namespace"]})
        self._tables[EVENTS].append(row)

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
