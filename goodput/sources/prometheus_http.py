"""The connection to Prometheus: who asks, how long, how often, and range selectors as a stream."""

from __future__ import annotations

import email.utils
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import requests
import stamina
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from requests.auth import AuthBase, HTTPBasicAuth

from goodput.errors import GoodputError, SourceUnreachable, UsageError
from goodput.sources.prometheus_answer import Answer, BadAnswer, Series, read_series

T = TypeVar("T")

_PIECE = 1 << 18
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_TOO_MUCH = {400, 413, 422}
_TOO_MUCH_WORDS = ("too many", "exceed", "limit", "too large", "out of memory")
_MAX_WAIT_S = 300.0


class TooMuch(Exception):
    """The server refuses to answer about so much at once."""


class _Transient(Exception):
    """Something that may be over soon; `wait_s` is what the server asked for."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


@dataclass(frozen=True)
class Access:
    """Where Prometheus is and who asks.

    Attributes:
        url: the base, before /api/v1.
        token_file: bearer token, read anew for each request since tokens rotate.
        user: name and password for basic authentication.
        certificate: client certificate and key for mTLS.
        ca: bundle that signs the server; None takes the system's.
        headers: sent with each request, such as X-Scope-OrgID.
        timeout_s: longest silence of the server.
        attempts: how often a request is tried.
    """

    url: str
    token: str | None = None
    token_file: Path | None = None
    user: tuple[str, str] | None = None
    certificate: tuple[str, str] | None = None
    ca: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 120.0
    attempts: int = 5
    first_wait_s: float = 1.0


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


class Prometheus:
    """A server that speaks Prometheus' query API: Prometheus, Thanos, Mimir, VictoriaMetrics."""

    def __init__(self, access: Access) -> None:
        if not access.url.startswith(("http://", "https://")):
            raise UsageError(f"--url {access.url!r} is no http:// or https:// address")
        if "@" in access.url:
            raise UsageError("--url must not hold a password; see --user and --password-file")
        for file in (access.ca, *(access.certificate or ())):
            if file is not None and not Path(file).is_file():
                raise UsageError(f"there is no file {file}; see --ca, --cert and --key")
        self._access = access
        self.url = access.url.rstrip("/")
        self._session = requests.Session()
        self._session.cert = access.certificate
        if access.ca:
            self._session.verify = access.ca
        self._auth: AuthBase = (
            HTTPBasicAuth(*access.user) if access.user else _Bearer(access.token, access.token_file)
        )
        # Small questions go through the package. Its ranges would be whole in memory and without
        # their warnings, so those are streamed over the same session.
        self._connect = PrometheusConnect(
            url=self.url,
            headers=dict(access.headers),
            auth=self._auth,
            session=self._session,
            timeout=access.timeout_s,
            retry=0,  # waiting is ours: it also waits for cut answers
        )

    def close(self) -> None:
        """Gives the connection back."""
        self._connect.close()

    def count_series(self, selector: str, at_ms: int) -> int:
        """How many series a selector has at an instant.

        Raises:
            SourceUnreachable: no answer, or not allowed to ask.
        """

        def ask() -> int:
            try:
                rows = self._connect.custom_query(
                    f"count({selector})", params={"time": _seconds(at_ms)}
                )
            except PrometheusApiClientException as error:
                raise self._refused(_status_in(error), str(error).encode()) from None
            except (requests.RequestException, ValueError, KeyError) as error:
                raise self._lost(error) from None
            return int(float(rows[0]["value"][1])) if rows else 0

        try:
            return self._patiently(ask)
        except TooMuch as error:
            raise SourceUnreachable(f"{self.url} refused to count {selector}: {error}") from None

    def read_range(
        self, selector: str, start_ms: int, end_ms: int, take: Callable[[Iterator[Series]], T]
    ) -> tuple[T, Answer]:
        """Streams the raw samples of [start_ms, end_ms) to `take`, which is called once per try.

        A range selector is closed at both ends in Prometheus 2 and open at its start in 3. Asked
        from one millisecond earlier on, both give all samples; what is too early is for the
        caller to leave out.

        Raises:
            TooMuch: the server will not load that many samples.
            SourceUnreachable: it did not answer whole, however often it was asked.
        """
        query = f"{selector}[{end_ms - start_ms}ms]"

        def ask() -> tuple[T, Answer]:
            answer = Answer()
            try:
                with self._post(query, end_ms - 1) as response:
                    if response.status_code != requests.codes.ok:
                        raise self._refused(response.status_code, _body(response), response)
                    series = read_series(response.iter_content(_PIECE), answer)
                    return take(series), answer
            except (requests.RequestException, BadAnswer) as error:
                raise self._lost(error) from None

        return self._patiently(ask)

    def _post(self, query: str, at_ms: int) -> requests.Response:
        # Not compressed: unpacking costs the server and us more than a cluster's network does.
        return self._session.post(
            f"{self.url}/api/v1/query",
            data={"query": query, "time": _seconds(at_ms)},
            headers={**self._access.headers, "Accept-Encoding": "identity"},
            auth=self._auth,
            timeout=(10.0, self._access.timeout_s),
            verify=self._session.verify,
            cert=self._session.cert,
            stream=True,
        )

    def _patiently(self, ask: Callable[[], T]) -> T:
        wait = self._access.first_wait_s

        def should_wait(error: Exception) -> bool | float:
            if not isinstance(error, _Transient):
                return False
            if error.wait_s is None:
                return True
            return min(error.wait_s, _MAX_WAIT_S) + random.uniform(0, wait)  # noqa: S311

        try:
            return stamina.retry(
                on=should_wait,
                attempts=self._access.attempts,
                timeout=None,
                wait_initial=wait,
                wait_max=30 * wait,
                wait_jitter=wait,
            )(ask)()
        except _Transient as error:
            raise SourceUnreachable(
                f"{self.url} did not answer after {self._access.attempts} tries: {error}"
            ) from None

    def _lost(self, error: Exception) -> GoodputError | _Transient:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        if isinstance(error, requests.exceptions.InvalidSchema | requests.exceptions.InvalidURL):
            return UsageError(f"{self.url} cannot be asked: {text}")
        if isinstance(error, requests.exceptions.SSLError):
            return SourceUnreachable(f"{self.url}: no trusted connection: {text}; see --ca, --cert")
        return _Transient(f"its answer cannot be used: {text}")

    def _refused(
        self, status: int, body: bytes, response: requests.Response | None = None
    ) -> Exception:
        words = " ".join(body[:300].decode(errors="replace").split())
        if status in (401, 403):
            return SourceUnreachable(
                f"{self.url} does not let us ask (HTTP {status}): {words}; see --token-file, --user"
            )
        if status in _TOO_MUCH and (
            status != 400 or any(word in words.lower() for word in _TOO_MUCH_WORDS)
        ):
            return TooMuch(f"HTTP {status}: {words}")
        if status in _TRANSIENT:
            return _Transient(f"HTTP {status}: {words}", _retry_after(response))
        return SourceUnreachable(
            f"{self.url} answered HTTP {status}: {words}; --url is the part before /api/v1"
        )


def _body(response: requests.Response) -> bytes:
    return next(response.iter_content(4096), b"")


def _status_in(error: PrometheusApiClientException) -> int:
    """The status in the package's message, which has no field for it."""
    digits = [word for word in str(error).split() if word.isdigit()]
    return int(digits[0]) if digits else 0


def _retry_after(response: requests.Response | None) -> float | None:
    """Seconds of a Retry-After header, given as a number or a date."""
    text = response.headers.get("Retry-After", "") if response is not None else ""
    if text.isdigit():
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at.replace(tzinfo=at.tzinfo or UTC)
    return max((at - datetime.now(UTC)).total_seconds(), 0.0)


def _seconds(at_ms: int) -> str:
    return f"{at_ms // 1000}.{at_ms % 1000:03d}"
