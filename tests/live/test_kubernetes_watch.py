"""`collect kubernetes --watch`: every transition, and none lost where a watch ends or breaks."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from fake_kubernetes import Fault
from planted import AT_THE_CUT, PASSWORD, PLANTED, planted_objects

from goodput.errors import SourceUnreachable, UsageError
from goodput.sources.kube_snapshot import Scope
from goodput.sources.kube_watch import Pace, watch_kubernetes


def pod(version, phase="Running", name="p1"):
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | {"resourceVersion": str(version)},
        "status": {"phase": phase},
    }


def change(kind, *arguments, **more):
    return {"type": kind, "object": pod(*arguments, **more)}


@pytest.fixture
def watching(lake, api, cluster):
    """Watches in the background until the `with` block ends; gives what was said."""

    class Watching:
        def __init__(self, look_s=30.0):
            self.stop = threading.Event()
            self.said = []
            pace = Pace(look_s=look_s, publish_s=0.05, pause_s=0.01)
            self.thread = threading.Thread(
                target=watch_kubernetes,
                args=(lake, api, Scope()),
                kwargs={
                    "cluster": "prod",
                    "stop": self.stop,
                    "pace": pace,
                    "say": self.said.append,
                },
            )

        def __enter__(self):
            self.thread.start()
            return self

        def __exit__(self, *_):
            self.stop.set()
            self.thread.join(20)
            cluster.closing = True

    return Watching


def eventually(ask, wanted):
    """Waits until what is asked for is so; a test that never gets there shows what was."""
    until = time.monotonic() + 20
    while (found := ask()) != wanted and time.monotonic() < until:
        time.sleep(0.05)
    assert found == wanted


def test_every_transition_is_taken_and_a_deletion_is_one(watching, cluster, rows):
    cluster.add("pods", pod(900, "Pending"))
    with watching():
        cluster.changes["pods"] = [
            change("MODIFIED", 1001, "Running"),
            change("MODIFIED", 1002, "Succeeded"),
            change("DELETED", 1003, "Succeeded"),
        ]
        columns = "resource_version, is_deleted, body ->> '$.status.phase'"
        wanted = [
            ("1001", False, "Running"),
            ("1002", False, "Succeeded"),
            ("1003", True, "Succeeded"),
            ("900", False, "Pending"),
        ]
        eventually(lambda: rows("kube_objects", columns), wanted)
    assert rows("kube_objects", "max(observed_at)::date::varchar") == [("2026-03-02",)]


@pytest.mark.parametrize("planted", [PLANTED, AT_THE_CUT], ids=["short", "at the cut"])
def test_a_secret_in_any_field_is_neither_looked_at_nor_watched_into_the_lake(
    planted, watching, cluster, rows
):
    served = {(each.version, each.kind): each.plural for each in cluster.served}
    found = [
        (served[item["apiVersion"], item["kind"]], item)
        for item in planted_objects(planted)
        if (item["apiVersion"], item["kind"]) in served
    ]
    assert {plural for plural, _ in found} == {"nodes", "pods", "events", "jobs", "leases"}
    for plural, item in found:
        item["metadata"]["namespace"] = "kube-node-lease" if plural == "leases" else "team"
        cluster.add(plural, item)
    with watching():
        for plural, item in found:
            metadata = {**item["metadata"], "resourceVersion": "2000"}
            again = {"type": "MODIFIED", "object": {**item, "metadata": metadata}}
            cluster.changes[plural] = [again]
        versions = "count(*) filter (resource_version = '2000'), count(*)"
        # A lease changes all the time and is only looked at.
        eventually(lambda: rows("kube_objects", versions), [(3, 7)])
        eventually(lambda: rows("kube_events", versions), [(1, 2)])
    for table in ("kube_objects", "kube_events", "kube_lists", "quarantine", "collector_gaps"):
        assert PASSWORD not in str(rows(table, "*")), table


def test_a_watch_that_breaks_goes_on_where_it_was(watching, cluster, rows):
    cluster.breaking.add("pods")
    cluster.changes["pods"] = [change("MODIFIED", 1001), change("MODIFIED", 1002)]
    with watching():
        eventually(
            lambda: rows("kube_objects", "resource_version"),
            [("1001",), ("1002",)],
        )
        watches = [item for item in cluster.asked("pods") if "watch" in item]
        assert [item["resourceVersion"] for item in watches] == ["1000", "1001"]


def test_a_watch_that_expired_begins_at_a_new_look(watching, cluster, rows):
    cluster.oldest = 1500
    with watching():
        eventually(lambda: len([1 for item in cluster.asked("pods") if "limit" in item]) > 1, True)
        cluster.version = 2000
        cluster.changes["pods"] = [change("MODIFIED", 1400), change("MODIFIED", 2001)]
        eventually(lambda: rows("kube_objects", "resource_version"), [("2001",)])


def test_the_next_look_is_taken_in_time_and_the_watch_loses_nothing(watching, cluster, rows):
    cluster.changes["pods"] = [change("MODIFIED", 1001)]
    with watching(look_s=1.0):
        eventually(lambda: len([1 for item in cluster.asked("pods") if "limit" in item]) > 1, True)
        eventually(lambda: len([1 for item in cluster.asked("pods") if "watch" in item]) > 1, True)
        cluster.changes["pods"].append(change("MODIFIED", 1002))
        eventually(
            lambda: rows("kube_objects", "resource_version"),
            [("1001",), ("1002",)],
        )
    watches = [item["resourceVersion"] for item in cluster.asked("pods") if "watch" in item]
    assert watches[:2] == ["1000", "1001"]


def test_a_quiet_list_goes_on_from_the_look_when_its_last_version_was_forgotten(
    watching, cluster, rows
):
    cluster.changes["pods"] = [change("MODIFIED", 1001)]
    with watching(look_s=1.0) as watch:
        eventually(lambda: rows("kube_objects", "resource_version"), [("1001",)])
        cluster.version = cluster.oldest = 3000
        watched = lambda: [i["resourceVersion"] for i in cluster.asked("pods") if "watch" in i]  # noqa: E731
        eventually(lambda: watched()[-2:], ["1001", "3000"])
        cluster.changes["pods"].append(change("MODIFIED", 3001))
        eventually(lambda: rows("kube_objects", "resource_version"), [("1001",), ("3001",)])
    assert not any("not watched" in line for line in watch.said)


def test_a_list_that_may_not_be_watched_is_looked_at_no_more_often(watching, cluster, rows):
    cluster.add("pods", pod(900))
    cluster.unwatchable.add("pods")
    with watching() as watch:
        eventually(lambda: any("Pod: not watched (403" in line for line in watch.said), True)
        time.sleep(0.3)
    assert len(cluster.asked("pods")) == 2
    assert len(cluster.asked("leases")) == 1
    assert rows("kube_objects", "resource_version") == [("900",)]


def test_an_event_that_runs_out_of_its_time_is_no_new_row(watching, cluster, rows):
    event = {
        "metadata": {"name": "e", "uid": "e", "resourceVersion": "1001"},
        "involvedObject": {"kind": "Pod", "name": "p1"},
        "lastTimestamp": "2026-03-02T09:00:00Z",
    }
    event |= {"apiVersion": "v1", "kind": "Event"}
    cluster.add("events", event)
    last = {**event, "metadata": {**event["metadata"], "resourceVersion": "1001"}}
    cluster.changes["events"] = [{"type": "DELETED", "object": last}]
    cluster.changes["pods"] = [change("MODIFIED", 1002)]
    with watching():
        eventually(lambda: rows("kube_objects", "resource_version"), [("1002",)])
    assert rows("kube_events", "uid") == [("e",)]


def test_a_first_look_that_fails_is_an_error(lake, api, cluster):
    cluster.tokens.clear()
    with pytest.raises(SourceUnreachable, match="401"):
        watch_kubernetes(lake, api, Scope(), cluster="prod", stop=threading.Event())


def test_each_look_that_brings_rows_has_a_line(watching, cluster, rows):
    cluster.add("pods", pod(900))
    cluster.changes["pods"] = [change("MODIFIED", 1001), change("MODIFIED", 1002)]
    with watching() as watch:
        eventually(
            lambda: rows("kube_objects", "resource_version"), [("1001",), ("1002",), ("900",)]
        )
    told = [line.split("Z: ", 1) for line in watch.said if re.match(r"\d\d:\d\d:\d\dZ: ", line)]
    assert [rows for _, rows in told] == [
        "kube_lists: 5 new rows, kube_objects: 1 new row",
        "kube_objects: 2 new rows",
    ]


def test_the_command_stays_until_it_is_told_to_stop_and_publishes_what_came(
    cluster, kubeconfig, tmp_path, rows
):
    cluster.changes["pods"] = [change("MODIFIED", 1001)]
    words = ["-m", "goodput", "--lake", tmp_path / "lake", "collect", "kubernetes", "--watch"]
    with subprocess.Popen(
        [sys.executable, *words, "--kubeconfig", kubeconfig],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            eventually(lambda: [1 for item in cluster.asked("pods") if "watch" in item], [1])
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            said = process.stderr.read().decode().splitlines()
        finally:
            cluster.closing = True
            process.kill()
    assert rows("kube_objects", "resource_version") == [("1001",)]
    assert said[-2].endswith("Z: kube_objects: 1 new row")
    assert said[-1] == "stopped; what came is published"


def test_a_sign_in_that_fails_later_is_tried_again(
    watching, api, cluster, rows, tmp_path, monkeypatch
):
    def fails():
        raise UsageError("the program that signs in is away")

    cluster.add("pods", pod(900))
    with watching(look_s=0.2) as watch:
        eventually(lambda: rows("kube_objects", "count(distinct uid)"), [(1,)])
        with monkeypatch.context() as patch:
            patch.setattr(api, "_sign_in", fails)
            cluster.tokens = {"next"}
            eventually(lambda: "the program that signs in is away" in watch.said, True)
        assert watch.thread.is_alive()
        (tmp_path / "token").write_text("next")
        cluster.add("pods", pod(901, name="p2"))
        eventually(lambda: rows("kube_objects", "count(distinct uid)"), [(2,)])


def test_a_look_that_fails_after_a_watch_expired_is_taken_again(watching, cluster, rows):
    cluster.oldest = 1500
    cluster.faults["/apis"] = Fault("reset", range(1, 9))
    with watching() as watch:
        eventually(
            lambda: any("the API server does not answer" in line for line in watch.said), True
        )
        cluster.version = 2000
        cluster.changes["pods"] = [change("MODIFIED", 2001)]
        eventually(lambda: rows("kube_objects", "resource_version"), [("2001",)])


def test_a_watch_outlives_its_token(watching, cluster, rows, tmp_path):
    with watching(look_s=1.0):
        eventually(lambda: bool([1 for item in cluster.asked("pods") if "watch" in item]), True)
        (tmp_path / "token").write_text("next")
        cluster.tokens = {"next"}
        cluster.changes["pods"] = [change("MODIFIED", 1001)]
        eventually(lambda: rows("kube_objects", "resource_version"), [("1001",)])
        eventually(lambda: len([1 for item in cluster.asked("pods") if "limit" in item]) > 1, True)


ERROR = "the server ended the watch with an error"
NO_CHANGE = "half a line of a watch, or no change of an object"


@pytest.mark.parametrize(
    ("line", "message", "reason"),
    [
        ({"type": "ERROR"}, None, ERROR),
        ({"type": "ERROR", "object": None}, None, ERROR),
        ({"type": "ERROR", "object": "x"}, None, ERROR),
        ({"type": "ERROR", "object": {"code": 500, "message": "etcd"}}, "etcd", ERROR),
        ({"type": "MODIFIED", "object": None}, None, NO_CHANGE),
        ({"type": "MODIFIED", "object": {"metadata": None}}, None, NO_CHANGE),
        ({"type": "MODIFIED", "object": pod("")}, None, NO_CHANGE),
        ({"type": "MODIFIED", "object": pod("\ud800")}, None, NO_CHANGE),
        ({"type": ["MODIFIED"], "object": pod(1001)}, None, NO_CHANGE),
        ({"type": None, "object": pod(1001)}, None, NO_CHANGE),
        ({"object": pod(1001)}, None, NO_CHANGE),
        ([1], None, NO_CHANGE),
        ("<html>", None, NO_CHANGE),
    ],
)
def test_a_line_that_is_no_change_begins_the_watch_again_and_is_recorded(
    watching, server, cluster, rows, line, message, reason
):
    lines = [line]

    class Odd(server.RequestHandlerClass):
        def watch(self, plural, parameters):
            if plural == "pods" and lines:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.chunk(change("MODIFIED", 1001))
                self.chunk(lines.pop())
                self.wfile.write(b"0\r\n\r\n")
            else:
                super().watch(plural, parameters)

    server.RequestHandlerClass = Odd
    cluster.changes["pods"] = [change("MODIFIED", 1001), change("MODIFIED", 1002)]
    with watching():
        eventually(lambda: rows("kube_objects", "resource_version"), [("1001",), ("1002",)])
    columns = "file, row_number, table_name, value, reason"
    assert rows("quarantine", columns) == [
        ("kubernetes /api/v1/pods", None, "kube_objects", message, reason)
    ]
    watches = [item["resourceVersion"] for item in cluster.asked("pods") if "watch" in item]
    assert watches == ["1000", "1001"]


def test_a_line_that_cannot_be_passed_is_passed_at_the_next_look(watching, server, cluster, rows):
    class Odd(server.RequestHandlerClass):
        def watch(self, plural, parameters):
            if plural == "pods" and parameters["resourceVersion"] == "1001":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.chunk({"type": "MODIFIED", "object": None})
                self.wfile.write(b"0\r\n\r\n")
            else:
                super().watch(plural, parameters)

    server.RequestHandlerClass = Odd
    cluster.changes["pods"] = [change("MODIFIED", 1001)]
    with watching(look_s=1.0):
        eventually(lambda: rows("kube_objects", "resource_version"), [("1001",)])
        cluster.version = 2000
        cluster.changes["pods"].append(change("MODIFIED", 2001))
        eventually(lambda: rows("kube_objects", "resource_version"), [("1001",), ("2001",)])
