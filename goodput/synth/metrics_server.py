"""What stands in for Prometheus where none is installed: raw samples over its query API.

It answers selectors, with or without a range, and their count(); a real one is what tests use.
"""

from __future__ import annotations

import json
import re
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from goodput.synth.remote_write import Labels, Sample

LOOK_BACK_MS = 300_000
_QUERY = re.compile(r"(?P<name>[a-zA-Z_:]\w*)?(?:\{(?P<matchers>.*)\})?(?:\[(?P<range>\d+)ms\])?")
_MATCHER = re.compile(r'(\w+)(=~|!=|=)"((?:[^"\\]|\\.)*)"')


class MetricsServer(ThreadingHTTPServer):
    """Samples by series, at a free port of the loopback."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self._series: dict[Labels, list[Sample]] = {}

    def write(self, series: Mapping[Labels, list[Sample]]) -> None:
        """Take samples, newer than those before."""
        for labels, samples in series.items():
            self._series.setdefault(labels, []).extend(samples)

    def answer(self, query: str, at_ms: int) -> Any:
        """The data of an answer to an instant query."""
        if query.startswith("count("):
            found = list(self._samples(query[6:-1], at_ms))
            value = [{"metric": {}, "value": [at_ms / 1000, str(len(found))]}] if found else []
            return {"resultType": "vector", "result": value}
        result = [
            {"metric": dict(labels), "values": [[at / 1000, f"{x:.17g}"] for at, x in samples]}
            for labels, samples in self._samples(query, at_ms)
        ]
        return {"resultType": "matrix", "result": result}

    def _samples(self, query: str, at_ms: int) -> Iterator[tuple[Labels, list[Sample]]]:
        parts = _QUERY.fullmatch(query)
        if parts is None:
            raise ValueError(f"{query} is more than a selector")
        matchers = _MATCHER.findall(parts["matchers"] or "")
        if parts["name"]:
            matchers.append(("__name__", "=", parts["name"]))
        begin = at_ms - int(parts["range"] or LOOK_BACK_MS)
        for labels, samples in self._series.items():
            if all(_fits(dict(labels).get(name, ""), *rule) for name, *rule in matchers):
                times = [at for at, _ in samples]
                inside = samples[bisect_left(times, begin) : bisect_right(times, at_ms)]
                if inside:
                    yield labels, inside


def _fits(value: str, operator: str, wanted: str) -> bool:
    wanted = wanted.replace(r"\"", '"').replace(r"\\", "\\")
    if operator == "=~":
        return re.fullmatch(wanted, value) is not None
    return (value == wanted) == (operator == "=")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: MetricsServer
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _answer(self, text: str) -> None:
        asked = parse_qs(text)
        try:
            found = self.server.answer(asked["query"][0], round(float(asked["time"][0]) * 1000))
            code, body = 200, {"status": "success", "data": found}
        except (KeyError, ValueError) as error:
            code, body = 400, {"status": "error", "errorType": "bad_data", "error": str(error)}
        data = json.dumps(body, separators=(",", ":")).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def running() -> Iterator[MetricsServer]:
    """Serve until left."""
    server = MetricsServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
