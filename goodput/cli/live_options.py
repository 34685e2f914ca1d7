"""Options that collectors share: whom a server is to take us for, and which part of a cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from goodput.cli.common import Number
from goodput.errors import UsageError

if TYPE_CHECKING:
    from goodput.sources.kube_snapshot import Scope
    from goodput.sources.kubernetes_api import KubernetesApi
    from goodput.sources.web import Access

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks a server over HTTP, as `caller_options` read it."""

    token_file: Path | None
    user: str | None
    password_file: Path | None
    cert: Path | None
    key: Path | None
    ca: Path | None
    headers: tuple[str, ...]
    timeout: float

    def access(self, url: str, api: str = "/api/v1", option: str = "--url") -> Access:
        """The way to a server.

        Args:
            api: the path of its API.
            option: that named `url`.

        Raises:
            UsageError: options that belong together are not.
        """
        from goodput.sources.web import access_from_files

        return access_from_files(
            url=url,
            api=api,
            option=option,
            token_file=self.token_file,
            user=self.user,
            password_file=self.password_file,
            cert=self.cert,
            key=self.key,
            ca=self.ca,
            headers=dict(_header(text) for text in self.headers),
            timeout_s=self.timeout,
        )


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """A cluster and the part of it to look at, as `cluster_options` read it."""

    kubeconfig: Path | None
    kube_context: str | None
    namespaces: tuple[str, ...]
    left_out: tuple[str, ...]
    selector: str

    @property
    def scope(self) -> Scope:
        """The part of the cluster."""
        from goodput.sources.kube_snapshot import Scope

        return Scope(self.namespaces, self.left_out, self.selector)

    def open(self) -> KubernetesApi:
        """The cluster's API server.

        Raises:
            UsageError: there is no way into it.
        """
        from goodput.sources.kube_opening import open_api

        return open_api(self.kubeconfig, self.kube_context)


def caller_options(function: F) -> F:
    """Adds the options of `Caller`, which is passed on as `caller`."""
    return _with_options(
        function,
        "caller",
        Caller,
        click.option("--token-file", type=FILE, help="Bearer token, read anew for each request."),
        click.option("--user", help="Name for basic authentication."),
        click.option("--password-file", type=FILE, help="Its password."),
        click.option("--cert", type=FILE, help="Client certificate (PEM), for mTLS."),
        click.option("--key", type=FILE, help="Key of the client certificate (PEM)."),
        click.option("--ca", type=FILE, help="Certificates that sign the server (PEM)."),
        click.option(
            "--header", "headers", multiple=True, help="Sent along, as 'X-Scope-OrgID: team'."
        ),
        click.option(
            "--timeout",
            type=Number(1, 86_400),
            default=120.0,
            show_default=True,
            help="Longest silence of the server, in seconds.",
        ),
    )


def cluster_options(function: F) -> F:
    """Adds the options of `ClusterPart`, which is passed on as `part`."""
    return _with_options(
        function,
        "part",
        ClusterPart,
        click.option(
            "--kubeconfig",
            type=click.Path(path_type=Path),
            help="File with address and credentials [default: as kubectl; in a pod, its account].",
        ),
        click.option(
            "--context", "kube_context", help="Context of the kubeconfig [default: its own]."
        ),
        click.option("-n", "--namespace", "namespaces", multiple=True, help="Only these."),
        click.option(
            "--exclude-namespace", "left_out", multiple=True, help="Not these namespaces."
        ),
        click.option(
            "--selector", default="", help="Labels of pods and workloads, as kubectl has it."
        ),
    )


def _with_options(function: F, name: str, packed: type[Any], *options: Callable[[F], F]) -> F:
    @functools.wraps(function)
    def pack(*arguments: Any, **given: Any) -> Any:
        values = {field.name: given.pop(field.name) for field in fields(packed)}
        return function(*arguments, **{name: packed(**values)}, **given)

    wrapped = cast("F", pack)
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"--header takes 'Name: value', not {text!r}")
    return name.strip(), value.strip()
