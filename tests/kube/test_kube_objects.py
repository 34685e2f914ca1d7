import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from goodput.sources import kube_files


def pod(name, uid, **metadata):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "uid": uid,
            "namespace": "team",
            "creationTimestamp": "2026-03-01T00:00:00Z",
            **metadata,
        },
        "spec": {"containers": [{"name": "main"}]},
    }


def event(uid="e1", **more):
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "p.1", "namespace": "team", "uid": uid},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "team", "uid": "u1"},
        "reason": "BackOff",
        "type": "Warning",
        "message": "again",
        **more,
    }


def listed(*items, kind="List", **metadata):
    return json.dumps({"apiVersion": "v1", "kind": kind, "items": items, "metadata": metadata})


def at(hour, minute=0, second=0):
    return datetime(2026, 3, 1, hour, minute, second, tzinfo=UTC)


def test_the_newest_instant_inside_is_the_observation_time(read):
    late = pod("b", "2")
    late["status"] = {"startTime": "2026-03-01T02:00:00Z"}
    late["metadata"]["deletionTimestamp"] = "2026-03-01T02:30:00Z"
    rows = read(listed(pod("a", "1"), late))["kube_objects"]
    assert [(r["uid"], r["observed_at"]) for r in rows] == [("1", at(2)), ("2", at(2))]


def test_an_instant_beyond_tomorrow_is_a_wrong_clock(read):
    wrong = pod("a", "1")
    wrong["status"] = {"startTime": "2031-01-01T00:00:00Z"}
    [row] = read(json.dumps(wrong))["kube_objects"]
    assert row["observed_at"] == at(0)


def test_each_line_of_json_lines_is_observed_by_itself(read):
    second = pod("a", "1")
    second["status"] = {"startTime": "2026-03-01T02:00:00Z"}
    rows = read(json.dumps(pod("a", "1")) + "\n" + json.dumps(second))["kube_objects"]
    assert [row["observed_at"] for row in rows] == [at(0), at(2)]


def test_reading_a_copy_gives_the_same_rows(read):
    text = listed(pod("a", "1"), event(lastTimestamp="2026-03-01T02:00:00Z"))
    assert read(text) == read(text, now="2026-04-01T00:00:00Z")


def test_a_watch_tells_of_deletions(read):
    lines = [
        {"type": "ADDED", "object": pod("a", "1")},
        {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {}}},
        {"type": "DELETED", "object": pod("a", "1")},
    ]
    rows = read("\n".join(map(json.dumps, lines)))
    assert [row["is_deleted"] for row in rows["kube_objects"]] == [False, True]
    assert rows["quarantine"] == []


def test_unknown_kinds_are_refused_and_the_rest_is_taken(read):
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "uid": "9"}}
    rows = read(listed(service, pod("a", "1"), service))
    assert [row["uid"] for row in rows["kube_objects"]] == ["1"]
    [refused] = rows["quarantine"]
    assert refused["value"] == "Service (v1)"
    assert refused["reason"].startswith("2 objects of kind Service (v1) left out")


def test_the_list_names_the_kind_of_items_without_one(read):
    bare = pod("a", "1")
    del bare["kind"], bare["apiVersion"]
    [row] = read(listed(bare, kind="PodList"))["kube_objects"]
    assert (row["kind"], row["api_version"]) == ("Pod", "v1")


def test_a_piece_of_an_object_is_refused_with_the_remedy(read):
    [refused] = read("status:\n  conditions:\n  - type: DisruptionTarget\n")["quarantine"]
    assert refused["column_name"] == "kind"
    assert "kubectl get KIND -A -o json" in refused["reason"]


def test_a_manifest_is_no_object_of_a_cluster(read):
    manifest = pod("a", "1")
    del manifest["metadata"]["uid"]
    rows = read(json.dumps(manifest))
    assert rows["kube_objects"] == []
    assert rows["quarantine"][0]["column_name"] == "metadata.uid"


def test_null_times_are_no_times_and_no_error(read):
    nulls = pod("a", "1", deletionTimestamp=None)
    nulls["status"] = {"conditions": [{"type": "Ready", "lastTransitionTime": None}]}
    rows = read(json.dumps(nulls))
    assert rows["quarantine"] == []
    assert json.loads(rows["kube_objects"][0]["body"])["status"]["conditions"] == [
        {"type": "Ready"}
    ]


