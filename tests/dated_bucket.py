"""A bucket in which time is made up: a proxy before a real S3 server that dates what it lists.

No S3 server lets a client say when an object was written. The proxy keeps that, puts it into
answers, and sometimes says SlowDown instead.
"""

import http.client
import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import unquote, urlsplit

_CONTENTS = re.compile(rb"<Contents>.*?</Contents>", re.DOTALL)
_KEY = re.compile(rb"<Key>(.*?)</Key>", re.DOTALL)
_DATE = re.compile(rb"<LastModified>.*?</LastModified>")
_SLOW_DOWN = (
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate</Message></Error>"
)


class DatedBucket:
    """The bucket as jobs write it.

    Attributes:
        dates: epoch seconds by key of the bucket.
        refusals: how often it said SlowDown.
    """

    def __init__(self, server, name):
        self.dates = {}
        self.refusals = 0
        self._server = server
        self._store = server.filesystem()
        self._store.create_dir(name)

    def put(self, path, size, at):
        self.dates[path.partition("/")[2]] = at
        with self._store.open_output_stream(path, compression=None) as stream:
            stream.write(bytes(size))

    def remove(self, folder):
        self._store.delete_dir(folder)


class _Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, bucket, port, slow_every):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bucket = bucket
        self.behind = port
        self.slow_every = slow_every
        self.numbers = count(1)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        bucket = self.server.bucket
        is_list = "list-type" in urlsplit(self.path).query
        if is_list and next(self.server.numbers) % self.server.slow_every == 0:
            bucket.refusals += 1
            self.send(503, {"Content-Type": "application/xml"}, _SLOW_DOWN)
            return
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=30)
        behind.request(self.command, self.path, headers=dict(self.headers))
        answer = behind.getresponse()
        headers, body = dict(answer.getheaders()), answer.read()
        behind.close()
        key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")[2]
        if key in bucket.dates and "Last-Modified" in headers:
            headers["Last-Modified"] = formatdate(bucket.dates[key], usegmt=True)
        if is_list:
            body = _CONTENTS.sub(lambda found: _dated(found[0], bucket.dates), body)
        self.send(answer.status, headers, body)

    def do_HEAD(self):
        self.do_GET()

    def send(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(body))
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _dated(contents, dates):
    at = dates.get(_KEY.search(contents)[1].decode())
    if at is None:
        return contents
    text = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}.000Z"
    return _DATE.sub(f"<LastModified>{text}</LastModified>".encode(), contents)


@contextmanager
def running(server, name, slow_every=7):
    """A bucket of a server, and the address under which it is dated."""
    bucket = DatedBucket(server, name)
    proxy = _Proxy(bucket, server.port, slow_every)
    thread = threading.Thread(target=proxy.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield bucket, replace(server, port=proxy.server_address[1]).url(name)
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
