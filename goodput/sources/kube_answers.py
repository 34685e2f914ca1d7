"""What an API server answers: JSON as it came, or that it says no, or nothing usable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from goodput.sources.kube_values import clean_text

ROLE = "the role that goodput needs is in docs/guides/collect-from-kubernetes.md"
"""What to do where an account may not read something."""

_OK = 200
_UNAUTHORIZED = 401
# In lists of what is built into Kubernetes no object has its kind, and none is a list.
_SAYS_WHAT_IT_IS = ("kind", "items")
_LONGEST_WAIT_S = 60.0
# Kubernetes is of 2015, and instants at the end of the calendar overflow.
_CLOCK_YEARS = range(2015, 9999)


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object, and when the server gave it by its own clock (whole seconds)."""

    body: dict[str, Any]
    at: datetime


class Objects:
    """The objects of a list, each decoded in its turn: as a tree, a page takes six times its text.

    Going through them, which can be done once, raises Unanswered where one is no JSON, and lets go
    of the text of the page.
    """

    def __init__(
        self, texts: list[msgspec.Raw], decoder: msgspec.json.Decoder[dict[str, Any]] | None = None
    ) -> None:
        self._texts = texts
        self._decoder = decoder

    def in_shape(self, decoder: msgspec.json.Decoder[dict[str, Any]]) -> Objects:
        """The same, each decoded by another decoder where it does not say itself what it is."""
        return Objects(self._texts, decoder)

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[Any]:
        for text in self._texts:
            value: Any = self._shaped(text)
            if value is None:
                found, value = _json_value(bytes(text))
                if not found:
                    raise Unanswered("an object of the list is no JSON", _OK)
            yield value
        self._texts.clear()

    def _shaped(self, text: msgspec.Raw) -> dict[str, Any] | None:
        """What an object is to its decoder; None if that may not be all of it."""
        if self._decoder is None:
            return None
        try:
            value = self._decoder.decode(text)
        except (ValueError, RecursionError):
            return None
        whole = "metadata" in value and value.keys().isdisjoint(_SAYS_WHAT_IT_IS)
        return value if whole else None


class Refused(Exception):
    """The server's answer is no, and trying again will not change it.

    Attributes:
        status: the HTTP status.
        body: the Status object that came with it, perhaps empty.
        at: when, by the server's clock.
    """

    def __init__(self, status: int, body: Mapping[str, Any], at: datetime) -> None:
        message = clean_text(body.get("message") or body.get("reason") or "no reason given")
        super().__init__(f"{status}: {message}")
        self.status = status
        self.body = body
        self.at = at


class Unanswered(Exception):
    """No usable answer came, however often it was tried.

    Attributes:
        status: the HTTP status of the last answer, also of one that is no use; None if there was
            no answer at all.
        retry_after_s: how long the server asked to be left alone.
    """

    def __init__(
        self, reason: str, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(clean_text(reason))
        self.status = status
        self.retry_after_s = retry_after_s


def shut_out(error: Refused | Unanswered) -> str | None:
    """Why no request would do, and what to check; None if it is about this one request."""
    if isinstance(error, Refused) and error.status == _UNAUTHORIZED:
        return (
            f"the API server refused the credentials ({error}); check that the token or certificate"
            " is for this cluster and has not run out"
        )
    if isinstance(error, Unanswered) and error.status is None:
        return f"the API server does not answer ({error}); check the address"
    return None


def json_object(data: bytes | bytearray) -> dict[str, Any] | None:
    """The JSON object that an answer is; None if it is none."""
    _, value = _json_value(data)
    return value if isinstance(value, dict) else None


def json_list(data: bytes | bytearray) -> dict[str, Any] | None:
    """The answer to a list, its objects still as text; as a whole where it cannot be cut."""
    try:
        texts = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        items = msgspec.json.decode(texts.pop("items"), type=list[msgspec.Raw])
        body = {name: msgspec.json.decode(text) for name, text in texts.items()}
    except (KeyError, ValueError, RecursionError):
        return json_object(data)
    return {**body, "items": Objects(items)}


def _json_value(data: bytes | bytearray) -> tuple[bool, Any]:
    """Whether it is JSON, and what it says."""
    # The second is slow, and takes what the first is too strict for, such as half a surrogate pair.
    for decode in (msgspec.json.decode, json.loads):
        try:
            return True, decode(data)
        except (ValueError, RecursionError):
            continue
    return False, None


def server_time(header: str | None) -> datetime:
    """The server's clock by a Date header; the local one if it does not say what can be."""
    try:
        at = parsedate_to_datetime(header or "").astimezone(UTC)
    except (ValueError, OverflowError):
        at = None
    if at is None or at.year not in _CLOCK_YEARS:
        return datetime.now(UTC).replace(microsecond=0)
    return at


def retry_after_s(header: str | None) -> float | None:
    """A Retry-After in seconds; the API server never sends its other form, a date."""
    try:
        return min(max(0.0, float(header or "")), _LONGEST_WAIT_S)
    except ValueError:
        return None