def test_the_controller_is_the_owner(read):
    owners = [
        {"kind": "Workload", "name": "w", "uid": "o1"},
        {"kind": "Job", "name": "j", "uid": "o2", "controller": True},
    ]
    [row] = read(json.dumps(pod("a", "1", ownerReferences=owners)))["kube_objects"]
    assert (row["owner_kind"], row["owner_name"], row["owner_uid"]) == ("Job", "j", "o2")


def test_a_whole_list_notes_what_its_items_share(read):
    one = pod("a", "1", labels={"job": "x", "index": "0"})
    two = pod("b", "2", labels={"job": "x", "index": "1"})
    [row] = read(listed(one, two))["kube_lists"]
    assert row == {
        "cluster": "default",
        "kind": "Pod",
        "api_group": "",
        "observed_at": at(0),
        "items": 2,
        "namespace": "team",
        "labels": '{"job": "x"}',
    }


def test_lists_that_are_not_whole_are_no_lists(read):
    paged = read(listed(pod("a", "1"), kind="PodList", **{"continue": "token"}))
    assert paged["kube_lists"] == []
    assert paged["quarantine"][0]["column_name"] == "metadata.continue"
    cut = read(listed(pod("a", "1"), pod("b", "2"))[:-200])
    assert cut["kube_lists"] == []
    assert [row["uid"] for row in cut["kube_objects"]] == ["1"]
    assert read(json.dumps(pod("a", "1")))["kube_lists"] == []


def test_the_command_above_pasted_json_is_skipped(read):
    text = "$ kubectl get pod a -o json\n" + json.dumps(pod("a", "1"), indent=2)
    assert kube_files.sniff(text.encode(), "")
    rows = read(text)
    assert [row["uid"] for row in rows["kube_objects"]] == ["1"]
    assert rows["quarantine"] == []


def test_a_node_that_cannot_be_placed_in_time_is_reported(read):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}
    rows = read(json.dumps(node))
    assert len(rows["kube_objects"]) == 1
    assert rows["quarantine"][0]["column_name"] == "metadata.creationTimestamp"


@pytest.mark.parametrize("namespace", [["team"], {"a": 1}, 7])
def test_a_namespace_that_is_no_text_is_none_of_the_list(read, namespace):
    odd, plain = pod("odd", "1", namespace=namespace), pod("plain", "2")
    rows = read(json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [odd, plain]}))
    assert [row["name"] for row in rows["kube_objects"]] == ["odd", "plain"]
    assert [(row["items"], row["namespace"]) for row in rows["kube_lists"]] == [(2, None)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_any_unicode_encoding_is_read(read, encoding):
    assert kube_files.sniff(json.dumps(pod("ä", "1")).encode(encoding), "")
    [row] = read(json.dumps(pod("ä", "1"), ensure_ascii=False).encode(encoding))["kube_objects"]
    assert row["name"] == "ä"


@pytest.mark.parametrize(
    ("fields", "first", "last", "count"),
    [
        (
            {
                "firstTimestamp": "2026-03-01T01:00:00Z",
                "lastTimestamp": "2026-03-01T02:00:00Z",
                "count": 142,
            },
            at(1),
            at(2),
            142,
        ),
        (
            {
                "firstTimestamp": None,
                "lastTimestamp": "0001-01-01T00:00:00Z",
                "eventTime": "2026-03-01T01:00:00.123456Z",
                "series": {"count": 3, "lastObservedTime": "2026-03-01T03:00:00Z"},
            },
            at(1).replace(microsecond=123000),
            at(3),
            3,
        ),
        ({"metadata": {"uid": "e1", "creationTimestamp": "2026-03-01T01:00:00Z"}}, at(1), at(1), 1),
        (
            {
                "firstTimestamp": "2026-03-01T01:00:00Z",
                "lastTimestamp": "2031-03-01T01:00:00Z",
            },
            at(1),
            at(1),
            1,
        ),
    ],
)
def test_the_times_of_an_event_are_reconciled(read, fields, first, last, count):
    [row] = read(json.dumps(event(**fields)))["kube_events"]
    assert (row["first_at"], row["last_at"], row["count"]) == (first, last, count)


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"count": "13"}, 13),
        ({"count": 0}, 1),
        ({"count": None, "series": {"count": "7"}}, 7),
        ({"count": "2", "deprecatedCount": 5}, 5),
    ],
)
def test_a_count_may_be_a_number_in_a_text(read, fields, count):
    rows = read(json.dumps(event(lastTimestamp="2026-03-01T01:00:00Z", **fields)))
    assert [row["count"] for row in rows["kube_events"]] == [count]
    assert rows["quarantine"] == []


