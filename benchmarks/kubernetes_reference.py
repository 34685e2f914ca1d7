"""Lists events and pods with the typed models of the kubernetes package, in pages of 500."""

from __future__ import annotations

import sys
from typing import Any

from kubernetes import client


def main() -> None:
    """Lists all of them at the address that the command names, and prints how many there were."""
    settings = client.Configuration()
    settings.host = sys.argv[1]
    api = client.CoreV1Api(client.ApiClient(settings))
    count = 0
    for list_page in (api.list_event_for_all_namespaces, api.list_pod_for_all_namespaces):
        token: str | None = None
        while token is None or token:
            page: Any = list_page(limit=500, _continue=token)
            count += len(page.items)
            token = page.metadata._continue or ""  # noqa: SLF001 - the field is called so
    print(count)


if __name__ == "__main__":
    main()
