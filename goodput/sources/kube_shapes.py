"""What of an object is decoded at all: most of a pod is volumes, environment and managed fields.

A shape is a tree of TypedDicts. Decoding into one passes over every other field, four times as
fast, and fails where a part is no object; such an object is then decoded as a whole.
"""

from __future__ import annotations

from functools import lru_cache
from types import GenericAlias
from typing import Any, TypedDict

import msgspec

from goodput.sources.kube_answers import Objects
from goodput.sources.kube_events import READ_OF_EVENTS
from goodput.sources.kube_kinds import Kind, allowed_paths

# The last two tell an object that is not of the kind that its list says.
_READ_OF_ALL = ("metadata.annotations", "metadata.ownerReferences", "kind", "items")
_READ_OF_PODS = tuple(
    f"spec.{containers}[].{field}"
    for containers in ("containers", "initContainers")
    for field in ("resources", "restartPolicy")
)
# Of a type that is made here, a checker of types knows nothing.
_TYPED_DICT: Any = TypedDict
_READ = {"event": READ_OF_EVENTS, "pod": _READ_OF_PODS}


def in_shape(items: list[Any] | Objects, kind: Kind) -> list[Any] | Objects:
    """The objects of a list without what is not read of its kind, as far as that is quick to tell.

    What has pod templates is left whole: these may be anywhere.
    """
    if kind.sets_path or not isinstance(items, Objects):
        return items
    return items.in_shape(_decoder(kind.role))


@lru_cache(maxsize=32)
def _decoder(role: str) -> msgspec.json.Decoder[Any]:
    tree: dict[str, Any] = {}
    for path in (*_READ_OF_ALL, *allowed_paths(role), *_READ.get(role, ())):
        below = tree
        for key in path.split("."):
            below = below.setdefault(key, {})
    return msgspec.json.Decoder(_shape(tree))


def _shape(tree: dict[str, Any]) -> Any:
    if not tree:
        return Any
    fields = {
        key.removesuffix("[]"): GenericAlias(list, _shape(below))
        if key.endswith("[]")
        else _shape(below)
        for key, below in tree.items()
    }
    return _TYPED_DICT("Part", fields, total=False)
