"""What is kept of a Kubernetes object, and how its values are made uniform.

The allow-list is catalog/kube_fields.toml. Instants become RFC 3339 in UTC with milliseconds, GPU
quantities whole numbers; what cannot be read is dropped and reported.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from goodput._resources import catalog_dir
from goodput.logs.redact import redact

MAX_TEXT = 1024
MAX_GPUS = 16384
"""No node has more, as in sql/00_raw/010_nodes.sql; each is followed on its own."""

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40}))"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?\d{1,2}))?\Z"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z0-9._/-]*\Z")
_PROSE = ("message", "reason")
# No secret is longer, from what tells it to its end.
_REACH = 512
_TIME_KEY = re.compile(r"(Time|Timestamp|At|timeAdded)\Z")
# Go's zero time and the epoch stand for "never" in many writers.
_EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
_LAST_YEAR = 9999
_FOREVER = datetime.max.replace(tzinfo=UTC)
_RESOURCE_MAPS = ("capacity", "allocatable")

Problem = tuple[str, str, str]
"""Where in the object (a path), what stood there, and why it was not taken."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One line of catalog/workload_kinds.csv."""

    kind: str
    api_group: str
    role: str
    needs_uid: bool
    sets_path: str
    count_paths: tuple[str, ...]
    template_path: str


def parse_quantity(value: Any) -> Fraction:
    """The exact number that a Kubernetes quantity stands for, such as "8", "8k", "100m" or "1Gi".

    Raises:
        ValueError: it is no quantity.
    """
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    return _quantity(str(value) if is_text else f"a {type(value).__name__}")


