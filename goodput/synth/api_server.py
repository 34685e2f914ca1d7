"""An API server: lists and watches as kube-apiserver answers them, and the ways it fails.

What it answers was recorded from kube-apiserver 1.20: pages of one resourceVersion with
remainingItemCount, 410 with the token that goes on regardless, Status objects of 400 to 404. It
listens on the loopback only, shows what it was given, and its clock stands where it was put.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Body = dict[str, Any]
Parameters = Mapping[str, str]

_PATH = re.compile(
    r"/(?:api|apis)/(?P<version>v1|[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>\w+)"
    r"(?:/(?P<name>[^/]+)(?P<log>/log)?)?"
)


@dataclass
class Served:
    """One resource: where it is, what it is called, and its objects."""

    version: str
    plural: str
    kind: str
    namespaced: bool
    items: list[Body] = field(default_factory=list)


@dataclass
class Fault:
    """What befalls some requests of a list, counted from 0; then it works again.

    Attributes:
        what: cut, reset, hang, slow, html, busy, broken, unauthorized, expired, expired_for_good.
        requests: which ones.
        value: seconds, token or date, as the fault needs it.
    """

    what: str
    requests: range
    value: str = ""


class Cluster:
    """Objects by resource, knobs for faults, and a record of what was asked.

    Attributes:
        now: the server's clock, as its Date header says it.
        tokens: bearer tokens that it accepts.
        most_items: objects that a page holds at most, whatever was asked for; None for no limit.
        faults: by plural of the resource (or the path, for discovery).
        changes: lines of watches by plural, which their versions put in order.
        logs: by "namespace/pod/container" the lines of each of its runs, the time in front.
        breaking: plurals whose watch breaks once, in the middle of the second line.
        unwatchable: plurals that may be listed and not watched.
        oldest: watches from before this version have expired.
        turn: all watches end when it changes, as a server may end them at any time.
        watched: by plural the turn in which its last watch began that was not too late.
        requests: paths asked for with their parameters.
    """

    def __init__(self) -> None:
        self.now = "Mon, 02 Mar 2026 10:00:00 GMT"
        self.tokens = {"good"}
        self.served = [
            Served("v1", "namespaces", "Namespace", False),
            Served("v1", "nodes", "Node", False),
            Served("v1", "pods", "Pod", True),
            Served("v1", "events", "Event", True),
            Served("batch/v1", "jobs", "Job", True),
            Served("coordination.k8s.io/v1", "leases", "Lease", True),
        ]
        self.versions: dict[str, list[str]] = {}
        self.forbidden: set[str] = set()
        self.most_items: int | None = None
        self.faults: dict[str, Fault] = {}
        self.version = 1000
        self.changes: dict[str, list[Body]] = {}
        self.logs: dict[str, list[list[str]]] = {}
        self.breaking: set[str] = set()
        self.unwatchable: set[str] = set()
        self.oldest = 0
        self.turn = 0
        self.watched: dict[str, int] = {}
        self.closing = False
        self.requests: list[tuple[str, Parameters]] = []
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def set_clock(self, t: float) -> None:
        """Put the server's clock to epoch seconds."""
        self.now = formatdate(t, usegmt=True)

    def add(self, plural: str, *items: Body) -> None:
        """Show more objects of a resource."""
        self.named(plural).items.extend(items)

    def named(self, plural: str) -> Served:
        """The resource of a name."""
        return next(entry for entry in self.served if entry.plural == plural)

    def asked(self, plural: str) -> list[Parameters]:
        """The parameters of every request for a resource."""
        return [parameters for path, parameters in self.requests if path.endswith("/" + plural)]

    def inject(
        self, plural: str, what: str, *, count: int = 1, skip: int = 0, value: str = ""
    ) -> None:
        """Let the next requests of a resource fail, but for some that come first."""
        with self._lock:
            first = self._counts[plural] + skip
            self.faults[plural] = Fault(what, range(first, first + count), value)

    def fault(self, path: str, plural: str) -> Fault | None:
        """What befalls this request, which counts."""
        key = path if path in self.faults else plural
        with self._lock:
            number = self._counts[key]
            self._counts[key] += 1
        fault = self.faults.get(key)
        return fault if fault and number in fault.requests else None

    def answer(self, path: str, parameters: Parameters) -> tuple[int, Body | str]:
        """Status and body of a GET; the body of a log is its text."""
        if path in ("/apis", "/version"):
            return 200, self._groups() if path == "/apis" else {"gitVersion": "v1.37.0"}
        match = _PATH.fullmatch(path)
        if match is None:
            return self._resources(path)
        found = [
            entry
            for entry in self.served
            if (entry.version, entry.plural) == (match["version"], match["plural"])
        ]
        if not found:
            return 404, status(404, "NotFound", "the server could not find the requested resource")
        if match["plural"] in self.forbidden:
            message = f'{match["plural"]} is forbidden: User "goodput" cannot list resource'
            return 403, status(403, "Forbidden", message)
        if match["name"] is None:
            return self._list(found[0], match["namespace"], parameters)
        return self._one(found[0], match, parameters)

    def expired(self, parameters: Parameters, *, with_token: bool) -> tuple[int, Body]:
        """The version that a token names was compacted away."""
        self.version += 1
        body = status(410, "Expired", "The provided continue parameter is too old")
        if with_token:
            start = parameters["continue"].partition("@")[0]
            body["metadata"] = {"continue": f"{start}@{self.version}"}
        return 410, body

    def _groups(self) -> Body:
        groups: dict[str, list[str]] = {}
        for entry in self.served:
            if "/" in entry.version:
                group, version = entry.version.split("/")
                groups.setdefault(group, []).append(version)
        return {
            "kind": "APIGroupList",
            "groups": [
                {
                    "name": group,
                    "versions": [
                        {"groupVersion": f"{group}/{version}", "version": version}
                        for version in dict.fromkeys([*self.versions.get(group, ()), *versions])
                    ],
                    "preferredVersion": {
                        "groupVersion": f"{group}/{[*self.versions.get(group, ()), *versions][0]}"
                    },
                }
                for group, versions in groups.items()
            ],
        }

    def _resources(self, path: str) -> tuple[int, Body]:
        version = path.removeprefix("/apis/").removeprefix("/api/")
        known = [entry for entry in self.served if entry.version == version]
        group, _, name = version.partition("/")
        if not known and name not in self.versions.get(group, ()):
            return 404, status(404, "NotFound", "the server could not find the requested resource")
        resources = [
            {"name": name, "kind": entry.kind, "namespaced": entry.namespaced, "verbs": ["list"]}
            for entry in known
            for name in (entry.plural + "/status", entry.plural)
        ]
        return 200, {"kind": "APIResourceList", "groupVersion": version, "resources": resources}

    def _list(
        self, entry: Served, namespace: str | None, parameters: Parameters
    ) -> tuple[int, Body]:
        if "!!" in parameters.get("labelSelector", ""):
            return 400, status(400, "BadRequest", "unable to parse requirement")
        items = [item for item in entry.items if _matches(item, namespace, parameters)]
        start, _, version = parameters.get("continue", "0@").partition("@")
        if version and int(version) < self.oldest:
            return self.expired(parameters, with_token=True)
        version = version or str(self.version)
        limit = min(
            int(parameters.get("limit", len(items) or 1)), self.most_items or len(items) or 1
        )
        end = int(start) + limit
        metadata: Body = {"resourceVersion": version}
        if end < len(items):
            metadata["continue"] = f"{end}@{version}"
            if "fieldSelector" not in parameters:
                metadata["remainingItemCount"] = len(items) - end
        body = {
            "kind": f"{entry.kind}List",
            "apiVersion": entry.version,
            "metadata": metadata,
            "items": items[int(start) : end] or None,
        }
        return 200, body

    def _one(
        self, entry: Served, match: re.Match[str], parameters: Parameters
    ) -> tuple[int, Body | str]:
        """One object, or the log of one of its containers."""
        named = [
            item
            for item in entry.items
            if item["metadata"]["name"] == match["name"]
            and item["metadata"].get("namespace") == match["namespace"]
        ]
        if not named:
            message = f'{entry.plural} "{match["name"]}" not found'
            return 404, status(404, "NotFound", message)
        if match["log"] is None:
            return 200, {"kind": entry.kind, "apiVersion": entry.version, **named[0]}
        if "log" in self.forbidden:
            message = 'pods is forbidden: User "goodput" cannot get resource "pods/log"'
            return 403, status(403, "Forbidden", message)
        container = parameters["container"]
        runs = self.logs.get(f"{match['namespace']}/{match['name']}/{container}", [])
        wanted = runs[-2:-1] if parameters.get("previous") == "true" else runs[-1:]
        if not wanted:
            message = f'container "{container}" in pod "{match["name"]}" is waiting to start'
            return 400, status(400, "BadRequest", message)
        return 200, log_text(wanted[0], parameters)


