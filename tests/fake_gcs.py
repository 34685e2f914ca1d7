"""The part of Google Cloud Storage's XML API that a lake uses, in memory, with a fault to inject.

Written after https://cloud.google.com/storage/docs/xml-api/reference-methods. The emulators that
exist speak the JSON API and refuse these requests.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass
class FakeGcs:
    """What the server holds, by bucket/key, and what it was asked.

    Attributes:
        lost_answers: so many of the next puts are done, and their answers lost.
        puts: path and precondition of every put.
    """

    port: int
    folder: Path
    objects: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    lost_answers: int = 0
    puts: list[tuple[str, str | None]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, path: str) -> str:
        """The address of a bucket or of what is in one, with everything needed to reach it."""
        return f"gs://{path}?service_account={self.key_file}"

    @property
    def key_file(self) -> Path:
        """A service account's key that asks for no token, as emulators have it."""
        key = {
            "gcs_base_url": f"http://127.0.0.1:{self.port}",
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
        path = self.folder / "key.json"
        if not path.exists():
            # Several writers ask at once: none may read half a file.
            scratch = path.with_name(f"key.{threading.get_ident()}.tmp")
            scratch.write_text(json.dumps(key))
            scratch.replace(path)
        return path


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: FakeGcs

    def log_message(self, *_: object) -> None:
        """Tests print what they need themselves."""

    def do_PUT(self) -> None:
        path, query = self._target()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        state = self.state
        if "uploadId" in query:
            state.uploads[query["uploadId"]][int(query["partNumber"])] = body
            return self._answer(200, etag=_etag(body))
        only_if = self.headers.get("x-goog-if-generation-match")
        with state.lock:
            state.puts.append((path, only_if))
            if only_if == "0" and path in state.objects:
                return self._answer(412, _error("PreconditionFailed", "it is there already"))
            state.objects[path] = (body, datetime.now(UTC))
            is_lost = state.lost_answers > 0
            state.lost_answers -= is_lost
        if is_lost:
            self.close_connection = True
            return None
        return self._answer(200, etag=_etag(body))

    def do_POST(self) -> None:
        path, query = self._target()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "uploads" in query:
            name = f"upload-{len(self.state.uploads)}"
            self.state.uploads[name] = {}
            return self._answer(200, f"<I><UploadId>{name}</UploadId></I>".encode())
        parts = self.state.uploads[query["uploadId"]]
        content = b"".join(parts[number] for number in sorted(parts))
        self.state.objects[path] = (content, datetime.now(UTC))
        return self._answer(200, f"<C><ETag>{_etag(content)}</ETag></C>".encode())

    def do_GET(self) -> None:
        path, query = self._target()
        if "list-type" in query:
            return self._answer(200, self._listing(path, query))
        if path not in self.state.objects:
            return self._answer(404, _error("NoSuchKey", "it is not there"))
        content, at = self.state.objects[path]
        etag = _etag(content)
        if self.headers.get("If-Match", etag) != etag:
            return self._answer(412, _error("PreconditionFailed", "it is another one"))
        wanted = self.headers.get("Range")
        if wanted is None:
            return self._answer(200, content, etag=etag, at=at)
        first, last = wanted.removeprefix("bytes=").split("-")
        part = content[int(first) : int(last) + 1]
        span = f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"
        return self._answer(206, part, etag=etag, at=at, span=span)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def do_DELETE(self) -> None:
        path, _ = self._target()
        is_there = self.state.objects.pop(path, None) is not None
        self._answer(204 if is_there else 404)

    def _listing(self, bucket: str, query: dict[str, str]) -> bytes:
        prefix = query.get("prefix", "")
        deep = query.get("delimiter") is None
        contents, folders = [], set()
        with self.state.lock:
            objects = sorted(self.state.objects.items())
        for path, (content, at) in objects:
            key = path.removeprefix(f"{bucket}/")
            if key == path or not key.startswith(prefix):
                continue
            inner, slash, _ = key.removeprefix(prefix).partition("/")
            if slash and not deep:
                folders.add(f"{prefix}{inner}/")
                continue
            contents.append(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{_stamp(at)}</LastModified>"
                f"<ETag>{_etag(content)}</ETag><Size>{len(content)}</Size></Contents>"
            )
        shared = [f"<CommonPrefixes><Prefix>{one}</Prefix></CommonPrefixes>" for one in folders]
        return f"<ListBucketResult>{''.join(contents + shared)}</ListBucketResult>".encode()

    def _target(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query, keep_blank_values=True)
        return unquote(parts.path).strip("/"), {name: first for name, (first, *_) in query.items()}

    def _answer(
        self,
        status: int,
        body: bytes = b"",
        *,
        etag: str | None = None,
        at: datetime | None = None,
        span: str | None = None,
    ) -> None:
        self.send_response(status)
        headers = {
            "Content-Length": str(len(body)),
            "ETag": etag,
            "Content-Range": span,
            "Last-Modified": at and at.strftime("%a, %d %b %Y %H:%M:%S GMT"),
        }
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _etag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


def _stamp(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _error(code: str, message: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()


class _Server(ThreadingHTTPServer):
    """Many writers come at once."""

    request_queue_size = 128


@contextmanager
def running(folder: Path) -> Iterator[FakeGcs]:
    """A server on a free port of the loopback; its key file lies in the folder."""
    handler = type("Handler", (_Handler,), {})
    with _Server(("127.0.0.1", 0), handler) as server:
        handler.state = FakeGcs(server.server_address[1], folder)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield handler.state
        finally:
            server.shutdown()
            thread.join()
