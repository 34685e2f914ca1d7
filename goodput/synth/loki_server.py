"""A Loki: query_range as its documentation and its reports of bugs describe the answers.

Forward pages of at most `limit` entries over all streams, from `start` on and before `end`; a third
element in each value for what is no label; 400 in words for a query or a limit that it dislikes.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Entry = tuple[int, str]
"""Nanoseconds and a line."""
Stream = tuple[Mapping[str, str], list[Entry]]
"""Labels and entries."""

_SELECTOR = re.compile(r'(\w+)="([^"]*)"')


class Streams:
    """Entries and knobs.

    Attributes:
        entries: of each stream, its labels and its entries.
        most: the largest limit that it takes.
        early: an entry from before the start that it answers with, as it has been seen to do.
        drips: of what bytes come one by one and never all: "headers" or "body".
        fixed: a body that it answers with whatever is asked, or a status, a body and headers.
        faults: what befalls the next requests, first one first: a status, or "cut".
        requests: parameters of each request.
        headers: of each request.
    """

    def __init__(self) -> None:
        self.entries: list[Stream] = []
        self.most = 5000
        self.early: tuple[int, int, str] | None = None
        self.drips: str | None = None
        self.fixed: Any = None
        self.faults: list[int | str] = []
        self.requests: list[dict[str, str]] = []
        self.headers: list[Message] = []

    def add(self, labels: Mapping[str, str], *lines: Entry) -> None:
        """Take one more stream."""
        self.entries.append((labels, list(lines)))

    def answer(self, parameters: Mapping[str, str]) -> tuple[int, Any]:
        """Status and body of a query."""
        if not parameters["query"].startswith("{"):
            return 400, "parse error at line 1, col 1: syntax error: unexpected IDENTIFIER"
        limit = int(parameters["limit"])
        if limit > self.most:
            return 400, f"max entries limit per query exceeded, limit > ({limit} > {self.most})"
        wanted = dict(_SELECTOR.findall(parameters["query"]))
        start, end = int(parameters["start"]), int(parameters["end"])
        found = sorted(
            (
                (at, number, line)
                for number, (labels, lines) in enumerate(self.entries)
                if wanted.items() <= labels.items()
                for at, line in lines
                if start <= at < end
            ),
            key=lambda entry: entry[0],
        )[:limit]
        if self.early:
            found.insert(0, self.early)
        streams: dict[int, list[Any]] = {}
        for at, number, line in found:
            streams.setdefault(number, []).append([str(at), line, {}])
        result = [
            {"stream": self.entries[number][0], "values": values}
            for number, values in streams.items()
        ]
        return 200, {"status": "success", "data": {"resultType": "streams", "result": result}}


class LokiServer(ThreadingHTTPServer):
    """Serves streams at a free port of the loopback."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.streams = Streams()
        self.stopped = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LokiServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        loki = self.server.streams
        url = urlsplit(self.path)
        parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path != "/loki/api/v1/query_range":
            self.reply(404, "404 page not found")
            return
        loki.requests.append(parameters)
        loki.headers.append(self.headers)
        fault = loki.faults.pop(0) if loki.faults else None
        if isinstance(fault, int):
            self.reply(fault, "too many outstanding requests")
        elif loki.drips:
            self.drip()
        elif loki.fixed is not None:
            self.reply(*(loki.fixed if isinstance(loki.fixed, tuple) else (200, loki.fixed)))
        else:
            self.reply(*loki.answer(parameters), cut=40 if fault else None)

    def drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        if self.server.streams.drips == "body":
            self.end_headers()
        else:
            self.flush_headers()
        self.close_connection = True
        with suppress(OSError):
            while not self.server.stopped.wait(0.01):
                self.wfile.write(b" ")

    def reply(
        self,
        status: int,
        body: Any,
        headers: Sequence[tuple[str, str]] = (),
        cut: int | None = None,
    ) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for header in headers:
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(data[:cut])
        if cut is not None:
            self.close_connection = True


@contextmanager
def running() -> Iterator[LokiServer]:
    """A server until left."""
    with LokiServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.stopped.set()
            server.shutdown()
            thread.join()
