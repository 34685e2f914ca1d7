"""A Loki for tests: query_range as its documentation and its reports of bugs describe the answers.

Forward pages of at most `limit` entries over all streams, from `start` on and before `end`; a third
element in each value for what is no label; 400 in words for a query or a limit that it dislikes.
"""

import json
import re
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_SELECTOR = re.compile(r'(\w+)="([^"]*)"')


class FakeLoki:
    """Entries and knobs.

    Attributes:
        entries: of each stream, its labels and [nanoseconds, line] pairs.
        most: the largest limit that it takes.
        early: an entry from before the start that it answers with, as it has been seen to do.
        drips: of what bytes come one by one and never all: "headers" or "body".
        fixed: a body that it answers with whatever is asked, or a status, a body and headers.
        faults: what befalls the next requests, first one first: a status, or "cut".
        requests: parameters of each request.
        headers: of each request.
    """

    def __init__(self):
        self.entries = []
        self.most = 5000
        self.early = None
        self.drips = None
        self.fixed = None
        self.faults = []
        self.requests = []
        self.headers = []

    def add(self, labels, *lines):
        self.entries.append((labels, list(lines)))

    def answer(self, parameters):
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
        streams = {}
        for at, number, line in found:
            streams.setdefault(number, []).append([str(at), line, {}])
        result = [
            {"stream": self.entries[number][0], "values": values}
            for number, values in streams.items()
        ]
        return 200, {"status": "success", "data": {"resultType": "streams", "result": result}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        loki = self.server.loki
        url = urlsplit(self.path)
        parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path != "/loki/api/v1/query_range":
            return self.reply(404, "404 page not found")
        loki.requests.append(parameters)
        loki.headers.append(self.headers)
        fault = loki.faults.pop(0) if loki.faults else None
        if fault and fault != "cut":
            return self.reply(fault, "too many outstanding requests")
        if loki.drips:
            return self.drip()
        if loki.fixed is not None:
            return self.reply(*(loki.fixed if isinstance(loki.fixed, tuple) else (200, loki.fixed)))
        return self.reply(*loki.answer(parameters), cut=40 if fault else None)

    def drip(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        if self.server.loki.drips == "body":
            self.end_headers()
        else:
            self.flush_headers()
        self.close_connection = True
        with suppress(OSError):
            while not self.server.stopped.wait(0.01):
                self.wfile.write(b" ")

    def reply(self, status, body, headers=(), cut=None):
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
def running():
    """A FakeLoki and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.loki = FakeLoki()
    server.stopped = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.loki, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()
