"""An API server for tests: lists as kube-apiserver 1.20 answers them, and the ways it fails.

What it answers was recorded from the real one: pages of one resourceVersion with
remainingItemCount, 410 with the token that goes on regardless, Status objects of 400 to 404.
"""

import gzip
import json
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

_PATH = re.compile(
    r"/(?:api|apis)/(?P<version>v1|[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>\w+)"
)


@dataclass
class Served:
    """One resource: where it is, what it is called, and its objects."""

    version: str
    plural: str
    kind: str
    namespaced: bool
    items: list = field(default_factory=list)


@dataclass
class Fault:
    """What befalls some requests of a list, counted from 0; then it works again."""

    what: str
    requests: range
    value: str = ""


class FakeKubernetes:
    """Objects by resource, knobs for faults, and a record of what was asked.

    Attributes:
        now: the server's clock, as its Date header says it.
        tokens: bearer tokens that it accepts.
        faults: by plural of the resource (or the path, for discovery).
        changes: lines of watches by plural, which their versions put in order.
        breaking: plurals whose watch breaks once, in the middle of the second line.
        unwatchable: plurals that may be listed and not watched.
        oldest: watches from before this version have expired.
        requests: paths asked for with their parameters.
    """

    def __init__(self):
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
        self.versions = {}
        self.forbidden = set()
        self.faults = {}
        self.version = 1000
        self.changes = {}
        self.breaking = set()
        self.unwatchable = set()
        self.oldest = 0
        self.closing = False
        self.requests = []
        self._counts = Counter()
        self._lock = threading.Lock()

    def add(self, plural, *items):
        self.named(plural).items.extend(items)

    def named(self, plural):
        return next(entry for entry in self.served if entry.plural == plural)

    def asked(self, plural):
        return [parameters for path, parameters in self.requests if path.endswith("/" + plural)]

    def fault(self, path, plural):
        key = path if path in self.faults else plural
        with self._lock:
            number = self._counts[key]
            self._counts[key] += 1
        fault = self.faults.get(key)
        return fault if fault and number in fault.requests else None

    def answer(self, path, parameters):
        """Status and body of a GET."""
        if path == "/apis":
            return 200, self._groups()
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
        return self._list(found[0], match["namespace"], parameters)

    def _groups(self):
        groups = {}
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

    def _resources(self, path):
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

    def _list(self, entry, namespace, parameters):
        if "!!" in parameters.get("labelSelector", ""):
            return 400, status(400, "BadRequest", "unable to parse requirement")
        items = [item for item in entry.items if _matches(item, namespace, parameters)]
        start, _, version = parameters.get("continue", "0@").partition("@")
        version = version or str(self.version)
        limit = int(parameters.get("limit", len(items) or 1))
        end = int(start) + limit
        metadata = {"resourceVersion": version}
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

    def expired(self, parameters, *, with_token):
        """The version that a token names was compacted away."""
        self.version += 1
        body = status(410, "Expired", "The provided continue parameter is too old")
        if with_token:
            start = parameters["continue"].partition("@")[0]
            body["metadata"] = {"continue": f"{start}@{self.version}"}
        return 410, body


def _matches(item, namespace, parameters):
    if namespace and item["metadata"].get("namespace") != namespace:
        return False
    labels = item["metadata"].get("labels", {})
    for term in filter(None, parameters.get("labelSelector", "").split(",")):
        key, unequal, value = re.fullmatch(r"(.+?)(!?)=(.*)", term).groups()
        if (labels.get(key) == value) == bool(unequal):
            return False
    for term in filter(None, parameters.get("fieldSelector", "").split(",")):
        path, value = term.split("=")
        for key in path.split("."):
            item = item[key]
        if item != value:
            return False
    return True


def status(code, reason, message):
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def date_time_string(self, _timestamp=None):
        return self.server.cluster.now

    def log_message(self, *_):
        pass

    def do_GET(self):
        cluster = self.server.cluster
        url = urlsplit(self.path)
        parameters = {name: values[0] for name, values in parse_qs(url.query).items()}
        self.request_of = (url.path, parameters)
        cluster.requests.append(self.request_of)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in cluster.tokens:
            self.reply(401, status(401, "Unauthorized", "Unauthorized"))
        elif fault := cluster.fault(url.path, url.path.rpartition("/")[2]):
            getattr(self, "fault_" + fault.what)(fault.value)
        elif "watch" in parameters and url.path.rpartition("/")[2] in cluster.unwatchable:
            self.reply(403, status(403, "Forbidden", "cannot watch resource"))
        elif "watch" in parameters:
            self.watch(url.path.rpartition("/")[2], parameters)
        else:
            self.reply(*cluster.answer(*self.request_of))

    def reply(self, code, body, cut=None, **headers):
        data = json.dumps(body).encode()
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            data = gzip.compress(data, 1)
            headers["Content-Encoding"] = "gzip"
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:cut])
        if cut is not None:
            self.close_connection = True

    def watch(self, plural, parameters):
        """The changes after a version, then silence until timeoutSeconds, as long as half a one."""
        cluster = self.server.cluster
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
            time.sleep(0.01)
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, value):
        data = json.dumps(value).encode() + b"\n"
        # Two chunks: nobody promised that a line comes in one.
        for part in (data[:9], data[9:]):
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        self.wfile.flush()

    def fault_cut(self, _):
        self.reply(*self.server.cluster.answer(*self.request_of), cut=40)

    def fault_reset(self, _):
        self.close_connection = True

    def fault_hang(self, seconds):
        time.sleep(float(seconds))
        self.close_connection = True

    def fault_html(self, _):
        self.reply(200, "<html>log in</html>")

    def fault_busy(self, seconds):
        body = status(429, "TooManyRequests", "too many requests")
        self.reply(429, body, **({"Retry_After": seconds} if seconds else {}))

    def fault_broken(self, _):
        self.reply(500, status(500, "InternalError", "etcdserver: request timed out"))

    def fault_unauthorized(self, token):
        """The token runs out, and another one lies in its file."""
        self.server.cluster.tokens = {token}
        self.reply(401, status(401, "Unauthorized", "Unauthorized"))

    def fault_expired(self, now):
        """The version was compacted away; the list can go on with a newer one, `now`."""
        cluster = self.server.cluster
        cluster.now = now or cluster.now
        self.reply(*cluster.expired(self.request_of[1], with_token=True))

    def fault_expired_for_good(self, _):
        self.reply(*self.server.cluster.expired(self.request_of[1], with_token=False))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a hanging request must not hold up the end of a test

    def __init__(self, cluster):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cluster = cluster
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
