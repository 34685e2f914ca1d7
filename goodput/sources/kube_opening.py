"""Opens the API server of a cluster: another process signs in while what talks to it is loaded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from goodput.errors import UsageError
from goodput.sources.kube_access import ClusterAccess, NoAccess, find_access

if TYPE_CHECKING:
    from goodput.sources.kube_patience import Patience
    from goodput.sources.kubernetes_api import KubernetesApi


def open_api(
    kubeconfig: Path | None = None, context: str | None = None, patience: Patience | None = None
) -> KubernetesApi:
    """The cluster that a kubeconfig names, or the one that this process runs in.

    As kubectl does: the file given, else $KUBECONFIG, else ~/.kube/config; else, in a pod, its
    service account.

    Raises:
        UsageError: there is neither, or it cannot be used.
    """

    def sign_in() -> ClusterAccess:
        try:
            return find_access(kubeconfig, context)
        except NoAccess as error:
            raise _no_way(error) from None

    with ThreadPoolExecutor(1) as aside:
        access = aside.submit(sign_in)
        from goodput.sources.kubernetes_api import KubernetesApi

        return KubernetesApi(access.result(), sign_in, patience)


def _no_way(error: NoAccess) -> UsageError:
    from goodput.sources.kube_values import safe_text

    reason = (safe_text(error, is_prose=True) or "").rstrip(".")
    return UsageError(
        f"no way into a cluster: {reason}; name a kubeconfig with --kubeconfig, or run in"
        " a pod that has a service account"
    )
