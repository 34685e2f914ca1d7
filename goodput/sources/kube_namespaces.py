"""Whether the namespaces that a user names are there: a list of one that is not is just empty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from goodput.sources.kube_answers import Refused, Unanswered
from goodput.sources.kubernetes_api import KubernetesApi

_NOT_FOUND = 404

NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
"""What may be a namespace. Anything else, such as a/b or .., would ask for something else."""


def doubtful_namespaces(api: KubernetesApi, names: Iterable[str]) -> Iterator[str]:
    """A sentence for each namespace that does not exist, or that shows no pod.

    An account of some namespaces may often not read the namespaces themselves; then only what lies
    in one can tell that it is there. What does not answer is left to the lists to tell.
    """
    for name in names:
        missing = f"there is no namespace {name!r} in this cluster; check --namespace"
        if not NAME.fullmatch(name):
            yield missing
            continue
        path = f"/api/v1/namespaces/{name}"
        try:
            api.get(path)
        except Refused as refused:
            if refused.status == _NOT_FOUND:
                yield missing
                continue
        except Unanswered:
            return
        try:
            pods = api.get(f"{path}/pods", {"limit": "1"}).body.get("items")
        except Refused:
            continue
        except Unanswered:
            return
        if not pods:
            yield f"the namespace {name!r} shows no pod; if that is odd, check --namespace"
