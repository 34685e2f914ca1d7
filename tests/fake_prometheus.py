"""A server of made-up answers that misbehaves on demand, for what a real Prometheus does seldom."""

from __future__ import annotations

import json
import ssl
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


@dataclass
class Reply:
    """A body, or only what `cut` bytes leave of it, with a status and headers."""

    body: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0


@dataclass
class FakePrometheus:
    """Each range query takes the next reply; the last one stays.

    A reply may be a function of the query and its time, in milliseconds. `counts` answers what the
    instant queries ask for: the number of series.
    """

    url: str
    replies: list = field(default_factory=list)
    queries: list[tuple[str, int]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    counts: Reply = field(default_factory=lambda: count(1))

    def reply(self, query: str, at_ms: int) -> Reply:
        """What is answered to a range query."""
        self.queries.append((query, at_ms))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(query, at_ms) if callable(reply) else reply


def matrix(*series, **more) -> Reply:
    """An answer with series, each as labels and [(ms, text), …]."""
    result = [
        {"metric": labels, "values": [[at / 1000, text] for at, text in samples]}
        for labels, samples in series
    ]
    data = {"resultType": "matrix", "result": result}
    return Reply(json.dumps({"status": "success", "data": data, **more}, separators=(",", ":")))


def count(series: int) -> Reply:
    """The answer to an instant query that counts."""
    result = [{"metric": {}, "value": [0, str(series)]}] if series else []
    return Reply(
        json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}})
    )


def failure(status: int, error: str, **headers: str) -> Reply:
    """An error as Prometheus words it."""
    return Reply(json.dumps({"status": "error", "error": error}), status, headers)


@contextmanager
def running(tls: ssl.SSLContext | None = None):
    """A fake that listens on a free port of this machine, for TLS if it gets a context."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            server.headers.append(dict(self.headers))
            self.answer(server.counts)

        def do_POST(self):
            server.headers.append(dict(self.headers))
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            at_ms = round(float(form["time"][0]) * 1000)
            self.answer(server.reply(form["query"][0], at_ms))

        def answer(self, reply):
            body = reply.body.encode()
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(body)))
            for name, value in reply.headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body[: len(body) - reply.cut])
            self.close_connection = bool(reply.cut)

        def log_message(self, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        http.socket = tls.wrap_socket(http.socket, server_side=True)
    server = FakePrometheus(f"http{'s' if tls else ''}://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
