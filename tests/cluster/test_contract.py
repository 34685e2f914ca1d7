"""What an API server answers and collectors make of it: the repository's server and a real one.

Each test makes its objects anew, in a namespace and under names of its own.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from cluster_servers import stamp, until

from goodput.errors import SourceUnreachable
from goodput.sources.kube_answers import Refused, Unanswered
from goodput.sources.kube_listing import pages
from goodput.sources.kube_opening import open_api
from goodput.sources.kube_snapshot import Scope, take_kubernetes
from goodput.sources.kube_watch import Pace, watch_kubernetes
from goodput.sources.live_logs import LogOptions, take_logs
from goodput.sources.live_pod_logs import PodLogs

T = "2026-03-02T09:00:00Z"


def pod(name, node="", **labels):
    gpus = {"nvidia.com/gpu": "8"}
    container = {
        "name": "main",
        "image": "train:1",
        "env": [{"name": "TOKEN", "value": "secret"}],
        "resources": {"limits": gpus, "requests": gpus},
    }
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": spec | ({"nodeName": node} if node else {}),
    }


def running(started=T, restarts=0, last=None):
    status = {"name": "main", "image": "train:1", "imageID": "", "ready": True}
    status |= {"restartCount": restarts, "state": {"running": {"startedAt": started}}}
    return {
        "phase": "Running",
        "containerStatuses": [status | ({"lastState": last} if last else {})],
    }


def exited(code, at=T):
    return {"terminated": {"exitCode": code, "finishedAt": at, "startedAt": T, "reason": "Error"}}


def node(name, **conditions):
    known = [
        {"type": kind, "status": status, "reason": "Test", "message": ""}
        | {"lastHeartbeatTime": stamp(), "lastTransitionTime": stamp()}
        for kind, status in conditions.items()
    ]
    held = {"nvidia.com/gpu": "8", "cpu": "192", "pods": "110"}
    return {
        "metadata": {"name": name},
        "spec": {"providerID": f"test:///{name}"},
        "status": {"capacity": held, "allocatable": held, "conditions": known},
    }


def lease(name, renewed, owner):
    reference = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": owner}
    return {
        "metadata": {"name": name, "ownerReferences": [reference]},
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": 4,
            "renewTime": renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }


def event(name, ns, **more):
    return {
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "namespace": ns, "name": "p", "uid": "uid-p"},
        "type": "Warning",
        "reason": "BackOff",
        "message": "back-off restarting failed container",
        "source": {"component": "kubelet", "host": "n1"},
    } | more


def pods(ns):
    return f"/api/v1/namespaces/{ns}/pods"


def events(ns):
    return f"/api/v1/namespaces/{ns}/events"


def test_a_pod_is_kept_as_the_server_shows_it_without_its_secrets(server, take, rows, ns):
    made = server.create(pods(ns), pod("p", team="a"))
    server.patch(f"{pods(ns)}/p/status", {"status": running()})
    take()
    condition = "kind = 'Pod'"
    [(name, uid, at, text)] = rows("kube_objects", "name, uid, observed_at, body", condition)
    assert (name, uid) == ("p", made["metadata"]["uid"])
    assert abs(at - datetime.now(UTC)) < timedelta(minutes=2)
    body = json.loads(text)
    assert body["gpu_requests"] == {"nvidia.com/gpu": 8}
    assert body["metadata"]["labels"] == {"team": "a"}
    assert body["status"]["containerStatuses"][0]["state"] == {
        "running": {"startedAt": "2026-03-02T09:00:00.000Z"}
    }
    assert "secret" not in text


def test_events_of_both_apis_and_without_times_have_one(server, take, rows, ns):
    times = {"firstTimestamp": T, "lastTimestamp": "2026-03-02T09:30:00Z", "count": 7}
    server.create(events(ns), event("old", ns, **times))
    timeless = server.create(events(ns), event("timeless", ns))
    server.create(
        f"/apis/events.k8s.io/v1/namespaces/{ns}/events",
        {
            "metadata": {"name": "new"},
            "regarding": {"kind": "Pod", "namespace": ns, "name": "p", "uid": "uid-p"},
            "type": "Warning",
            "reason": "FailedScheduling",
            "action": "Scheduling",
            "note": "0/1 nodes are available",
            "eventTime": "2026-03-02T09:40:00.123456Z",
            "reportingController": "default-scheduler",
            "reportingInstance": "scheduler-0",
        },
    )
    take()
    columns = "name, reason, message, count, first_at, last_at, component, object_name"
    found = {row[0]: row[1:] for row in rows("kube_events", columns, f"namespace = '{ns}'")}
    created = datetime.fromisoformat(timeless["metadata"]["creationTimestamp"])
    at = datetime(2026, 3, 2, 9, 40, 0, 123000, UTC)
    words = "back-off restarting failed container"
    nine, half_past = datetime(2026, 3, 2, 9, tzinfo=UTC), datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    assert found["timeless"] == ("BackOff", words, 1, created, created, "kubelet", "p")
    # The server's own time of creation is the latest that the event proves.
    assert found["old"][:4] == ("BackOff", words, 7, nine)
    assert found["old"][4] >= half_past
    assert found["new"][:4] == ("FailedScheduling", "0/1 nodes are available", 1, at)
    assert found["new"][5:] == ("default-scheduler", "p")


def test_an_event_that_repeats_keeps_its_uid_and_is_one_row_more(server, take, rows, ns):
    server.create(events(ns), event("e", ns, firstTimestamp=T, lastTimestamp=T, count=1))
    take()
    take()
    here = f"namespace = '{ns}'"
    assert rows("kube_events", "count(*), count(distinct uid)", here) == [(1, 1)]
    server.patch(f"{events(ns)}/e", {"count": 5, "lastTimestamp": stamp()})
    take()
    found = rows("kube_events", "count, count(distinct uid) over ()", here)
    assert found == [(1, 1), (5, 1)]


def make_pods(server, ns, count):
    with ThreadPoolExecutor(8) as many:
        made = many.map(lambda n: server.create(pods(ns), pod(f"p{n:04d}")), range(count))
        return {each["metadata"]["uid"] for each in made}


def test_a_long_list_comes_in_pages_of_one_version(server, api, take, rows, ns):
    uids = make_pods(server, ns, 1201)
    first = api.get(pods(ns), {"limit": "500"}).body["metadata"]
    token = first["continue"]
    assert first["remainingItemCount"] == 701
    server.create(pods(ns), pod("later"))
    second = api.get(pods(ns), {"limit": "500", "continue": token}).body["metadata"]
    assert second["resourceVersion"] == first["resourceVersion"]
    chosen = {"limit": "500", "fieldSelector": "metadata.namespace=" + ns}
    assert "remainingItemCount" not in api.get(pods(ns), chosen).body["metadata"]
    server.delete(f"{pods(ns)}/later")
    take()
    assert {uid for (uid,) in rows("kube_objects", "uid", "kind = 'Pod'")} == uids
    found = rows("kube_lists", "items, namespace, is_consistent", "kind = 'Pod'")
    assert found == [(1201, ns, True)]


def test_a_list_that_expires_goes_on_with_newer_objects_and_says_so(own_plane, api, ns):
    uids = make_pods(own_plane, ns, 1201)
    token = api.get(pods(ns), {"limit": "500"}).body["metadata"]["continue"]
    each_page = pages(api, pods(ns), {})
    seen = list(next(each_page).items)
    own_plane.create(pods(ns), pod("zzz-later"))
    own_plane.forget()
    with pytest.raises(Refused) as refused:
        api.get(pods(ns), {"limit": "500", "continue": token})
    assert (refused.value.status, refused.value.body["reason"]) == (410, "Expired")
    assert refused.value.body["metadata"]["continue"]
    rest = list(each_page)
    assert not rest[-1].is_consistent
    names = [
        item["metadata"]["name"] for item in [*seen, *(i for page in rest for i in page.items)]
    ]
    assert len(names) == len(set(names))
    assert len(uids) == 1201
    assert {f"p{number:04d}" for number in range(1201)} <= set(names)


def test_a_watch_from_a_forgotten_version_is_told_so_inside_of_a_200(own_plane, api, ns):
    version = api.get(pods(ns)).body["metadata"]["resourceVersion"]
    own_plane.create(pods(ns), pod("p"))
    # The watch cache keeps pods; events are watched in etcd, which forgets.
    own_plane.create(events(ns), event("e", ns, firstTimestamp=T, lastTimestamp=T))
    own_plane.forget()
    parameters = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "5"}
    [line] = list(api.follow(events(ns), parameters))[:1]
    told = json.loads(line)
    assert (told["type"], told["object"]["code"], told["object"]["reason"]) == (
        "ERROR",
        410,
        "Expired",
    )


@pytest.fixture
def watching(lake, api, ns):
    """Watches a namespace in the background until the block ends."""

    class Watching:
        def __enter__(self):
            self.stop = threading.Event()
            self.thread = threading.Thread(
                target=watch_kubernetes,
                args=(lake, api, Scope(namespaces=(ns,))),
                kwargs={
                    "cluster": "prod",
                    "stop": self.stop,
                    "pace": Pace(look_s=600, publish_s=0.1, pause_s=0.1),
                },
            )
            self.thread.start()
            return self

        def __exit__(self, *_):
            self.stop.set()
            self.thread.join(30)

    return Watching


def test_a_watch_takes_every_transition_and_the_deletion(server, watching, rows, ns):
    def seen():
        found = rows("kube_objects", "body, is_deleted", "kind = 'Pod'")
        return {(json.loads(body)["status"]["phase"], deleted) for body, deleted in found}

    with watching():
        until(lambda: bool(rows("kube_lists", "kind", "kind = 'Pod'")), True)
        server.create(pods(ns), pod("p") | {"status": {"phase": "Pending"}})
        server.patch(f"{pods(ns)}/p/status", {"status": running()})
        server.patch(f"{pods(ns)}/p/status", {"status": {"phase": "Succeeded"}})
        server.delete(f"{pods(ns)}/p")
        wanted = {("Pending", False), ("Running", False), ("Succeeded", False), ("Succeeded", True)}
        until(seen, wanted)


def test_an_event_whose_time_is_over_is_no_deletion(own_plane, watching, rows, ns):
    server = own_plane
    here = f"namespace = '{ns}'"
    with watching():
        until(lambda: bool(rows("kube_lists", "kind", "kind = 'Event'")), True)
        server.create(events(ns), event("e", ns, firstTimestamp=T, lastTimestamp=T))
        until(lambda: rows("kube_events", "name", here), [("e",)])
        server.expire(f"{events(ns)}/e")
        server.create(pods(ns), pod("after"))
        until(lambda: bool(rows("kube_objects", "name", "name = 'after'")), True)
    assert rows("kube_events", "count(distinct uid), count(*)", here) == [(1, 1)]
    assert rows("kube_objects", "name", f"is_deleted and {here}") == []


def test_a_version_that_is_still_to_come_is_asked_for_in_vain(server, api, ns):
    if not server.is_real:
        pytest.skip("nobody asks for one; what the real server says is on record here")
    with pytest.raises(Unanswered) as caught:
        api.get(pods(ns), {"resourceVersion": "99999999999"})
    assert caught.value.status == 504


def test_what_is_missing_in_the_next_list_is_gone_by_then(server, take, ns, observed):
    server.create(pods(ns), pod("stays"))
    gone = server.create(pods(ns), pod("goes"))["metadata"]["uid"]
    take()
    server.delete(f"{pods(ns)}/goes")
    time.sleep(1.1)  # the clock in its answers has whole seconds
    take()
    found = dict(observed("object_presence", "uid, missing_at is not null"))
    assert found.pop(gone) is True
    assert not any(found[uid] for uid in found)


def test_what_may_not_be_read_is_recorded_and_the_rest_is_taken(server, api, take, rows, ns):
    server.create(pods(ns), pod("p"))
    server.create(events(ns), event("e", ns, firstTimestamp=T, lastTimestamp=T))
    server.forbid("pods")
    until(lambda: is_refused(api, pods(ns)), True)
    look = take()
    assert look.refused == (f"Pod of {ns}",)
    [(source, reason)] = rows("collector_gaps", "source_name, reason")
    assert source == f"kubernetes Pod of {ns}"
    assert reason.startswith("403: pods is forbidden")
    assert rows("kube_events", "name", f"namespace = '{ns}'") == [("e",)]


def is_refused(api, path, **parameters):
    try:
        api.get(path, parameters)
    except Unanswered:  # no JSON: the text of a log
        return False
    except Refused as refused:
        return refused.status == 403
    return False


def test_the_roles_of_the_guide_are_enough_and_no_more(server, api, take, ns):
    look = take()
    assert (look.refused, look.unanswered) == ((), ())
    if server.is_real:
        for path in ("/api/v1/secrets", f"/api/v1/namespaces/{ns}/configmaps"):
            assert is_refused(api, path)


def test_a_bad_token_is_an_error_that_says_so(server, lake):
    api = open_api(server.kubeconfig("none-of-its"))
    with pytest.raises(SourceUnreachable, match="401: Unauthorized"):
        take_kubernetes(lake, api, Scope(), cluster="prod")
    api.close()


def test_kinds_are_taken_once_they_are_installed(server, take, rows, ns):
    group = "jobset.x-k8s.io"
    condition = "kind = 'JobSet'"
    assert take().unanswered == ()
    assert rows("kube_lists", "kind", condition) == []
    server.install(group, "v1alpha2", "JobSet", "jobsets")
    server.create(
        f"/apis/{group}/v1alpha2/namespaces/{ns}/jobsets",
        {
            "apiVersion": f"{group}/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": "js"},
            "status": {"restarts": 2},
        },
    )
    take()
    assert rows("kube_objects", "name, body ->> '$.status.restarts'", condition) == [("js", "2")]
    assert rows("kube_lists", "items", condition) == [(1,)]


def test_labels_and_namespaces_choose_and_events_of_nodes_come_along(server, take, rows, ns):
    server.create(pods(ns), pod("a", team="a"))
    server.create(pods(ns), pod("b", team="b"))
    about = {"kind": "Node", "name": f"node-of-{ns}", "uid": "u", "namespace": ""}
    times = {"firstTimestamp": T, "lastTimestamp": T}
    server.create(
        events("default"), event(f"n.{ns}", "default", **times) | {"involvedObject": about}
    )
    server.create(events("default"), event(f"p.{ns}", "default", **times))
    take(selector="team=a")
    assert rows("kube_objects", "name", "kind = 'Pod'") == [("a",)]
    assert rows("kube_events", "name", f"name like '%.{ns}'") == [(f"n.{ns}",)]
    assert rows("kube_lists", "labels", "kind = 'Pod'") == [('{"team": "a"}',)]


def test_conditions_of_a_node_that_is_lost_are_unknown_all_of_them(server, take, ns, observed):
    name = f"node-{ns}"
    conditions = {"Ready": "True", "MemoryPressure": "False", "GpuUnhealthy": "False"}
    made = server.create("/api/v1/nodes", node(name, **conditions))
    renewed = datetime.now(UTC).replace(microsecond=123456)
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    server.create(path, lease(name, renewed, made["metadata"]["uid"]))
    take()
    time.sleep(6)
    server.lose(name)
    take()
    found = observed(
        "node_condition_events_kube",
        "type, status, reason, t",
        f"node_uid = '{made['metadata']['uid']}'",
    )
    last = {
        kind: (status, reason, t) for kind, status, reason, t in sorted(found, key=lambda r: r[3])
    }
    assert {last[kind][0] for kind in conditions} == {"Unknown"}
    # The controller knows nothing of a condition of a site's own; the lease does.
    bound = renewed.replace(microsecond=123000) + timedelta(seconds=4)
    assert last["GpuUnhealthy"] == ("Unknown", "NodeLeaseStale", bound)


@pytest.fixture
def logged(own_plane, lake, api, ns):
    """A pod whose kubelet shows logs, and what a run of the collector adds."""
    name = f"node-{ns}"
    own_plane.create("/api/v1/nodes", node(name, Ready="True"))
    own_plane.kubelet_of(name)
    own_plane.create(pods(ns), pod("p", name))

    def collect():
        source = PodLogs(api, Scope(namespaces=(ns,)), "prod")
        taken = take_logs(lake, source, LogOptions(cluster="prod"), now=datetime.now(UTC))
        added = {table: count for table, count in taken.rows_added.items() if count}
        added.pop("log_lists")  # each look has one
        return added

    return collect


# What is older than some hours would not be asked for again.
LOG_START = int(time.time()) - 120


def step(second, number):
    clock = stamp(LOG_START + second).removesuffix("Z")
    return f"{clock}.123456789Z completed step: {number}, seconds: 1.0"


def test_logs_come_through_the_server_from_both_runs_without_loss(server, logged, rows, ns):
    assert logged() == {}
    server.patch(f"{pods(ns)}/p/status", {"status": running()})
    server.put_logs(ns, "p", "main", [[step(1, 1), step(2, 2)]])
    assert logged()["log_steps"] == 2
    assert logged() == {}
    server.put_logs(ns, "p", "main", [[step(1, 1), step(2, 2), step(3, 3)]])
    assert logged()["log_steps"] == 1
    again = running(stamp(LOG_START + 5), 1, exited(1, stamp(LOG_START + 3)))
    server.patch(f"{pods(ns)}/p/status", {"status": again})
    runs = [[step(1, 1), step(2, 2), step(3, 3), step(3, 4)], [step(7, 3)]]
    server.put_logs(ns, "p", "main", runs)
    logged()
    assert rows("log_steps", "first, line") == [(1, 1), (2, 2), (3, 1), (3, 3), (4, 4)]
    assert set(rows("log_files", "split_part(path, '/', 7)[1:5], last_step")) == {
        ("0.log", 2),
        ("0.log", 3),
        ("0.log", 4),
        ("1.log", 3),
    }


def test_logs_that_may_not_be_read_are_recorded(server, logged, api, rows, ns):
    server.patch(f"{pods(ns)}/p/status", {"status": running()})
    server.put_logs(ns, "p", "main", [[step(1, 1)]])
    server.forbid("pods/log")
    until(lambda: is_refused(api, f"{pods(ns)}/p/log", container="main"), True)
    logged()
    assert rows("collector_gaps", "source_name, left(reason, 4)") == [
        (f"kubernetes pods/log of {ns}", "403:")
    ]


WHAT = {
    "kube_objects": "namespace, kind, name, uid, resource_version, body",
    "kube_events": "namespace, uid, count, last_at",
    "log_steps": "log_id, line, first, ended_at",
}


def collectors(server, ns, folder):
    words = [sys.executable, "-m", "goodput", "--lake", str(folder), "collect"]
    where = ["--kubeconfig", str(server.kubeconfig()), "--namespace", ns]
    return [[*words, "kubernetes", *where], [*words, "logs", "--pods", *where]]


def distinct(rows, ns):
    """What is known, but of nodes: those of other tests come and go."""
    found = {table: set(rows(table, columns)) for table, columns in WHAT.items()}
    for table in ("kube_objects", "kube_events"):
        found[table] = {row for row in found[table] if row[0] == ns}
    return found


@pytest.mark.parametrize("after_s", [0.6, 0.9, 1.2, 1.6, 2.2])
@pytest.mark.usefixtures("logged", "lake")
def test_two_at_once_one_of_them_killed_and_repeated_give_the_same_rows(
    server, rows, ns, tmp_path, after_s
):
    make_pods(server, ns, 20)
    for number in range(20):
        server.create(events(ns), event(f"e{number}", ns, firstTimestamp=T, lastTimestamp=T))
    server.patch(f"{pods(ns)}/p/status", {"status": running()})
    server.put_logs(ns, "p", "main", [[step(second, second) for second in range(1, 50)]])
    for words in collectors(server, ns, tmp_path / "lake"):
        killed = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        other = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        time.sleep(after_s)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert other.wait(120) == 0
    found = distinct(rows, ns)
    for words in collectors(server, ns, tmp_path / "lake"):
        subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    assert distinct(rows, ns) == found
    counts = "count(distinct row_id), count(distinct uid)"
    assert rows("kube_events", counts, f"namespace = '{ns}'") == [(20, 20)]
    assert rows("log_steps", "count(distinct row_id), count(distinct first)") == [(49, 49)]
