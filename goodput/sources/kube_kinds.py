"""Which kinds of Kubernetes objects say something about GPU time, and what of them is kept.

Read from catalog/workload_kinds.csv, gpu_resources.csv and kube_fields.toml.
"""

from __future__ import annotations

import csv
import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from goodput._resources import catalog_dir

LABELS = "labels"
RESOURCE_MAPS = ("capacity", "allocatable")
"""Fields that are kept otherwise than as they are."""

_TIME_NAME = re.compile(r"(Time|Timestamp|At|timeAdded)\Z")
_PROSE = ("message", "reason")


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


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an allow-list.

    Attributes:
        is_list: the fields below are those of each entry.
        below: what is kept of it; nothing stands for all of it.
        is_time: it holds an instant.
        is_prose: it holds somebody's words.
        is_number: it holds a whole number.
        is_text: it is kept as the text that it is, where it is one.
    """

    name: str
    is_list: bool
    below: tuple[Field, ...]
    is_time: bool
    is_prose: bool
    is_number: bool
    is_text: bool


def holds_time(path: str) -> bool:
    """Whether what a path leads to is an instant, by its name."""
    return _TIME_NAME.search(path) is not None


def holds_prose(path: str) -> bool:
    """Whether what a path leads to is somebody's words, by its name."""
    return path.endswith(_PROSE)


# What a server or a file calls a resource is its own choice: no more than these are remembered.
@lru_cache(maxsize=1024)
def is_gpu_resource(name: str) -> bool:
    """Whether a resource name counts GPUs or shares of them; catalog/gpu_resources.csv says."""
    exact, prefixes = _gpu_resources()
    return name in exact or name.startswith(prefixes)


@lru_cache(maxsize=256)
def find_kind(kind: str, api_version: str) -> Kind | None:
    """What is known of a kind; None when it says nothing about GPU time."""
    return _kinds().get((kind, api_version.rpartition("/")[0]))


def known_kinds() -> tuple[Kind, ...]:
    """Every kind that says something about GPU time, in the order of the catalogue."""
    return tuple(_kinds().values())


@lru_cache(maxsize=1)
def dropped_labels() -> tuple[str, ...]:
    """How the names of labels begin that are not kept."""
    return tuple(_settings()["drop_label_prefixes"])


@lru_cache(maxsize=1)
def kept_annotations() -> tuple[str, ...]:
    """The names of annotations that are kept."""
    return tuple(_settings()["annotations"])


def allowed_paths(role: str) -> list[str]:
    """The allow-list of a role as it stands in the catalogue; events are kept by their columns."""
    roles: dict[str, list[str]] = _settings()["role"]
    return [*_settings()["common"], *roles[role]] if role in roles else []


@lru_cache(maxsize=32)
def allowed_fields(role: str) -> tuple[Field, ...]:
    """The allow-list of a role."""
    tree: dict[str, Any] = {}
    for path in allowed_paths(role):
        below = tree
        for key in path.split("."):
            below = below.setdefault(key, {})
    return _fields(tree, "")


def _fields(tree: dict[str, Any], above: str) -> tuple[Field, ...]:
    numbers, maps = _settings()["numbers"], (LABELS, *RESOURCE_MAPS)
    return tuple(
        Field(
            name,
            is_list=key != name,
            below=_fields(below, f"{above}{key}."),
            is_time=holds_time(name),
            is_prose=holds_prose(name),
            is_number=f"{above}{key}" in numbers,
            is_text=not (below or holds_time(name) or f"{above}{key}" in numbers or name in maps),
        )
        for key, below in tree.items()
        for name in [key.removesuffix("[]")]
    )


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
