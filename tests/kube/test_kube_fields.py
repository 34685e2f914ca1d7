import tomllib
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from goodput._resources import catalog_dir
from goodput.sources.kube_fields import Pruner
from goodput.sources.kube_kinds import find_kind, is_gpu_resource
from goodput.sources.kube_values import parse_instant, parse_quantity

SECRET = "hunter2"
VOLCANO = ("Job", "batch.volcano.sh/v1alpha1")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8", 8),
        (8, 8),
        ("8k", 8000),
        ("100m", Fraction(1, 10)),
        ("1.5Gi", 1610612736),
        ("1e3", 1000),
        ("1E", 10**18),
        ("+2", 2),
        (".5", Fraction(1, 2)),
        ("0", 0),
        ("250u", Fraction(1, 4000)),
    ],
)
def test_a_quantity_is_read_exactly(text, number):
    assert parse_quantity(text) == number


@pytest.mark.parametrize(
    "text", ["", "eight", "8 GPUs", "1.2.3", "8K", "0x8", None, True, [8], "1e999"]
)
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(ValueError, match="no quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    "never", [None, "", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00+08:00"]
)
def test_null_and_zero_times_are_no_times(never):
    assert parse_instant(never) is None


def test_an_instant_is_utc_and_floored_to_milliseconds():
    instant = parse_instant("2026-03-01T12:00:00.123999+01:00")
    assert instant == datetime(2026, 3, 1, 11, 0, 0, 123000, tzinfo=UTC)


@pytest.mark.parametrize("text", ["yesterday", "2026-03-01T12:00:00", "2026-13-01T00:00:00Z", 17])
def test_what_is_no_instant_with_a_zone_is_refused(text):
    with pytest.raises(ValueError, match="RFC 3339"):
        parse_instant(text)


def test_gpu_resources_are_known_by_the_catalogue():
    named = ["nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"]
    assert all(map(is_gpu_resource, named))
    assert not any(map(is_gpu_resource, ["cpu", "nvidia.com/gpu.count", "vpc.amazonaws.com/efa"]))


def prune(value, kind="Pod", api_version="v1"):
    pruner = Pruner()
    found = find_kind(kind, api_version)
    assert found is not None
    return pruner.prune(value, found), pruner


def test_secrets_never_reach_the_body():
    body, _ = prune(
        {
            "metadata": {
                "name": "p",
                "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": SECRET,
                    "batch.kubernetes.io/job-completion-index": "3",
                },
                "managedFields": [{"x": SECRET}],
            },
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "env": [{"name": "TOKEN", "value": SECRET}],
                        "args": [SECRET],
                        "command": [SECRET],
                    }
                ],
                "volumes": [{"secret": {"secretName": SECRET}}],
            },
            "status": {
                "containerStatuses": [
                    {"name": "main", "state": {"terminated": {"exitCode": 1, "message": SECRET}}}
                ]
            },
        }
    )
    assert SECRET not in str(body)
    assert body == {
        "metadata": {"name": "p", "annotations": {"batch.kubernetes.io/job-completion-index": "3"}},
        "spec": {"containers": [{"name": "main"}]},
        "status": {
            "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 1}}}]
        },
        "gpu_requests": {},
    }


def container(gpus, **more):
    return {"name": "c", "resources": {"limits": {"nvidia.com/gpu": gpus}}, **more}