@lru_cache(maxsize=1024)
def _quantity(text: str) -> Fraction:
    match = _QUANTITY.match(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no quantity")
    number = Fraction(match["number"])
    if suffix := match["suffix"]:
        binary = _BINARY.get(suffix)
        return number * (2**binary if binary else Fraction(10) ** _DECIMAL[suffix])
    return number * Fraction(10) ** int(match["exponent"] or 0)


def parse_instant(value: Any) -> datetime | None:
    """An RFC 3339 instant in UTC, to the millisecond; None for null and for zero times.

    Raises:
        ValueError: it is no instant with a zone.
    """
    return None if value is None or value == "" else _instant(str(value))


# Objects that are listed together share many instants.
@lru_cache(maxsize=4096)
def _instant(text: str) -> datetime | None:
    # Year 1 in a zone east of UTC has no UTC time, and it means "never" as well.
    if text.startswith("0001-"):
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no RFC 3339 time") from None
    if instant.tzinfo is None or not 1 < instant.year < _LAST_YEAR:
        raise ValueError(f"{text!r} is no RFC 3339 time with a zone")
    instant = instant.astimezone(UTC)
    if instant < _EARLIEST:
        return None
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def format_instant(instant: datetime) -> str:
    """The instant as it stands in a stored body."""
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clean_text(value: Any) -> str | None:
    """A text that every store takes: no NUL, no lone surrogates, not longer than MAX_TEXT."""
    if value is None:
        return None
    text = str(value)[:MAX_TEXT]
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def safe_text(value: Any, *, is_prose: bool = False) -> str | None:
    """A clean text without secrets, whoever wrote it.

    A name stays as it is, since others refer to it. What holds other characters is none.

    Args:
        is_prose: somebody's words, of which one that looks like a name may be a token.
    """
    if value is None:
        return None
    text = str(value)
    if is_prose or not _NAME.match(text):
        # A cut would part a secret from what tells it, so more is looked at than is kept.
        window = text[: 2 * MAX_TEXT]
        text = redact(window) if window == text else redact(window)[:-_REACH]
    return clean_text(text)


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
        body = self._walk(value, _allowed(kind.role), "")
        metadata = body.setdefault("metadata", {})
        annotations = _mapping(_mapping(value.get("metadata")).get("annotations"))
        if kept := {k: safe_text(annotations[k]) for k in _annotations() if k in annotations}:
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
            if number.denominator != 1 or not 0 <= number <= MAX_GPUS:
                reason = f"no whole number of devices from 0 to {MAX_GPUS}"
                self.problems.append((f"{path}[{name}]", str(value), reason))
                continue
            kept[str(name)] = int(number)
        return kept

    def _pod_sets(self, value: Mapping[str, Any], kind: Kind) -> list[dict[str, Any]]:
        sets: list[dict[str, Any]] = []
        for name, group in _select(value, kind.sets_path):
            count = 1
            for path in kind.count_paths:
                found = _get(group, path)
                count *= found if isinstance(found, int) and 0 <= found < 1 << 20 else 1
            spec = _mapping(_get(group, f"{kind.template_path}.spec"))
            sets.append(
                {
                    "name": safe_text(_mapping(group).get("name", name)),
                    "count": count,
                    "gpu_requests": self.requests(spec, f"{kind.sets_path}.{name}"),
                    "node_selector": self._keep(_mapping(spec.get("nodeSelector")), ""),
                }
            )
        return sets

    def _walk(self, value: Any, allowed: Mapping[str, Any], path: str) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, below in allowed.items():
            name = key.removesuffix("[]")
            if name not in _mapping(value) or value[name] is None:
                continue
            inner = f"{path}.{name}".lstrip(".")
            if not below:
                found = self._leaf(name, value[name], inner)
            elif key.endswith("[]"):
                found = [
                    self._walk(entry, below, f"{inner}[{i}]")
                    for i, entry in enumerate(_listing(value[name]))
                ]
            else:
                found = self._walk(value[name], below, inner)
            if found is not None and found != {}:
                kept[name] = found
        return kept

    def _leaf(self, name: str, value: Any, path: str) -> Any:
        if path == "metadata.labels":
            return {
                safe_text(k): safe_text(v)
                for k, v in _mapping(value).items()
                if not str(k).startswith(_dropped_labels())
            }
        if name in _RESOURCE_MAPS:
            return self._gpus(value, path)
        return self._keep(value, path)

    def _keep(self, value: Any, path: str) -> Any:
        """A value with safe texts and uniform instants."""
        if isinstance(value, dict):
            kept = {safe_text(k): self._keep(v, f"{path}.{k}") for k, v in value.items()}
            return {k: v for k, v in kept.items() if v is not None}
        if isinstance(value, list):
            return [self._keep(v, f"{path}[{i}]") for i, v in enumerate(value)]
        if _TIME_KEY.search(path):
            instant = self.instant(value, path)
            return format_instant(instant) if instant else None
        if isinstance(value, bool) and path.endswith("].status"):
            return str(value)  # a hand-written `status: True`
        if isinstance(value, float):
            return value if abs(value) < float("inf") else None
        is_prose = path.endswith(_PROSE)
        return safe_text(value, is_prose=is_prose) if isinstance(value, str) else value


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


def is_gpu_resource(name: str) -> bool:
    """Whether a resource name counts GPUs or shares of them; catalog/gpu_resources.csv says."""
    exact, prefixes = _gpu_resources()
    return name in exact or name.startswith(prefixes)


def find_kind(kind: str, api_version: str) -> Kind | None:
    """What is known of a kind; None when it says nothing about GPU time."""
    return _kinds().get((kind, api_version.rpartition("/")[0]))


def known_kinds() -> tuple[Kind, ...]:
    """Every kind that says something about GPU time, in the order of the catalogue."""
    return tuple(_kinds().values())


def _rows(name: str) -> list[dict[str, str]]:
    with (catalog_dir() / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@lru_cache(maxsize=1)
def _kinds() -> dict[tuple[str, str], Kind]:
    return {
        (row["kind"], row["api_group"]): Kind(
            kind=row["kind"],
            api_group=row["api_group"],
            role=row["role"],
            needs_uid=row["needs_uid"] == "1",
            sets_path=row["sets_path"],
            count_paths=tuple(filter(None, row["count_paths"].split("*"))),
            template_path=row["template_path"],
        )
        for row in _rows("workload_kinds.csv")
    }


@lru_cache(maxsize=1)
def _gpu_resources() -> tuple[frozenset[str], tuple[str, ...]]:
    names = [row["resource"] for row in _rows("gpu_resources.csv")]
    return frozenset(names), tuple(name for name in names if name.endswith("-"))


@lru_cache(maxsize=1)
def _settings() -> dict[str, Any]:
    return tomllib.loads((catalog_dir() / "kube_fields.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _dropped_labels() -> tuple[str, ...]:
    return tuple(_settings()["drop_label_prefixes"])


@lru_cache(maxsize=1)
def _annotations() -> tuple[str, ...]:
    return tuple(_settings()["annotations"])


@lru_cache(maxsize=32)
def _allowed(role: str) -> dict[str, Any]:
    """The allow-list of a role as a tree; a leaf is an empty dict."""
    paths: Iterable[str] = [*_settings()["common"], *_settings()["role"][role]]
    tree: dict[str, Any] = {}
    for path in paths:
        below = tree
        for key in path.split("."):
            below = below.setdefault(key, {})
    return tree
