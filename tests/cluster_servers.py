"""Two API servers that the same tests run on: the one in this repository, and a real one.

Both are written to through one small interface, in the paths and bodies of the Kubernetes API.
"""

import copy
import json
import os
import threading
import time
import uuid
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path

import requests
import yaml
from fake_kubernetes import FakeKubernetes, Served, Server
from fenced import blocks

GUIDE = "docs/guides/collect-from-kubernetes.md"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MERGE = {"Content-Type": "application/merge-patch+json"}


def stamp(seconds=None):
    """An instant as the API writes it."""
    at = datetime.fromtimestamp(time.time() if seconds is None else seconds, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def until(ask, wanted, seconds=60):
    """Waits until what is asked for is so; a test that never gets there shows what was."""
    end = time.monotonic() + seconds
    while (found := ask()) != wanted and time.monotonic() < end:
        time.sleep(0.1)
    assert found == wanted


def write_kubeconfig(path, url, authority, token):
    """A kubeconfig of one cluster and one user."""
    user = {"token": token}
    config = {
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": url, **authority}}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    path.write_text(json.dumps(config))
    return path


class _Clocked(FakeKubernetes):
    """Its clock goes."""

    now = property(lambda _: formatdate(usegmt=True), lambda *_: None)


class InRepo:
    """The API server of this repository."""

    is_real = False

    def __init__(self, folder):
        self.folder = folder
        self.cluster = _Clocked()
        self.cluster.tokens = {"collector"}
        self.server = Server(self.cluster)
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self):
        self.cluster.closing = True
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()

    def kubeconfig(self, token="collector"):
        path = self.folder / f"kubeconfig-{token}"
        return write_kubeconfig(path, self.server.url, {}, token)

    def namespace(self, name):
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})

    def create(self, path, body):
        served, namespace = self._served(path)
        body = copy.deepcopy(body)
        if path.startswith("/apis/events.k8s.io/"):
            body = _core_view(body)
        metadata = {"uid": str(uuid.uuid4()), "creationTimestamp": stamp(), **body["metadata"]}
        body["metadata"] = metadata | ({"namespace": namespace} if namespace else {})
        served.items.append(body)
        return self._changed(served, "ADDED", body)

    def patch(self, path, body):
        served, found = self._named(path.removesuffix("/status"))
        _merge(found, copy.deepcopy(body))
        return self._changed(served, "MODIFIED", found)

    def delete(self, path):
        served, found = self._named(path)
        served.items.remove(found)
        self._changed(served, "DELETED", found)

    def expire(self, path):
        """The event's time to live is over: its last content comes as deleted."""
        self.delete(path)

    def forget(self):
        """Versions until now are compacted away."""
        self.cluster.version += 1
        self.cluster.oldest = self.cluster.version

    def forbid(self, resource):
        self.cluster.forbidden.add(resource.rpartition("/")[2])

    def install(self, group, version, kind, plural):
        self.cluster.served.append(Served(f"{group}/{version}", plural, kind, True))

    def put_logs(self, namespace, pod, container, runs):
        self.cluster.logs[f"{namespace}/{pod}/{container}"] = runs

    def kubelet_of(self, _node):
        """A node's own address; the API server here needs none."""

    def lose(self, name):
        """The node's lease has run out: what the node lifecycle controller then does."""
        _, found = self._named(f"/api/v1/nodes/{name}")
        conditions = found["status"]["conditions"]
        for condition in conditions:
            if condition["type"] in ("Ready", "MemoryPressure"):
                condition |= {"status": "Unknown", "reason": "NodeStatusUnknown"}
                condition["lastTransitionTime"] = stamp()
        self.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": conditions}})

    def _served(self, path):
        parts = path.strip("/").split("/")
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts[:-1] else None
        plural = parts[-1]
        version = parts[1] if parts[0] == "api" else "/".join(parts[1:3])
        version = "v1" if version == "events.k8s.io/v1" else version
        for served in self.cluster.served:
            if (served.version, served.plural) == (version, plural):
                return served, namespace
        raise KeyError(path)

    def _named(self, path):
        parent, _, name = path.rpartition("/")
        served, namespace = self._served(parent)
        return served, next(
            item
            for item in served.items
            if item["metadata"]["name"] == name and item["metadata"].get("namespace") == namespace
        )

    def _changed(self, served, kind, body):
        self.cluster.version += 1
        body["metadata"]["resourceVersion"] = str(self.cluster.version)
        line = {"apiVersion": served.version, "kind": served.kind, **copy.deepcopy(body)}
        self.cluster.changes.setdefault(served.plural, []).append({"type": kind, "object": line})
        return line


def _core_view(event):
    """An event of events.k8s.io/v1 as core/v1 shows it: the old fields are null."""
    core = {
        "metadata": event["metadata"],
        "involvedObject": event["regarding"],
        "message": event["note"],
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "reportingComponent": event["reportingController"],
    }
    same = ("type", "reason", "eventTime", "reportingInstance", "action", "series")
    return core | {name: event[name] for name in same if name in event}


def _merge(target, changes):
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value


