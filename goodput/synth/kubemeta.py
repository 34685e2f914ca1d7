"""What all simulated Kubernetes objects share: their life, metadata, conditions and owners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from goodput.synth.files import rfc3339

Object = dict[str, Any]


@dataclass(frozen=True)
class Timeline:
    """An object over time: when it changed, what it was then, and from when it is gone."""

    kind: str
    changes: tuple[int, ...]
    build: Callable[[int], Object]
    created: int
    removed: int | None


def version(t: int, start: int) -> str:
    """A resourceVersion that grows with time."""
    return str(1_000_000 + (t - start) * 16)


def meta(name: str, uid: str, created: int, at: int, namespace: str = "", **more: Any) -> Object:
    """Object metadata; `resourceVersion` follows the instant of the last change."""
    base: Object = {"name": name, "uid": uid, "creationTimestamp": rfc3339(created)}
    if namespace:
        base["namespace"] = namespace
    base["resourceVersion"] = version(at, created)
    return base | more


def owner_reference(api: str, kind: str, name: str, uid: str) -> Object:
    """An entry of ownerReferences: the controller that made an object."""
    return {
        "apiVersion": api,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def condition(kind: str, status: str, at: int, reason: str = "", message: str = "") -> Object:
    """An entry of status.conditions."""
    row: Object = {"type": kind, "status": status, "lastTransitionTime": rfc3339(at)}
    if reason:
        row["reason"] = reason
    if message:
        row["message"] = message
    return row
