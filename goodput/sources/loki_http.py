"""The connection to Loki: the entries of a query, oldest first, page by page.

Loki has no page tokens. The next page begins at the instant of the last entry, not behind it: more
entries of that instant may not have fitted. What comes twice is left out here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import requests

from goodput.errors import SourceUnreachable, UsageError
from goodput.sources.web import Access, Transient, in_time, lost, open_session, patiently, refused

API = "/loki/api/v1"
PAGE_ENTRIES = 5_000
"""What servers allow at most if nobody configured otherwise."""

_MAX_BYTES = 256 << 20
_PIECE = 1 << 18
_BAD_QUERY = 400
# What was found in a line (Loki 3: its level) is not to be mixed into the labels of its stream.
_LABELS_APART = {"X-Loki-Response-Encoding-Flags": "categorize-labels"}
_NUMBERS = ("matrix", "vector", "scalar")
_INSTANT = re.compile("[0-9]{1,19}")
_LIMIT_WORDS = "max entries limit"


class Entry(NamedTuple):
    """One line of one stream.

    Attributes:
        at_ns: nanoseconds since the epoch.
        stream: the labels of its stream, as JSON with sorted keys.
    """

    at_ns: int
    stream: str
    line: str


class Loki:
    """A server that speaks Loki's query API."""

    def __init__(self, access: Access, page_entries: int = PAGE_ENTRIES) -> None:
        """Opens no connection yet.

        Raises:
            UsageError: the address is none.
        """
        self.page_entries = page_entries
        self._access = access
        self._session = open_session(access)

    def close(self) -> None:
        """Gives the connection back."""
        self._session.close()

    def entries(self, query: str, start_ns: int, end_ns: int) -> Iterator[Entry]:
        """The entries of [start_ns, end_ns), oldest first; those of one instant in the given order.

        Raises:
            SourceUnreachable: no usable answer, or not allowed to ask, or more entries of one
                instant than a page holds, or pages that do not go on.
            UsageError: the query is none.
        """
        seen: set[Entry] = set()
        at_ns = start_ns
        while True:
            page = self._page(query, at_ns, end_ns)
            # Servers have been seen to answer with entries from before the start.
            fresh = [e for e in page if at_ns <= e.at_ns < end_ns and e not in seen]
            yield from fresh
            if len(page) < self.page_entries:
                return
            if not fresh:
                raise self._stuck(page, at_ns)
            at_ns = fresh[-1].at_ns
            seen = {entry for entry in page if entry.at_ns == at_ns}

    def _stuck(self, page: list[Entry], at_ns: int) -> SourceUnreachable:
        """Why a full page has nothing new."""
        # Not all: servers have been seen to add entries from before the start.
        if sum(entry.at_ns == at_ns for entry in page) > self.page_entries // 2:
            return SourceUnreachable(
                f"{self._access.url} has more than {self.page_entries} entries of one instant;"
                " allow larger pages (limits_config: max_entries_limit_per_query) and name"
                " their size with --loki-page"
            )
        return SourceUnreachable(
            f"{self._access.url} answers with the same entries whatever `start` it is asked for;"
            f" name Loki itself with {self._access.option}, not what stands before it"
        )

    def _page(self, query: str, start_ns: int, end_ns: int) -> list[Entry]:
        def ask() -> list[Entry]:
            parameters: dict[str, str | int] = {
                "query": query,
                "start": start_ns,
                "end": end_ns,
                "limit": self.page_entries,
                "direction": "forward",
            }
            try:
                with self._session.get(
                    f"{self._access.url.rstrip('/')}{API}/query_range",
                    params=parameters,
                    headers={**self._access.headers, **_LABELS_APART},
                    auth=self._access.auth,
                    timeout=(10.0, self._access.timeout_s),
                    verify=self._session.verify,
                    cert=self._session.cert,
                    stream=True,
                ) as response:
                    return self._entries(response)
            except requests.RequestException as error:
                raise lost(self._access, error) from None

        return patiently(self._access, ask)

    def _entries(self, response: requests.Response) -> list[Entry]:
        with in_time(self._access, response):
            body = _body(response)
        if response.status_code != requests.codes.ok:
            words = " ".join(body[:300].decode(errors="replace").split())
            if response.status_code == _BAD_QUERY:
                hint = "name a smaller --loki-page" if _LIMIT_WORDS in words else "see --loki-query"
                raise UsageError(f"Loki refuses the query: {words}; {hint}")
            raise refused(self._access, response.status_code, words, response)
        try:
            data = json.loads(body)["data"]
            if data["resultType"] in _NUMBERS:
                raise UsageError(
                    f"the query gives {data['resultType']} and no lines; take the metric out of it"
                )
            if data["resultType"] != "streams":
                raise Transient("the answer is none of Loki's")
            found = [entry for stream in data["result"] for entry in _of_stream(stream)]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Transient("the answer is none of Loki's, or only half of one") from None
        return sorted(found, key=lambda entry: entry.at_ns)


def _of_stream(stream: dict[str, Any]) -> Iterator[Entry]:
    if not isinstance(stream["stream"], dict):
        raise TypeError
    labels = json.dumps(stream["stream"], sort_keys=True)
    # A third element holds what is set apart from the labels.
    for at, line, *_ in stream["values"]:
        if not isinstance(line, str) or not _INSTANT.fullmatch(at):
            raise TypeError
        yield Entry(int(at), labels, line)


def _body(response: requests.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    for part in response.iter_content(_PIECE):
        parts.append(part)
        size += len(part)
        if size > _MAX_BYTES:
            raise SourceUnreachable(
                f"a page of more than {_MAX_BYTES >> 20} MB; name a smaller one with --loki-page"
            )
    return b"".join(parts)
