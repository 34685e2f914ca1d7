"""`collect kubernetes` beside the typed lists of the kubernetes package, one process each.

Both read the same 20,000 events and 4,000 pods in pages of 500 from a server that has its pages
ready, so that what is measured is the client. The collector signs in in a process of its own, which
is in its seconds and not in its peak.
"""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks.processes import Use, run_module

EVENTS, PODS, PAGE = 20_000, 4_000, 500
_AT = "2026-03-02T09:00:00Z"


def measure(folder: Path) -> tuple[Use, Use, Use]:
    """The collector on all objects, the collector on none of them, and the package on all."""
    with _serving(_pages(EVENTS, PODS)) as url:
        collector = _collect(folder / "all", url)
        client = run_module("benchmarks.kubernetes_reference", url)
    with _serving(_pages(0, 0)) as url:
        nothing = _collect(folder / "none", url)
    return collector, nothing, client


def _collect(folder: Path, url: str) -> Use:
    folder.mkdir()
    config = {
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": url}}],
        "users": [{"name": "bench", "user": {"token": "bench"}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    words = ("--lake", str(folder / "lake"), "collect", "kubernetes", "--kubeconfig", str(path))
    return run_module("goodput", *words)


def _pages(events: int, pods: int) -> dict[tuple[str, str], bytes]:
    """The answers by path and token."""
    resources = [
        {"name": name, "kind": kind, "namespaced": True, "verbs": ["list"]}
        for name, kind in (("events", "Event"), ("pods", "Pod"))
    ]
    found = {
        ("/apis", ""): json.dumps({"kind": "APIGroupList", "groups": []}).encode(),
        ("/api/v1", ""): json.dumps({"resources": resources}).encode(),
    }
    for plural, kind, items in (
        ("events", "Event", [_event(number) for number in range(events)]),
        ("pods", "Pod", [_pod(number) for number in range(pods)]),
    ):
        for start in range(0, max(len(items), 1), PAGE):
            end = start + PAGE
            more = {"continue": str(end)} if end < len(items) else {}
            page = {
                "kind": f"{kind}List",
                "apiVersion": "v1",
                "metadata": {"resourceVersion": "1", **more},
                "items": items[start:end],
            }
            token = str(start) if start else ""
            found[f"/api/v1/{plural}", token] = json.dumps(page).encode()
    return found


def _metadata(name: str, **more: Any) -> dict[str, Any]:
    managed = {"manager": "bench", "operation": "Update", "apiVersion": "v1", "time": _AT}
    return {
        "name": name,
        "namespace": "train",
        "uid": f"00000000-0000-4000-8000-{zlib.crc32(name.encode()):012d}",
        "resourceVersion": "1",
        "creationTimestamp": _AT,
        "managedFields": [{**managed, "fieldsV1": {"f:status": {f"f:{n}": {} for n in "abcdef"}}}],
        **more,
    }


def _event(number: int) -> dict[str, Any]:
    return {
        "metadata": _metadata(f"pod-{number % PODS}.{number:016x}"),
        "involvedObject": {"kind": "Pod", "namespace": "train", "name": f"pod-{number % PODS}"},
        "reason": ("BackOff", "Scheduled", "Pulled", "FailedScheduling")[number % 4],
        "message": f"0/500 nodes are available: {number % 500} Insufficient nvidia.com/gpu.",
        "source": {"component": "default-scheduler"},
        "firstTimestamp": _AT,
        "lastTimestamp": f"2026-03-02T10:{number // 60 % 60:02d}:{number % 60:02d}Z",
        "count": 1 + number % 9,
        "type": "Warning",
    }


def _pod(number: int) -> dict[str, Any]:
    gpus = {"nvidia.com/gpu": "8", "cpu": "64", "memory": "512Gi"}
    container = {
        "name": "main",
        "image": "train:1",
        "args": ["--a-long-argument-of-a-trainer"] * 10,
        "env": [{"name": f"E{n}", "value": "v" * 20} for n in range(30)],
        "resources": {"limits": gpus, "requests": gpus},
    }
    running = {"name": "main", "restartCount": 0, "state": {"running": {"startedAt": _AT}}}
    running |= {"ready": True, "image": "train:1", "imageID": "sha256:1"}
    return {
        "metadata": _metadata(f"pod-{number}", labels={"job-name": f"job-{number // 8}"}),
        "spec": {"nodeName": f"node-{number}", "containers": [container]},
        "status": {"phase": "Running", "startTime": _AT, "containerStatuses": [running]},
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # as servers in Go do; else each page waits 40 ms
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        token = parse_qs(url.query).get("continue", [""])[0]
        plain, packed = self.server.pages[url.path, token]
        is_packed = "gzip" in self.headers.get("Accept-Encoding", "")
        data = packed if is_packed else plain
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if is_packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(data)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, pages: dict[tuple[str, str], bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages = {key: (page, gzip.compress(page, 1)) for key, page in pages.items()}


@contextmanager
def _serving(pages: dict[tuple[str, str], bytes]) -> Iterator[str]:
    server = _Server(pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