def log_text(lines: Iterable[str], parameters: Parameters) -> str:
    """What a kubelet shows of a log.

    Args:
        lines: with their times in front.
        parameters: `sinceTime` and `timestamps` count.
    """
    since = parameters.get("sinceTime", "").removesuffix("Z")
    # A line of that very second has a fraction behind it, and so is the later text.
    shown = [line for line in lines if line.partition(" ")[0] >= since]
    if parameters.get("timestamps") != "true":
        shown = [line.partition(" ")[2] for line in shown]
    return "".join(f"{line}\n" for line in shown)


def _matches(item: Body, namespace: str | None, parameters: Parameters) -> bool:
    if namespace and item["metadata"].get("namespace") != namespace:
        return False
    labels = item["metadata"].get("labels", {})
    for term in _terms(parameters, "labelSelector"):
        match = re.fullmatch(r"(.+?)(!?)=(.*)", term)
        assert match, "a selector that kube-apiserver would refuse"
        key, unequal, value = match.groups()
        if (labels.get(key) == value) == bool(unequal):
            return False
    for term in _terms(parameters, "fieldSelector"):
        path, value = term.split("=")
        found: Any = item
        for key in path.split("."):
            found = found[key]
        if found != value:
            return False
    return True


def _terms(parameters: Parameters, selector: str) -> Iterable[str]:
    return filter(None, parameters.get(selector, "").split(","))


