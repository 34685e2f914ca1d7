"""Which kinds of objects a cluster serves, and lists of them, page by page.

A list has one resourceVersion over all of its pages. When the server forgets that version midway it
offers to go on with a newer one; such a list shows no one moment, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from goodput.sources.kube_fields import Kind, known_kinds
from goodput.sources.kubernetes_api import Answer, KubernetesApi, Refused, Unanswered

PAGE_ITEMS = 500

# Owners and boundaries are named by what they own; there can be very many ReplicaSets.
_NOT_LISTED = frozenset({"owner", "boundary"})
# The same events as those of core/v1, in another form.
_EVENTS_AGAIN = "events.k8s.io"
_FORGOTTEN = 410
_ABSENT = 404
_MAX_EXPIRIES = 3


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
        items: the objects, as they came.
        observed_at: when they looked so, by the server's clock.
        listed: objects of this page and those of the list before it.
        is_last: whether the list ends here.
        is_consistent: whether the list so far shows one moment.
        version: the resourceVersion that it shows, from which a watch can go on.
    """

    items: list[Any]
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
    groups = _served_groups(api)
    wanted: dict[str, list[Kind]] = {}
    for kind in listed_kinds():
        wanted.setdefault(kind.api_group, []).append(kind)
    found: list[Resource] = []
    for group, kinds in wanted.items():
        found += _resources_of(api, groups.get(group, ()), kinds, failed)
    return sorted(found, key=lambda resource: resource.kind.role != "event")


def _served_groups(api: KubernetesApi) -> dict[str, tuple[str, ...]]:
    """API versions by group, the preferred one first; the group of core/v1 has no name."""
    served: dict[str, tuple[str, ...]] = {"": ("v1",)}
    for group in listing(api.get("/apis").body.get("groups")):
        versions = [group.get("preferredVersion"), *listing(group.get("versions"))]
        names = [entry["groupVersion"] for entry in versions if entry]
        served[group["name"]] = tuple(dict.fromkeys(names))
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
            entries = listing(api.get(root + version).body.get("resources"))
        except (Refused, Unanswered) as error:
            if error.status != _ABSENT:
                failed(version, error)
            continue
        for entry in entries:
            # "pods/status" is a part of a resource, of the same kind.
            if entry["kind"] in missing and "/" not in entry["name"]:
                kind = missing.pop(entry["kind"])
                yield Resource(kind, version, entry["name"], bool(entry["namespaced"]))


def pages(api: KubernetesApi, path: str, selectors: Mapping[str, str]) -> Iterator[Page]:
    """The pages of one list; the server works on the next one while a page is used.

    A list that expires goes on from where it was with the token that the server offers, or begins
    anew where it offers none; `listed` then begins anew too.

    Raises:
        Refused, Unanswered: the list, or the rest of it, did not come.
    """
    observed_at: datetime | None = None
    is_consistent = True
    listed = expiries = 0
    with ThreadPoolExecutor(1) as ahead:

        def ask(token: str) -> Future[Answer]:
            more = {"continue": token} if token else {}
            return ahead.submit(api.get, path, {**selectors, "limit": str(PAGE_ITEMS), **more})

        token = ""
        coming = ask(token)
        while True:
            try:
                answer = coming.result()
            except Refused as refused:
                expiries += 1
                if refused.status != _FORGOTTEN or not token or expiries > _MAX_EXPIRIES:
                    raise
                token = _metadata(refused.body, "continue")
                observed_at = None
                is_consistent = not token
                listed = listed if token else 0
                coming = ask(token)
                continue
            items = listing(answer.body.get("items"))
            token = _metadata(answer.body, "continue")
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
                version=_metadata(answer.body, "resourceVersion"),
            )
            if not token:
                return


def _metadata(body: Mapping[str, Any], key: str) -> str:
    metadata = body.get("metadata")
    return str(metadata.get(key) or "") if isinstance(metadata, dict) else ""


def listing(value: Any) -> list[Any]:
    """A list of JSON; Go writes an empty one as null."""
    return value if isinstance(value, list) else []