@pytest.mark.parametrize("count", ["many", "", "-3", -3, 2.5, True, "1" * 19, [4]])
def test_a_count_that_is_none_is_reported_and_left_out(read, count):
    fields = {"lastTimestamp": "2026-03-01T01:00:00Z", "count": 3, "series": {"count": count}}
    rows = read(json.dumps(event(**fields)))
    assert [row["count"] for row in rows["kube_events"]] == [3]
    [problem] = rows["quarantine"]
    assert (problem["table_name"], problem["column_name"]) == ("kube_events", "series.count")
    assert problem["value"] == str(count)
    assert problem["reason"] == "no whole number; the field was left out"


def test_events_of_the_newer_api_are_the_same(read):
    newer = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "p.1", "namespace": "team", "uid": "e1"},
        "eventTime": "2026-03-01T01:00:00.000000Z",
        "reason": "FailedScheduling",
        "note": "0/2 nodes are available",
        "regarding": {"kind": "Pod", "name": "p", "uid": "u1"},
        "reportingController": "default-scheduler",
        "deprecatedCount": 4,
    }
    [row] = read(json.dumps(newer))["kube_events"]
    assert row["message"] == "0/2 nodes are available"
    assert (row["object_kind"], row["object_uid"]) == ("Pod", "u1")
    assert (row["component"], row["count"]) == ("default-scheduler", 4)


def test_an_event_may_have_the_name_of_a_check_for_a_type(read):
    """NVSentinel writes what does not stop a GPU as an event of the type of the check."""
    check = {"type": "GpuThermalWatch", "reason": "GpuThermalWatchIsNotHealthy"}
    [row] = read(json.dumps(event(lastTimestamp="2026-03-01T01:00:00Z", **check)))["kube_events"]
    assert (row["type"], row["reason"]) == ("GpuThermalWatch", "GpuThermalWatchIsNotHealthy")


def test_an_event_without_any_time_is_refused(read):
    rows = read(json.dumps(event()))
    assert rows["kube_events"] == []
    assert rows["quarantine"][0]["reason"].startswith("an event without any time")


@pytest.mark.parametrize(
    "text", [b'{"step": 1, "loss": 2.0}', b"status: RUNNING\nepoch: 3\n", b"iteration 1/ 100"]
)
def test_other_text_is_not_kubernetes(text):
    assert not kube_files.sniff(text, "a")


def test_only_the_columns_of_the_contract_are_written(read):
    from goodput.contract import columns

    rows = read(listed(pod("a", "1"), event(lastTimestamp="2026-03-01T02:00:00Z"), {"kind": 1}))
    for table, found in rows.items():
        for row in found:
            assert row.keys() <= columns(table).keys()


def test_hostile_shapes_never_raise(read):
    hostile = [
        None,
        1,
        "x",
        [],
        {},
        {"kind": "Pod", "apiVersion": "v1"},
        {"kind": "Pod", "apiVersion": "v1", "metadata": None},
        {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": [], "uid": {}}},
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": "x", "uid": "y"},
            "spec": 3,
            "status": [],
        },
        {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "x", "uid": "y", "labels": [1]}},
        {"kind": "Event", "apiVersion": "v1", "metadata": [], "series": 3, "count": "x"},
        {"kind": {"a": 1}, "apiVersion": ["v1"]},
        {"type": "ADDED", "object": None},
    ]
    rows = read(json.dumps({"kind": "List", "items": hostile}))
    assert {row["uid"] for row in rows["kube_objects"]} == {"y"}
    assert len(rows["quarantine"]) >= 6


def test_gzip_is_left_to_the_caller(tmp_path: Path):
    packed = gzip.compress(json.dumps(pod("a", "1")).encode())
    assert not kube_files.sniff(packed, str(tmp_path / "a.json.gz"))