def status(code: int, reason: str, message: str) -> Body:
    """A Status object."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


class ApiServer(ThreadingHTTPServer):
    """Serves a cluster at a free port of the loopback."""

    daemon_threads = True
    block_on_close = False  # a hanging request must not hold up the end

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cluster = cluster
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says what went wrong, but for callers that are killed or go away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ApiServer
    disable_nagle_algorithm = True  # a header and a body, each its own packet, would cost 40 ms

    def date_time_string(self, timestamp: float | None = None) -> str:  # noqa: ARG002 - the base's
        return self.server.cluster.now

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        cluster = self.server.cluster
        url = urlsplit(self.path)
        parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
        self.request_of = (url.path, parameters)
        cluster.requests.append(self.request_of)
        plural = url.path.rpartition("/")[2]
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in cluster.tokens:
            self.reply(401, status(401, "Unauthorized", "Unauthorized"))
        elif fault := cluster.fault(url.path, plural):
            getattr(self, "fault_" + fault.what)(fault.value)
        elif "watch" in parameters and plural in cluster.unwatchable:
            self.reply(403, status(403, "Forbidden", "cannot watch resource"))
        elif "watch" in parameters:
            self.watch(plural, parameters)
        else:
            self.reply(*cluster.answer(*self.request_of))

    def do_POST(self) -> None:
        """Only a review of what the caller may do: all but listing what is forbidden."""
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.server.cluster.tokens:
            self.reply(401, status(401, "Unauthorized", "Unauthorized"))
            return
        asked = question["spec"]["resourceAttributes"]
        name = "/".join(part for part in (asked["resource"], asked["subresource"]) if part)
        allowed = name not in self.server.cluster.forbidden
        self.reply(201, {**question, "status": {"allowed": allowed}})

    def reply(self, code: int, body: Any, *, cut: int | None = None, retry_after: str = "") -> None:
        headers = {"Retry-After": retry_after} if retry_after else {}
        is_text = isinstance(body, str)
        data = body.encode() if is_text else json.dumps(body).encode()
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            data = gzip.compress(data, 1)
            headers["Content-Encoding"] = "gzip"
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/plain" if is_text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:cut])
        if cut is not None:
            self.close_connection = True

    def watch(self, plural: str, parameters: Parameters) -> None:
        """The changes after a version, then silence until timeoutSeconds, as long as half a one."""
        cluster = self.server.cluster
        turn = cluster.turn
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        until = time.monotonic() + float(parameters["timeoutSeconds"])
        version = int(parameters["resourceVersion"])
        if version < cluster.oldest:
            body = status(410, "Expired", f"too old resource version: {version}")
            self.chunk({"type": "ERROR", "object": body})
            until = 0
        else:
            cluster.watched[plural] = turn
        while time.monotonic() < until and not cluster.closing:
            for change in cluster.changes.get(plural, []):
                found = int(change["object"]["metadata"]["resourceVersion"])
                if found > version:
                    version = found
                    self.chunk(change)
                    if plural in cluster.breaking:
                        cluster.breaking.discard(plural)
                        self.wfile.write(b'5\r\n{"typ\r\n')
                        self.close_connection = True
                        return
            if cluster.turn != turn:
                break
            time.sleep(0.005)
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, value: Any) -> None:
        data = json.dumps(value).encode() + b"\n"
        # Two chunks: nobody promised that a line comes in one.
        for part in (data[:9], data[9:]):
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        self.wfile.flush()

    def fault_cut(self, _: str) -> None:
        self.reply(*self.server.cluster.answer(*self.request_of), cut=40)

    def fault_reset(self, _: str) -> None:
        self.close_connection = True

    def fault_hang(self, seconds: str) -> None:
        time.sleep(float(seconds))
        self.close_connection = True

    def fault_slow(self, seconds: str) -> None:
        time.sleep(float(seconds))
        self.reply(*self.server.cluster.answer(*self.request_of))

    def fault_html(self, _: str) -> None:
        self.reply(200, "<html>log in</html>")

    def fault_busy(self, seconds: str) -> None:
        body = status(429, "TooManyRequests", "too many requests")
        self.reply(429, body, retry_after=seconds)

    def fault_broken(self, _: str) -> None:
        self.reply(500, status(500, "InternalError", "etcdserver: request timed out"))

    def fault_unauthorized(self, token: str) -> None:
        """The token runs out, and another one lies in its file."""
        self.server.cluster.tokens = {token}
        self.reply(401, status(401, "Unauthorized", "Unauthorized"))

    def fault_expired(self, now: str) -> None:
        """The version was compacted away; the list can go on with a newer one, `now`."""
        cluster = self.server.cluster
        cluster.now = now or cluster.now
        self.reply(*cluster.expired(self.request_of[1], with_token=True))

    def fault_expired_for_good(self, _: str) -> None:
        self.reply(*self.server.cluster.expired(self.request_of[1], with_token=False))