@pytest.mark.parametrize(
    ("spec", "gpus"),
    [
        ({"containers": [container("4"), container(4)]}, 8),
        ({"containers": [container("2")], "initContainers": [container("8")]}, 8),
        (
            {
                "containers": [container("2")],
                "initContainers": [container("1", restartPolicy="Always")],
            },
            3,
        ),
        (
            {
                "containers": [container("1")],
                "initContainers": [container("1", restartPolicy="Always"), container("4")],
            },
            5,
        ),
        ({"containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]}, 1),
        ({"containers": [container("0")]}, None),
        ({"containers": None}, None),
    ],
)
def test_a_pod_asks_for_the_most_that_its_containers_need_at_once(spec, gpus):
    assert Pruner().requests(spec, "spec") == ({"nvidia.com/gpu": gpus} if gpus else {})


@pytest.mark.parametrize(
    ("value", "reason"),
    [("eight", "no Kubernetes quantity"), ("100m", "no whole number"), ("-1", "no whole number")],
)
def test_a_bad_gpu_count_is_reported_and_left_out(value, reason):
    body, pruner = prune(
        {"status": {"capacity": {"nvidia.com/gpu": value, "cpu": "eight", "amd.com/gpu": "8k"}}},
        "Node",
    )
    assert body["status"]["capacity"] == {"amd.com/gpu": 8000}
    [(path, found, why)] = pruner.problems
    assert (path, found) == ("status.capacity[nvidia.com/gpu]", value)
    assert why.startswith(reason)


def test_a_bad_time_is_reported_and_left_out():
    body, pruner = prune({"metadata": {"name": "n", "creationTimestamp": "yesterday"}}, "Node")
    assert body["metadata"] == {"name": "n"}
    assert pruner.problems == [
        ("metadata.creationTimestamp", "yesterday", "no RFC 3339 time; the field was left out")
    ]


def test_text_that_no_store_takes_is_replaced():
    body, _ = prune({"metadata": {"name": "n", "labels": {"a": "x\x00y\ud800z"}}}, "Node")
    assert body["metadata"]["labels"] == {"a": "x\ufffdy\ufffdz"}


def test_replica_groups_of_every_shape_become_pod_sets():
    template = {"spec": {"containers": [container("8")]}}
    jobset = {
        "spec": {
            "replicatedJobs": [
                {
                    "name": "w",
                    "replicas": 4,
                    "template": {"spec": {"parallelism": 2, "template": template}},
                }
            ]
        }
    }
    expected = {"count": 8, "gpu_requests": {"nvidia.com/gpu": 8}, "node_selector": {}}
    body, _ = prune(jobset, "JobSet", "jobset.x-k8s.io/v1alpha2")
    assert body["pod_sets"] == [{"name": "w", **expected}]
    torch = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 8, "template": template}}}}
    body, _ = prune(torch, "PyTorchJob", "kubeflow.org/v1")
    assert body["pod_sets"] == [{"name": "Worker", **expected}]
    plain = {"spec": {"parallelism": 8, "template": template}}
    body, _ = prune(plain, "Job", "batch/v1")
    assert body["pod_sets"] == [{"name": "spec", **expected}]
    volcano = {"spec": {"tasks": [{"name": "w", "replicas": 8, "template": template}]}}
    body, _ = prune(volcano, *VOLCANO)
    assert body["pod_sets"] == [{"name": "w", **expected}]


@pytest.mark.parametrize(
    ("replicas", "parallelism", "count"),
    [("4", "2", 8), (4.0, 2, 8), ("4", None, 4), (0, "2", 0), (None, None, 1)],
)
def test_replicas_may_be_numbers_in_texts(replicas, parallelism, count):
    group = {"replicas": replicas, "template": {"spec": {"parallelism": parallelism}}}
    body, pruner = prune({"spec": {"replicatedJobs": [group]}}, "JobSet", "jobset.x-k8s.io/v1")
    assert [found["count"] for found in body["pod_sets"]] == [count]
    assert pruner.problems == []


@pytest.mark.parametrize("replicas", ["four", "4.5", -1, True, 1 << 21, [4], "4 "])
def test_replicas_that_are_no_number_are_reported(replicas):
    body, pruner = prune({"spec": {"tasks": [{"name": "w", "replicas": replicas}]}}, *VOLCANO)
    assert [found["count"] for found in body["pod_sets"]] == [1]
    reason = "no whole number from 0 to 1048576; the field was left out"
    assert pruner.problems == [("spec.tasks[0].replicas", str(replicas), reason)]


def test_numbers_in_texts_are_kept_as_numbers_in_all_fields_that_hold_some():
    terminated = {"exitCode": "137", "signal": "nine"}
    status = {"name": "c", "restartCount": "3", "state": {"terminated": terminated}}
    body, pruner = prune({"status": {"containerStatuses": [status], "phase": "4"}})
    assert body["status"] == {
        "containerStatuses": [
            {"name": "c", "restartCount": 3, "state": {"terminated": {"exitCode": 137}}}
        ],
        "phase": "4",
    }
    [(path, found, _)] = pruner.problems
    assert (path, found) == ("status.containerStatuses[0].state.terminated.signal", "nine")


def test_every_field_of_numbers_is_one_that_is_kept():
    settings = tomllib.loads((catalog_dir() / "kube_fields.toml").read_text(encoding="utf-8"))
    kept = {path for paths in settings["role"].values() for path in paths}
    assert set(settings["numbers"]) <= kept
