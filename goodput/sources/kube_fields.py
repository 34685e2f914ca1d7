"""Cuts a Kubernetes object down to what is kept of it, in uniform values.

Instants become RFC 3339 in UTC with milliseconds, GPU quantities whole numbers; what cannot be read
is dropped and reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from goodput.sources.kube_kinds import (
    LABELS,
    RESOURCE_MAPS,
    Field,
    Kind,
    allowed_fields,
    dropped_labels,
    holds_prose,
    holds_time,
    is_gpu_resource,
    kept_annotations,
)
from goodput.sources.kube_values import (
    format_instant,
    parse_instant,
    parse_quantity,
    parse_whole,
    safe_text,
)

MAX_GPUS = 16384
"""No node has more, as in sql/00_raw/010_nodes.sql; each is followed on its own."""

_FOREVER = datetime.max.replace(tzinfo=UTC)
_NESTED = (dict, list)
_MAX_REPLICAS = 1 << 20
_LEAST = -(1 << 31)  # exit codes of Windows may be negative

Problem = tuple[str, str, str]
"""Where in the object (a path), what stood there, and why it was not taken."""


@dataclass(slots=True)
class Pruner:
    """Cuts one object down to its allow-list and collects what it could not read.

    Attributes:
        horizon: instants after it come from a wrong clock and prove nothing about `newest`.
        newest: the latest instant met, but for the deletion's.
        deletion: when the object is to be gone, which may be announced ahead.
    """

    horizon: datetime = _FOREVER
    problems: list[Problem] = field(default_factory=list)
    newest: datetime | None = None
    deletion: datetime | None = None

    def prune(self, value: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
        """The object's body as it is stored."""
        body = self._walk(value, allowed_fields(kind.role), "")
        metadata = body.setdefault("metadata", {})
        annotations = _mapping(_mapping(value.get("metadata")).get("annotations"))
        names = [name for name in kept_annotations() if name in annotations]
        if kept := {name: safe_text(annotations[name]) for name in names}:
            metadata["annotations"] = kept
        if kind.role == "pod":
            # Schedulers that hand out parts of GPUs themselves note them in annotations only.
            body["gpu_requests"] = self.requests(value.get("spec"), "spec") or self._gpus(
                annotations, "metadata.annotations"
            )
        elif kind.sets_path:
            body["pod_sets"] = self._pod_sets(value, kind)
        return body

    def instant(self, value: Any, path: str) -> datetime | None:
        """The instant at a path; a bad one is a problem and no instant."""
        try:
            instant = parse_instant(value)
        except ValueError:
            self.problems.append((path, str(value), "no RFC 3339 time; the field was left out"))
            return None
        if instant is None or instant > self.horizon:
            return instant
        if path == "metadata.deletionTimestamp":
            self.deletion = instant
        else:
            self.newest = max(instant, self.newest or instant)
        return instant

    def whole(
        self, value: Any, path: str, least: int = _LEAST, most: int | None = None
    ) -> int | None:
        """The whole number at a path; what is none is a problem and no number."""
        try:
            return parse_whole(value, least, most)
        except ValueError as error:
            self.problems.append((path, str(value), str(error)))
            return None

    def requests(self, pod_spec: Any, path: str) -> dict[str, int]:
        """GPUs that a pod holds: the containers together, or the greediest step of its start."""
        spec = _mapping(pod_spec)
        running = _Sum()
        for index, container in enumerate(_listing(spec.get("containers"))):
            running.add(self._container(container, f"{path}.containers[{index}]"))
        peak = _Sum()
        sidecars = _Sum()
        for index, container in enumerate(_listing(spec.get("initContainers"))):
            wanted = self._container(container, f"{path}.initContainers[{index}]")
            if _mapping(container).get("restartPolicy") == "Always":
                sidecars.add(wanted)
                peak.at_least(sidecars)
            else:
                peak.at_least(_Sum(sidecars).add(wanted))
        return {name: n for name, n in running.add(sidecars).at_least(peak).items() if n}

    def _container(self, container: Any, path: str) -> dict[str, int]:
        resources = _mapping(_mapping(container).get("resources"))
        merged = {**_mapping(resources.get("requests")), **_mapping(resources.get("limits"))}
        return self._gpus(merged, f"{path}.resources")

    def _gpus(self, quantities: Any, path: str) -> dict[str, int]:
        """The GPU resources of a resource list as whole numbers."""
        kept: dict[str, int] = {}
        for name, value in _mapping(quantities).items():
            if not is_gpu_resource(str(name)):
                continue
            try:
                number = parse_quantity(value)
            except ValueError:
                self.problems.append((f"{path}[{name}]", str(value), "no Kubernetes quantity"))
                continue
            if number.denominator != 1 or not 0 <= number.numerator <= MAX_GPUS:
                reason = f"no whole number of devices from 0 to {MAX_GPUS}"
                self.problems.append((f"{path}[{name}]", str(value), reason))
                continue
            kept[str(name)] = number.numerator
        return kept

    def _pod_sets(self, value: Mapping[str, Any], kind: Kind) -> list[dict[str, Any]]:
        sets: list[dict[str, Any]] = []
        for name, group in _select(value, kind.sets_path):
            where = kind.sets_path.replace("[]", f"[{name}]").replace("*", name)
            count = 1
            for path in kind.count_paths:
                if (found := _get(group, path)) is not None:
                    number = self.whole(found, f"{where}.{path}", 0, _MAX_REPLICAS)
                    count *= 1 if number is None else number
            spec = _mapping(_get(group, f"{kind.template_path}.spec"))
            sets.append(
                {
                    "name": safe_text(_mapping(group).get("name", name)),
                    "count": count,
                    "gpu_requests": self.requests(spec, where),
                    "node_selector": self._keep(_mapping(spec.get("nodeSelector")), ""),
                }
            )
        return sets

    def _walk(self, value: Any, fields: tuple[Field, ...], path: str) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        if not isinstance(value, dict):
            return kept
        for part in fields:
            there = value.get(part.name)
            if there is None:
                continue
            if part.is_text and isinstance(there, str):
                kept[part.name] = safe_text(there, is_prose=part.is_prose)
                continue
            inner = f"{path}.{part.name}" if path else part.name
            found: Any
            if not part.below:
                found = self._leaf(part, there, inner)
            elif part.is_list:
                found = [
                    self._walk(entry, part.below, f"{inner}[{i}]")
                    for i, entry in enumerate(_listing(there))
                ]
            else:
                found = self._walk(there, part.below, inner)
            if found is not None and found != {}:
                kept[part.name] = found
        return kept

    def _leaf(self, leaf: Field, value: Any, path: str) -> Any:
        if leaf.name == LABELS:
            left_out = dropped_labels()
            return {
                safe_text(k): safe_text(v)
                for k, v in _mapping(value).items()
                if not str(k).startswith(left_out)
            }
        if leaf.name in RESOURCE_MAPS:
            return self._gpus(value, path)
        if leaf.is_number:
            return self.whole(value, path)
        if isinstance(value, _NESTED):
            return self._keep(value, path)
        return self._scalar(value, path, is_time=leaf.is_time, is_prose=leaf.is_prose)

    def _keep(self, value: Any, path: str) -> Any:
        """A value with safe texts and uniform instants."""
        if isinstance(value, dict):
            kept = {safe_text(k): self._keep(v, f"{path}.{k}") for k, v in value.items()}
            return {k: v for k, v in kept.items() if v is not None}
        if isinstance(value, list):
            return [self._keep(v, f"{path}[{i}]") for i, v in enumerate(value)]
        return self._scalar(value, path, is_time=holds_time(path), is_prose=holds_prose(path))

    def _scalar(self, value: Any, path: str, *, is_time: bool, is_prose: bool) -> Any:
        if is_time:
            instant = self.instant(value, path)
            return format_instant(instant) if instant else None
        if isinstance(value, str):
            return safe_text(value, is_prose=is_prose)
        if isinstance(value, bool) and path.endswith("].status"):
            return str(value)  # a hand-written `status: True`
        if isinstance(value, float):
            return value if abs(value) < float("inf") else None
        return value


class _Sum(dict[str, int]):
    """Counts by resource."""

    def add(self, other: Mapping[str, int]) -> _Sum:
        for name, n in other.items():
            self[name] = self.get(name, 0) + n
        return self

    def at_least(self, other: Mapping[str, int]) -> _Sum:
        for name, n in other.items():
            self[name] = max(self.get(name, 0), n)
        return self


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _listing(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _get(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = _mapping(value).get(key)
    return value


def _select(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The named parts at a path: list elements for `[]`, map values for `*`, else the one value."""
    if path.endswith("[]"):
        for index, entry in enumerate(_listing(_get(value, path[:-2]))):
            yield str(index), entry
    elif path.endswith(".*"):
        yield from _mapping(_get(value, path[:-2])).items()
    elif (found := _get(value, path)) is not None:
        yield path, found
