"""Which kinds of objects a cluster serves, and lists of them, page by page.

A list has one resourceVersion over all of its pages. When the server forgets that version midway it
offers to go on with a newer one; such a list shows no one moment, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from goodput.sources.kube_answers import Answer, Objects, Refused, Unanswered
from goodput.sources.kube_kinds import Kind, known_kinds
from goodput.sources.kubernetes_api import KubernetesApi

PAGE_ITEMS = 500

# Owners and boundaries are named by what they own; there can be very many ReplicaSets.
_NOT_LISTED = frozenset({"owner", "boundary"})
# The same events as those of core/v1, in another form.
_EVENTS_AGAIN = "events.k8s.io"
_FORGOTTEN = 410
_ABSENT = 404
_MAX_EXPIRIES = 3
# A page may be empty where all of its objects were filtered out; so many in a row are no progress.
_MAX_EMPTY_PAGES = 100
# Ten million objects; etcd holds less.
_MAX_PAGES = 20_000
_OK = 200
# What may stand in a path; what else a server calls its resources, nobody can ask for.
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_GROUP_VERSION = re.compile(rf"{_NAME.pattern}/{_NAME.pattern}")


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of objects as this cluster serves it; `plural` is its name in paths."""

    kind: Kind
    api_version: str
    plural: str
    is_namespaced: bool

    def path(self, namespace: str | None = None) -> str:
        """Where its list is; None means all namespaces, if it has any."""
        root = "/apis" if "/" in self.api_version else "/api"
        inside = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}/{self.api_version}{inside}/{self.plural}"


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list.

    Attributes:
        items: the objects, as they came, to be gone through once.
        observed_at: when they looked so, by the server's clock.
        listed: objects of this page and those of the list before it.
        is_last: whether the list ends here.
        is_consistent: whether the list so far shows one moment.
        version: the resourceVersion that it shows, from which a watch can go on.
    """

    items: list[Any] | Objects
    observed_at: datetime
    listed: int
    is_last: bool
    is_consistent: bool
    version: str


Failed = Callable[[str, Exception], None]
"""Told what could not be read (an API group, a kind) and why."""


def listed_kinds() -> list[Kind]:
    """The kinds that are asked for, in the order of the catalogue."""
    return [
        kind
        for kind in known_kinds()
        if kind.role not in _NOT_LISTED and kind.api_group != _EVENTS_AGAIN
    ]


def find_resources(api: KubernetesApi, failed: Failed) -> list[Resource]:
    """The kinds of catalog/workload_kinds.csv that this cluster serves, events first.

    A kind whose API is not installed is simply not there. Events come first as they live shortest.

    Raises:
        Refused, Unanswered: the server does not even say what it serves.
    """
    wanted: dict[str, list[Kind]] = {}
    for kind in listed_kinds():
        wanted.setdefault(kind.api_group, []).append(kind)
    groups = _served_groups(api, wanted, failed)
    found: list[Resource] = []
    for group, kinds in wanted.items():
        found += _resources_of(api, groups.get(group, ()), kinds, failed)
    return sorted(found, key=lambda resource: resource.kind.role != "event")


def _served_groups(
    api: KubernetesApi, wanted: Collection[str], failed: Failed
) -> dict[str, tuple[str, ...]]:
    """API versions by wanted group, the preferred one first; the group of core/v1 has no name."""
    served: dict[str, tuple[str, ...]] = {"": ("v1",)}
    for group in _entries(api.get("/apis").body, "groups"):
        name = _text(group, "name")
        if not name:
            failed("/apis", _unusable("an API group has no name"))
        if name not in wanted or not name:
            continue
        preferred = _mapping(group).get("preferredVersion")
        versions = [preferred, *listing(_mapping(group).get("versions"))]
        found = [_text(entry, "groupVersion") for entry in versions]
        names = [version for version in found if _GROUP_VERSION.fullmatch(version)]
        if not names:
            failed(name, _unusable("the API group has no versions"))
        served[name] = tuple(dict.fromkeys(names))
    return served


def _resources_of(
    api: KubernetesApi, versions: tuple[str, ...], kinds: list[Kind], failed: Failed
) -> Iterator[Resource]:
    """The kinds of one group, each in the first of its versions that has it."""
    missing = {kind.kind: kind for kind in kinds}
    for version in versions:
        if not missing:
            return
        root = "/apis/" if "/" in version else "/api/"
        try:
            entries = _entries(api.get(root + version).body, "resources")
        except (Refused, Unanswered) as error:
            if error.status != _ABSENT:
                failed(version, error)
            continue
        for entry in entries:
            kind, plural = _text(entry, "kind"), _text(entry, "name")
            is_namespaced = _mapping(entry).get("namespaced")
            if not kind or not plural or not isinstance(is_namespaced, bool):
                failed(version, _unusable("a resource has no kind, name or scope"))
            # "pods/status" is a part of a resource, of the same kind.
            elif kind in missing and _NAME.fullmatch(plural):
                yield Resource(missing.pop(kind), version, plural, is_namespaced)


def pages(api: KubernetesApi, path: str, selectors: Mapping[str, str]) -> Iterator[Page]:
    """The pages of one list; the server works on the next one while a page is used.

    A list that expires goes on from where it was with the token that the server offers, or begins
    anew where it offers none; `listed` then begins anew too.

    Raises:
        Refused, Unanswered: the list, or the rest of it, did not come, or what came is no list.
    """
    observed_at: datetime | None = None
    is_consistent = True
    listed = expiries = 0
    progress = _Progress()
    with ThreadPoolExecutor(1) as ahead:

        def ask(token: str) -> Future[Answer]:
            more = {"continue": token} if token else {}
            limited = {**selectors, "limit": str(PAGE_ITEMS), **more}
            return ahead.submit(api.get_list, path, limited)

        token = ""
        coming = ask(token)
        while True:
            try:
                answer = coming.result()
            except Refused as refused:
                expiries += 1
                if refused.status != _FORGOTTEN or not token or expiries > _MAX_EXPIRIES:
                    raise
                token = _text(refused.body.get("metadata"), "continue")
                observed_at = None
                is_consistent = not token
                listed = listed if token else 0
                coming = ask(token)
                continue
            items, token, version = _page(answer.body)
            progress.check(len(items), token)
            if token:
                coming = ask(token)
            # The later pages of a version show the moment of its first one.
            observed_at = observed_at or answer.at
            listed += len(items)
            yield Page(
                items,
                observed_at,
                listed,
                is_last=not token,
                is_consistent=is_consistent,
                version=version,
            )
            if not token:
                return


class _Progress:
    """Watches over the pages of a list, so that it ends even if the server never ends it."""

    def __init__(self) -> None:
        self._tokens: set[str] = set()
        self._pages = 0
        self._empty = 0

    def check(self, items: int, token: str) -> None:
        """Takes note of a page and of the token of the next one.

        Raises:
            Unanswered: there is a next page, and no sign that the list ever ends.
        """
        self._pages += 1
        self._empty = 0 if items else self._empty + 1
        if not token:
            return
        if token in self._tokens:
            raise _unusable("the list does not end: a continue token came twice")
        if self._empty >= _MAX_EMPTY_PAGES or self._pages >= _MAX_PAGES:
            raise _unusable(
                f"the list does not end: {self._pages} pages came, the last {self._empty} empty"
            )
        self._tokens.add(token)


def _page(body: Mapping[str, Any]) -> tuple[list[Any] | Objects, str, str]:
    """Objects, continue token and resourceVersion of a page of a list.

    Raises:
        Unanswered: it is none. A list that only looks empty would declare all objects gone.
    """
    metadata = _mapping(body.get("metadata"))
    version = _text(metadata, "resourceVersion")
    if not version:
        raise _unusable("the answer is no list: it has no metadata.resourceVersion")
    token = metadata.get("continue")
    if token is not None and not isinstance(token, str):
        raise _unusable("the answer is no list: its continue token is no text")
    items = body.get("items")
    return items if isinstance(items, Objects) else _entries(body, "items"), token or "", version


def _entries(body: Mapping[str, Any], key: str) -> list[Any]:
    """The list that an answer holds, which may be null.

    Raises:
        Unanswered: it holds none.
    """
    entries = body.get(key, "")
    if entries is not None and not isinstance(entries, list):
        raise _unusable(f"the answer is no list: it has no {key}")
    return listing(entries)


def _unusable(reason: str) -> Unanswered:
    return Unanswered(reason, _OK)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any, key: str) -> str:
    """The text under a key; empty if there is none."""
    found = _mapping(value).get(key)
    return found if isinstance(found, str) else ""


def listing(value: Any) -> list[Any]:
    """A list of JSON; Go writes an empty one as null."""
    return value if isinstance(value, list) else []
