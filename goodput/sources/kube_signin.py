"""Signs in to a cluster with the `kubernetes` package, in a process of its own.

The package loads 600 modules to read one file: half of what a collector may hold. So it is asked
once, and again when a token has run out; the answer is one JSON object on stdout. What it says of
credentials is neither in arguments nor in the environment. The package puts certificates into
temporary files, which go when the process ends.
"""

from __future__ import annotations

import atexit
import gc
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubernetes import client


class _Noted(logging.Handler):
    """What the package only logs: that a sign-in program failed, before it goes on without."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def sign_in(kubeconfig: str, context: str) -> dict[str, Any]:
    """How to reach the cluster of a kubeconfig, or the one that this process runs in.

    Args:
        kubeconfig: empty means $KUBECONFIG, then ~/.kube/config, then the service account of a pod.
        context: empty means the current one.

    Raises:
        Exception: there is no way in; the package, its YAML and sign-in programs raise anything.
    """
    from kubernetes import client, config

    home = Path.home() / ".kube" / "config"
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    settings = client.Configuration()
    noted = _Noted()
    logging.basicConfig(handlers=[noted], force=True)
    if named or context or home.is_file():
        config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=named or str(home),
            context=context or None,
            client_configuration=settings,
            persist_config=False,
        )
    else:
        config.load_incluster_config(settings)  # type: ignore[no-untyped-call]
    answer = _told(settings)
    if noted.said and answer["authorization"] is None and answer["certificate"] is None:
        raise RuntimeError("; ".join(noted.said))
    return answer


def _told(settings: client.Configuration) -> dict[str, Any]:
    from kubernetes.client.rest import should_bypass_proxies

    schemes: Any = settings.auth_settings()
    headers = [scheme["value"].strip() for scheme in schemes.values()]
    around = should_bypass_proxies(settings.host, no_proxy=settings.no_proxy or "")
    return {
        "host": settings.host,
        "authorization": headers[0] if headers else None,
        "is_verified": bool(settings.verify_ssl),
        "authority": _content(settings.ssl_ca_cert),
        "certificate": _content(settings.cert_file),
        "key": _content(settings.key_file),
        "server_name": settings.tls_server_name,
        "proxy": None if around else settings.proxy,
    }


def _content(path: str | None) -> str | None:
    """The bytes of a file, one character each: certificates may come with comments in any code."""
    return Path(path).read_bytes().decode("latin-1") if path else None


def main() -> None:
    """Answers for a kubeconfig and a context, both of which may be empty."""
    # A sign-in program may talk to whoever sits at stdout, if that is a terminal.
    pipe, sys.stdout = sys.stdout, sys.stderr
    try:
        answer = sign_in(*sys.argv[1:])
    except Exception as error:  # noqa: BLE001 - see sign_in
        answer = {"error": " ".join(str(error).split())}
    try:
        json.dump(answer, pipe)
        pipe.flush()
    except BrokenPipeError:
        # Who asked was ended meanwhile; Python would complain again as it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), pipe.fileno())


if __name__ == "__main__":
    # What ends at once needs no search for cycles, neither while it loads nor at its end: it took
    # a fifth of the time.
    gc.disable()
    atexit.register(gc.freeze)
    main()
