"""What an API server answers: JSON as it came, or that it says no, or nothing usable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from goodput.sources.kube_fields import clean_text

_OK = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object, and when the server gave it by its own clock (whole seconds)."""

    body: dict[str, Any]
    at: datetime


class Objects:
    """The objects of a list, each decoded in its turn: as a tree, a page takes six times its text.

    Going through them raises Unanswered where one is no JSON.
    """

    def __init__(self, texts: list[msgspec.Raw]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[Any]:
        for text in self._texts:
            found, value = _json_value(bytes(text))
            if not found:
                raise Unanswered("an object of the list is no JSON", _OK)
            yield value


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


def json_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object that an answer is; None if it is none."""
    _, value = _json_value(data)
    return value if isinstance(value, dict) else None


def json_list(data: bytes) -> dict[str, Any] | None:
    """The answer to a list, its objects still as text; as a whole where it cannot be cut."""
    try:
        texts = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        items = msgspec.json.decode(texts.pop("items"), type=list[msgspec.Raw])
        body = {name: msgspec.json.decode(text) for name, text in texts.items()}
    except (KeyError, ValueError, RecursionError):
        return json_object(data)
    return {**body, "items": Objects(items)}


def _json_value(data: bytes) -> tuple[bool, Any]:
    """Whether it is JSON, and what it says."""
    # The second is slow, and takes what the first is too strict for, such as half a surrogate pair.
    for decode in (msgspec.json.decode, json.loads):
        try:
            return True, decode(data)
        except (ValueError, RecursionError):
            continue
    return False, None
