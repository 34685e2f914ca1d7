"""Objects of a cluster with secrets in every field that is read of them."""

import tomllib

from goodput._resources import catalog_dir
from goodput.sources.kube_kinds import known_kinds

PASSWORD = "hunter2"
PLANTED = (
    f"https://user:{PASSWORD}@reg/x AWS_SECRET_ACCESS_KEY={PASSWORD} password={PASSWORD}"
    f" https://user:{PASSWORD}@reg/y"
)
# Where what is kept of a text ends, a secret must not begin unrecognised.
AT_THE_CUT = "x" * (1024 - len(f"https://user:{PASSWORD}") - 1) + " " + PLANTED
_IDENTITY = {"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"}
_FIELDS = tomllib.loads((catalog_dir() / "kube_fields.toml").read_text(encoding="utf-8"))
_EVENT = (
    "reason message note type reportingComponent reportingController reportingInstance"
    " source.component source.host deprecatedSource.host involvedObject.kind involvedObject.name"
    " involvedObject.namespace involvedObject.uid count series.count firstTimestamp"
)


def planted_objects(planted):
    """One whole object of each kind that is known; only its identity is what it should be."""
    return [_object(kind, number, planted) for number, kind in enumerate(known_kinds(), start=1)]


def fields_of(kind):
    """The paths that are read of a kind; `[]` walks a list."""
    if kind.role == "event":
        return _EVENT.split()
    return sorted({*_FIELDS["common"], *_FIELDS["role"][kind.role]} - _IDENTITY)


def _object(kind, number, planted):
    found = {
        "apiVersion": f"{kind.api_group}/v1".lstrip("/"),
        "kind": kind.kind,
        "metadata": {
            "name": f"o{number}",
            "namespace": "team",
            "uid": f"uid-{number}",
            "resourceVersion": str(1000 + number),
            "annotations": {
                "note": planted,
                **dict.fromkeys(_FIELDS["annotations"], planted),
            },
            "managedFields": [{"manager": planted}],
            "ownerReferences": [{"kind": planted, "name": planted, "uid": planted}],
        },
    }
    for path in fields_of(kind):
        _put(found, path.split("."), planted)
    if kind.role == "event":
        found["lastTimestamp"] = "2026-03-02T09:30:00Z"
        return found
    found["metadata"]["creationTimestamp"] = "2026-03-02T09:00:00Z"
    found["metadata"]["labels"] = {"a": planted, planted: "a"}
    found.setdefault("status", {})["capacity"] = {"nvidia.com/gpu": planted}
    container = {"name": planted, "args": [planted], "env": [{"name": "A", "value": planted}]}
    found.setdefault("spec", {})["containers"] = [container]
    state = {state: {"message": planted} for state in ("waiting", "terminated")}
    found["status"].setdefault("containerStatuses", []).append({"name": "c", "state": state})
    return found


def _put(within, keys, planted):
    name = keys[0].removesuffix("[]")
    if len(keys) == 1:
        within[name] = planted
    elif keys[0].endswith("[]"):
        [entry] = within.setdefault(name, [{}])
        _put(entry, keys[1:], planted)
    else:
        _put(within.setdefault(name, {}), keys[1:], planted)
