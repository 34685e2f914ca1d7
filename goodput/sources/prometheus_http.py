"""The connection to Prometheus: who asks, how long, how often, and range selectors as a stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException

from goodput.errors import SourceUnreachable
from goodput.sources.prometheus_answer import Answer, BadAnswer, Series, read_series
from goodput.sources.web import Access, in_time, lost, open_session, patiently, refused

T = TypeVar("T")

_PIECE = 1 << 18
_MAX_COUNT = 1 << 53
_TOO_MUCH = {400, 413, 422}
_TOO_MUCH_WORDS = ("too many", "exceed", "limit", "too large", "out of memory")


Span = tuple[int, int]
"""Begin and end in milliseconds since the epoch, half-open."""


class TooMuch(Exception):
    """The server refuses to answer about so much at once."""


class _Question(NamedTuple):
    query: str
    at_ms: int


class Prometheus:
    """A server that speaks Prometheus' query API: Prometheus, Thanos, Mimir, VictoriaMetrics."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._session = open_session(access)
        self._auth = access.auth
        self.url = access.url.rstrip("/")
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
        self._ahead: tuple[_Question, Future[requests.Response]] | None = None

    def close(self) -> None:
        """Gives the connection back."""
        self._forget_ahead()
        self._connect.close()

    def count_series(self, selector: str, at_ms: int) -> int:
        """How many series a selector has at an instant.

        Raises:
            SourceUnreachable: no answer, or not allowed to ask.
        """

        def ask() -> int:
            try:
                return _counted(
                    self._connect.custom_query(
                        f"count({selector})", params={"time": _seconds(at_ms)}
                    )
                )
            except PrometheusApiClientException as error:
                raise self._refused(_status_in(error), str(error).encode()) from None
            except (requests.RequestException, BadAnswer) as error:
                raise lost(self._access, error) from None
            except (ValueError, KeyError, TypeError, RecursionError):
                raise lost(self._access, BadAnswer("it is none of Prometheus")) from None

        try:
            return patiently(self._access, ask)
        except TooMuch as error:
            raise SourceUnreachable(f"{self.url} refused to count {selector}: {error}") from None

    def read_range(
        self,
        selector: str,
        span: Span,
        take: Callable[[Iterator[Series]], T],
        *,
        then: Span | None = None,
    ) -> tuple[T, Answer]:
        """Streams the raw samples of a span to `take`, which is called once per try.

        A range selector is closed at both ends in Prometheus 2 and open at its start in 3. Asked
        from one millisecond earlier on, both give all samples; what is too early is for the
        caller to leave out.

        Args:
            span: in milliseconds, half-open.
            then: the span that will be read next: the server works on it while this one is read.

        Raises:
            TooMuch: the server will not load that many samples.
            SourceUnreachable: it did not answer whole, however often it was asked.
        """
        question = _question(selector, span)

        def ask() -> tuple[T, Answer]:
            answer = Answer()
            try:
                with self._answer_to(question) as response:
                    if response.status_code != requests.codes.ok:
                        raise self._refused(response.status_code, _body(response), response)
                    if then is not None:
                        self._ask_ahead(_question(selector, then))
                    series = read_series(response.iter_content(_PIECE), answer)
                    with in_time(self._access, response):
                        return take(series), answer
            except (requests.RequestException, BadAnswer) as error:
                raise lost(self._access, error) from None

        return patiently(self._access, ask)

    def _answer_to(self, question: _Question) -> requests.Response:
        if self._ahead is not None and self._ahead[0] == question:
            (_, answer), self._ahead = self._ahead, None
            return answer.result()
        self._forget_ahead()
        return self._post(question)

    def _ask_ahead(self, question: _Question) -> None:
        answer: Future[requests.Response] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._post(question))
            except Exception as error:  # noqa: BLE001 - it is raised where the answer is wanted
                answer.set_exception(error)

        self._ahead = question, answer
        threading.Thread(target=ask, daemon=True).start()

    def _forget_ahead(self) -> None:
        if self._ahead is not None:
            (_, answer), self._ahead = self._ahead, None
            answer.add_done_callback(_close)

    def _post(self, question: _Question) -> requests.Response:
        # Not compressed: unpacking costs the server and us more than a cluster's network does.
        return self._session.post(
            f"{self.url}/api/v1/query",
            data={"query": question.query, "time": _seconds(question.at_ms)},
            headers={**self._access.headers, "Accept-Encoding": "identity"},
            auth=self._auth,
            timeout=(10.0, self._access.timeout_s),
            verify=self._session.verify,
            cert=self._session.cert,
            stream=True,
        )

    def _refused(
        self, status: int, body: bytes, response: requests.Response | None = None
    ) -> Exception:
        words = " ".join(body[:300].decode(errors="replace").split())
        if status in _TOO_MUCH and (
            status != 400 or any(word in words.lower() for word in _TOO_MUCH_WORDS)
        ):
            return TooMuch(f"HTTP {status}: {words}")
        return refused(self._access, status, words, response)


def _close(answer: Future[requests.Response]) -> None:
    if answer.exception() is None:
        answer.result().close()


def _counted(rows: Any) -> int:
    """The number in the answer to `count(…)`, which is empty where there is nothing to count.

    Raises:
        BadAnswer: there is no such number in it.
    """
    if rows == []:
        return 0
    try:
        (row,) = rows
        _, text = row["value"]
        number = float(text)
    except (ValueError, KeyError, TypeError, OverflowError):
        raise BadAnswer("it is no count of series") from None
    if not (number.is_integer() and 0 <= number <= _MAX_COUNT):
        raise BadAnswer(f"it counts {number} series")
    return int(number)


def _question(selector: str, span: Span) -> _Question:
    start_ms, end_ms = span
    return _Question(f"{selector}[{end_ms - start_ms}ms]", end_ms - 1)


def _body(response: requests.Response) -> bytes:
    return next(response.iter_content(4096), b"")


def _status_in(error: PrometheusApiClientException) -> int:
    """The status in the package's message, which has no field for it."""
    digits = [word for word in str(error).split() if word.isdecimal()]
    return int(digits[0]) if digits else 0


def _seconds(at_ms: int) -> str:
    return f"{at_ms // 1000}.{at_ms % 1000:03d}"
