"""Objects as an API server gives them, made up of as little as a look needs."""

LATER = "Mon, 02 Mar 2026 10:15:00 GMT"
"""When a second look is taken, as the server's Date says."""


def meta(name, namespace=None, **more):
    found = {
        "name": name,
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-03-02T09:00:00Z",
        "resourceVersion": "7",
        **more,
    }
    return found | ({"namespace": namespace} if namespace else {})


def pod(name, namespace="team", **labels):
    container = {
        "name": "main",
        "env": [{"name": "TOKEN", "value": "secret"}],
        "args": ["--password=secret"],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    return {
        "metadata": meta(name, namespace, labels=labels, annotations={"note": "secret"}),
        "spec": {"nodeName": "n1", "containers": [container]},
        "status": {"phase": "Running"},
    }


def event(name, namespace="team", about="Pod", count=1, last="2026-03-02T09:30:00Z", **more):
    return {
        "metadata": meta(name, namespace, **more),
        "involvedObject": {"kind": about, "name": "it", "uid": "uid-it"},
        "reason": "BackOff",
        "count": count,
        "firstTimestamp": "2026-03-02T09:10:00Z",
        "lastTimestamp": last,
    }


def lease(name, namespace="kube-node-lease"):
    spec = {
        "holderIdentity": name,
        "leaseDurationSeconds": 40,
        "renewTime": "2026-03-02T09:59:57.123456Z",
    }
    return {"metadata": meta(name, namespace), "spec": spec}


def jobset(name):
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": meta(name, "team"),
        "status": {"restarts": 2},
    }
