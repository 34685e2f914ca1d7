"""Servers that are asked over HTTP: who asks, how long, how often."""

from __future__ import annotations

import email.utils
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urljoin

import requests
import stamina
from requests.auth import AuthBase, HTTPBasicAuth

from goodput.errors import GoodputError, SourceUnreachable, UsageError
from goodput.sources.deadline import within

T = TypeVar("T")

_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_MAX_WAIT_S = 300.0


class Transient(Exception):
    """Something that may be over soon; `wait_s` is what the server asked for."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


@dataclass(frozen=True)
class Access:
    """Where a server is and who asks.

    Attributes:
        url: the base, before `api`.
        api: the path of its API.
        option: of the command line, that names it.
        token_file: bearer token, read anew for each request since tokens rotate.
        user: name and password for basic authentication.
        certificate: client certificate and key for mTLS.
        ca: bundle that signs the server; None takes the system's.
        headers: sent with each request, such as X-Scope-OrgID.
        timeout_s: longest silence of the server.
        answer_s: longest time for one answer, however steadily it drips.
        attempts: how often a request is tried.
    """

    url: str
    api: str = "/api/v1"
    option: str = "--url"
    token: str | None = None
    token_file: Path | None = None
    user: tuple[str, str] | None = None
    certificate: tuple[str, str] | None = None
    ca: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 120.0
    answer_s: float = 1800.0
    attempts: int = 5
    first_wait_s: float = 1.0

    @property
    def auth(self) -> AuthBase:
        """Who asks, for each request."""
        return HTTPBasicAuth(*self.user) if self.user else _Bearer(self.token, self.token_file)


def access_from_files(
    *,
    user: str | None = None,
    password_file: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    ca: Path | None = None,
    **more: Any,
) -> Access:
    """The way to a server, for somebody whose secrets lie in files.

    Args:
        more: other fields of `Access`.

    Raises:
        UsageError: options that belong together are not, or the password cannot be read.
    """
    if (user is None) != (password_file is None):
        raise UsageError("--user and --password-file belong together")
    if (cert is None) != (key is None):
        raise UsageError("--cert and --key belong together")
    signed_in = None
    if user is not None and password_file is not None:
        try:
            signed_in = user, password_file.read_text(encoding="utf-8").rstrip("\r\n")
        except OSError as error:
            raise UsageError(f"the password file cannot be read: {error}") from None
    return Access(
        user=signed_in,
        certificate=(str(cert), str(key)) if cert and key else None,
        ca=str(ca) if ca else None,
        **more,
    )


class _Bearer(AuthBase):
    """A bearer token; being an `auth`, no .netrc can replace it."""

    def __init__(self, token: str | None, file: Path | None) -> None:
        self._token = token
        self._file = file

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        token = self._token
        if self._file is not None:
            try:
                token = self._file.read_text(encoding="utf-8").strip()
            except OSError as error:
                raise UsageError(f"the token file cannot be read: {error}") from None
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        return request


class _Session(requests.Session):
    """Waits no longer than an answer may take, and follows redirects only to the same server.

    Our headers say who we are, and the library itself takes no more than Authorization out of what
    goes to another host.
    """

    def __init__(self, access: Access) -> None:
        super().__init__()
        self._access = access

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        send = super().send
        try:
            return within(self._access.answer_s, lambda: send(request, **more))
        except TimeoutError:
            reason = f"no answer began within {self._access.answer_s:g} s"
            raise requests.ReadTimeout(reason) from None

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target is not None and self._leads_away(resp.url, target):
            resp.close()
            raise SourceUnreachable(
                f"{self._access.url} sends us on to another server, {target[:200]!r}, which would"
                f" see our headers; name it with {self._access.option} if you trust it"
            )
        return target

    def _leads_away(self, url: str, target: str) -> bool:
        try:
            return self.should_strip_auth(url, urljoin(url, target))
        except ValueError:
            return True


def open_session(access: Access) -> requests.Session:
    """Connections to a server.

    Raises:
        UsageError: its address is none, or a file that is named is not there.
    """
    if not access.url.startswith(("http://", "https://")):
        raise UsageError(f"{access.option} {access.url!r} is no http:// or https:// address")
    if "@" in access.url:
        raise UsageError(
            f"{access.option} must not hold a password; see --user and --password-file"
        )
    for file in (access.ca, *(access.certificate or ())):
        if file is not None and not Path(file).is_file():
            raise UsageError(f"there is no file {file}; see --ca, --cert and --key")
    session = _Session(access)
    session.cert = access.certificate
    if access.ca:
        session.verify = access.ca
    return session


def patiently(access: Access, ask: Callable[[], T]) -> T:
    """What `ask` returns, asked again while it raises Transient.

    Raises:
        SourceUnreachable: it still does when patience ends.
    """
    wait = access.first_wait_s

    def should_wait(error: Exception) -> bool | float:
        if not isinstance(error, Transient):
            return False
        if error.wait_s is None:
            return True
        return min(error.wait_s, _MAX_WAIT_S) + random.uniform(0, wait)  # noqa: S311

    # Every retry is expected. Where structlog is installed, stamina would print each to stdout.
    stamina.instrumentation.set_on_retry_hooks([])
    try:
        return stamina.retry(
            on=should_wait,
            attempts=access.attempts,
            timeout=None,
            wait_initial=wait,
            wait_max=30 * wait,
            wait_jitter=wait,
        )(ask)()
    except Transient as error:
        raise SourceUnreachable(
            f"{access.url} did not answer after {access.attempts} tries: {error}"
        ) from None


@contextmanager
def in_time(access: Access, response: requests.Response) -> Iterator[None]:
    """Cuts an answer off that is not read to its end after `access.answer_s`."""

    def cut() -> None:
        # It may have come to its end just now.
        with suppress(RuntimeError, ValueError, OSError):
            response.raw.shutdown()

    timer = threading.Timer(access.answer_s, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def lost(access: Access, error: Exception) -> GoodputError | Transient:
    """What a broken connection or answer means."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, requests.exceptions.InvalidSchema | requests.exceptions.InvalidURL):
        return UsageError(f"{access.url} cannot be asked: {text}")
    if isinstance(error, requests.exceptions.SSLError):
        return SourceUnreachable(f"{access.url}: no trusted connection: {text}; see --ca, --cert")
    if unreached := getattr(next(iter(error.args), None), "reason", None):
        # What urllib3 says last is what the system said, as "Connection refused".
        return Transient(f"it cannot be reached: {str(unreached).rpartition(': ')[2]}")
    return Transient(f"its answer cannot be used: {text}")


def refused(
    access: Access, status: int, words: str, response: requests.Response | None = None
) -> GoodputError | Transient:
    """What an answer other than 200 means.

    Args:
        words: what the server said, in one line.
        response: the answer, if it may say when to come again.
    """
    if status in (401, 403):
        return SourceUnreachable(
            f"{access.url} does not let us ask (HTTP {status}): {words}; see --token-file, --user"
        )
    if status in _TRANSIENT:
        return Transient(f"HTTP {status}: {words}", _retry_after(response))
    return SourceUnreachable(
        f"{access.url} answered HTTP {status}: {words}; {access.option} is the part before"
        f" {access.api}"
    )


def _retry_after(response: requests.Response | None) -> float | None:
    """Seconds of a Retry-After header, given as a number or a date."""
    text = response.headers.get("Retry-After", "") if response is not None else ""
    # Other scripts have digits, too, that are no numbers.
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text)
        at = at.replace(tzinfo=at.tzinfo or UTC)
        return max((at - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, OverflowError):
        return None