class Real:
    """A cluster that the environment names; objects of the tests are made and deleted in it."""

    is_real = True

    def __init__(self, folder):
        self.folder = folder
        config = yaml.safe_load(Path(os.environ["GOODPUT_TEST_KUBECONFIG"]).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.url = cluster["server"]
        self._authority = {
            key: value for key, value in cluster.items() if key.startswith("certificate-authority")
        }
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {user['token']}"
        self._authority_file = cluster.get("certificate-authority")
        self._run = f"goodput-{uuid.uuid4().hex[:8]}"
        self._made = []
        self._token = None

    def close(self):
        for path in reversed(self._made):
            self._ask("DELETE", path, json={"gracePeriodSeconds": 0}, missing_ok=True)
        self._session.close()

    def kubeconfig(self, token=None):
        """Of an account that has the roles of the guide, and nothing else."""
        self._token = self._token or self._make_account()
        path = self.folder / f"kubeconfig-{token}"
        return write_kubeconfig(path, self.url, self._authority, token or self._token)

    def namespace(self, name):
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})

    def create(self, path, body):
        made = self._ask("POST", path, json=body)
        self._made.append(f"{path}/{made['metadata']['name']}")
        if "status" in body and not path.startswith(_RBAC):
            changed = {"status": body["status"]}
            made = self.patch(f"{path}/{made['metadata']['name']}/status", changed)
        return made

    def patch(self, path, body):
        return self._ask("PATCH", path, data=json.dumps(body), headers=_MERGE)

    def delete(self, path):
        self._ask("DELETE", path, json={"gracePeriodSeconds": 0})

    def expire(self, path):
        """Waits until the event's time to live is over."""
        until = time.monotonic() + 90
        while self._ask("GET", path, missing_ok=True):
            assert time.monotonic() < until
            time.sleep(1)

    def forget(self):
        """Has etcd compact all versions until now."""
        version = int(self._ask("GET", "/api/v1/namespaces")["metadata"]["resourceVersion"])
        answer = requests.post(
            f"{os.environ['GOODPUT_TEST_ETCD']}/v3/kv/compaction",
            json={"revision": str(version), "physical": True},
            timeout=30,
        )
        answer.raise_for_status()

    def forbid(self, resource):
        """Takes a resource out of the account's roles."""
        self.kubeconfig()
        for path in [path for path in self._made if "/clusterroles/" in path]:
            rules = self._ask("GET", path)["rules"]
            for rule in rules:
                rule["resources"] = [name for name in rule["resources"] if name != resource]
            self.patch(path, {"rules": [rule for rule in rules if rule["resources"]]})

    def install(self, group, version, kind, plural):
        names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": plural[:-1]}
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        served = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
        spec = {
            "group": group,
            "names": names,
            "scope": "Namespaced",
            "versions": [{**served, "schema": {"openAPIV3Schema": anything}}],
        }
        annotation = {"api-approved.kubernetes.io": "unapproved, for a test"}
        metadata = {"name": f"{plural}.{group}", "annotations": annotation}
        self.create(
            _CRDS,
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": metadata,
                "spec": spec,
            },
        )
        until = time.monotonic() + 30
        while not self._ask("GET", f"/apis/{group}/{version}/{plural}", missing_ok=True):
            assert time.monotonic() < until
            time.sleep(0.2)

    def put_logs(self, namespace, pod, container, runs):
        file = Path(os.environ["GOODPUT_TEST_LOGS"]) / f"{namespace}_{pod}_{container}"
        file.write_text(json.dumps(runs))

    def kubelet_of(self, node):
        """Tells the API server where the kubelet of a node is."""
        port = int(os.environ["GOODPUT_TEST_KUBELET_PORT"])
        address = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        self.patch(f"/api/v1/nodes/{node}/status", {"status": address})

    def lose(self, name):
        """Waits until the node lifecycle controller calls the node lost."""
        until = time.monotonic() + 90
        while True:
            conditions = self._ask("GET", f"/api/v1/nodes/{name}")["status"]["conditions"]
            if {"Unknown"} == {c["status"] for c in conditions if c["type"] == "Ready"}:
                return
            assert time.monotonic() < until
            time.sleep(0.5)

    def _make_account(self):
        self.namespace(self._run)
        accounts = f"/api/v1/namespaces/{self._run}/serviceaccounts"
        self.create(accounts, {"metadata": {"name": "collector"}})
        for text in blocks(GUIDE, "yaml"):
            for role in yaml.safe_load_all(text):
                if role.get("kind") == "ClusterRole":
                    self._bind(role, f"{self._run}-{role['metadata']['name']}")
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"{accounts}/collector/token"
        token = self._ask("POST", path, json=wanted)["status"]["token"]
        return str(token)

    def _bind(self, role, name):
        self.create(f"{_RBAC}/clusterroles", {**role, "metadata": {"name": name}})
        group = "rbac.authorization.k8s.io"
        subject = {"kind": "ServiceAccount", "name": "collector", "namespace": self._run}
        self.create(
            f"{_RBAC}/clusterrolebindings",
            {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                "subjects": [subject],
            },
        )

    def _ask(self, method, path, *, missing_ok=False, **more):
        answer = self._session.request(
            method, self.url + path, verify=self._authority_file or True, timeout=60, **more
        )
        if missing_ok and answer.status_code == requests.codes.not_found:
            return {}
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
        return answer.json()
