"""The way into a cluster, as the official package finds it: address, credentials and trust.

The package is asked in a process of its own (goodput.sources.kube_signin): it would take as much
memory as all objects of a cluster do.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Somebody may have to sign in with a browser.
_PATIENCE_S = 300.0
_under_way: set[subprocess.Popen[bytes]] = set()
_given_up = threading.Event()


class NoAccess(Exception):
    """There is no usable way into a cluster; says why."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Where an API server is, and what it is to take us for.

    Attributes:
        host: its address, without a slash at the end.
        authorization: value of that header; None where a certificate says who asks.
        tls: how its certificate is checked, and ours; None over plain HTTP.
        server_name: name that its certificate must bear, if not that of the address.
        proxy: address of the proxy on the way, if there is one.
    """

    host: str
    authorization: str | None
    tls: ssl.SSLContext | None
    server_name: str | None = None
    proxy: str | None = None


def find_access(kubeconfig: Path | None = None, context: str | None = None) -> ClusterAccess:
    """The cluster of a kubeconfig, or the one that this process runs in.

    As kubectl does: the file given, else those of $KUBECONFIG, else ~/.kube/config; else, in a pod,
    its service account.

    Raises:
        NoAccess: there is neither, or it cannot be used.
    """
    told = _signed_in(str(kubeconfig or ""), context or "")
    if "error" in told:
        raise NoAccess(told["error"])
    host = told["host"].rstrip("/")
    if not host.startswith(("http://", "https://")):
        raise NoAccess(f"the server {host!r} is no http:// or https:// address")
    authorization = told["authorization"]
    if authorization and not (authorization.isascii() and authorization.isprintable()):
        raise NoAccess("the token or password holds characters that no HTTP header can")
    proxy = told["proxy"]
    if proxy and not proxy.startswith(("http://", "https://")):
        raise NoAccess(f"the proxy {proxy.rpartition('@')[2]} is not spoken to over HTTP")
    if bool(told["certificate"]) != bool(told["key"]):
        raise NoAccess("client-certificate and client-key belong together")
    try:
        tls = _tls(told) if host.startswith("https://") else None
    except (ssl.SSLError, ValueError) as error:
        raise NoAccess(f"a certificate or key cannot be used: {error}") from None
    return ClusterAccess(host, authorization, tls, told["server_name"], proxy)


def _signed_in(*words: str) -> dict[str, Any]:
    # -P: not what happens to lie in the current folder.
    command = [sys.executable, "-P", "-m", "goodput.sources.kube_signin", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own program
        _under_way.add(process)
        try:
            if _given_up.is_set():
                process.kill()
            answer, _ = process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise NoAccess(f"nobody signed in within {_PATIENCE_S:g} s") from None
        finally:
            process.kill()
            _under_way.discard(process)
    try:
        told: dict[str, Any] = json.loads(answer)
    except ValueError:
        raise NoAccess(f"signing in ended with {process.returncode}") from None
    return told


@contextmanager
def thread_aside() -> Iterator[ThreadPoolExecutor]:
    """A thread to sign in with; if what is done meanwhile fails, no sign-in is waited for."""
    try:
        with ThreadPoolExecutor(1) as thread:
            try:
                yield thread
            except BaseException:
                _given_up.set()
                for process in tuple(_under_way):
                    process.kill()
                raise
    finally:
        _given_up.clear()


def _tls(told: dict[str, Any]) -> ssl.SSLContext:
    """Trust in an authority, or in the system's; a certificate of our own, and its key."""
    authority = told["authority"]
    # Comments between certificates may be in any language; Python takes ASCII alone.
    plain = None if authority is None else authority.encode("ascii", "ignore").decode()
    tls = ssl.create_default_context(cadata=plain)
    # From Python 3.13 on by default, and more than kubectl asks of the authority of a cluster.
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not told["is_verified"]:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if told["certificate"]:
        # OpenSSL reads files only.
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: Path(folder, name) for name in ("certificate", "key")}
            for name, path in paths.items():
                path.write_bytes(told[name].encode("latin-1"))
            tls.load_cert_chain(str(paths["certificate"]), str(paths["key"]))
    return tls
