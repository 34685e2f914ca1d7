"""A cluster of which only Prometheus tells: its nodes, pods, attempts."""

import json

import pytest
from prom_states import LINK, give_hours, give_states


def capacity(node):
    return f'{{"node":"{node}","resource":"nvidia_com_gpu"}}'


def give_alone(bench, query, labels, text):
    """Samples of a cluster of which nothing else tells."""
    give_states(bench, query, labels, text, cluster="alone")


def test_a_cluster_of_which_only_prometheus_tells_has_the_nodes_that_it_sampled(bench):
    """The first one's device plugin restarts; the second goes away while the first stays."""
    give_alone(
        bench, "node_gpus_capacity", capacity("a"), "8  00:00:10  00:59:40\n0  01:00:10  02:59:40"
    )
    give_alone(
        bench, "node_gpus_capacity", capacity("b"), "4  00:30:10  00:59:40\n4  01:00:10  01:20:10"
    )
    give_states(bench, "node_gpus_capacity", capacity("n-9"), "8  00:00:10  02:59:40")
    bench.expect(
        "observed.nodes_prom",
        """
        cluster  node_uid  name  gpus  registered_at  deleted_at
        alone    a         a     8     00:00:10       -
        alone    b         b     4     00:30:10       01:20:10
        """,
    )


def test_conditions_find_the_nodes_that_only_prometheus_knows(bench):
    give_alone(bench, "node_gpus_capacity", capacity("n-1"), "8  00:00:10  02:59:40")
    give_alone(bench, "node_condition", LINK, "true  00:20:10  00:30:10\nfalse  00:30:40  02:59:40")
    give_hours(bench, "node_condition", cluster="alone")
    bench.expect(
        "observed.node_conditions_prom",
        """
        cluster  node_uid  type         status  from      to
        alone    n-1       EfaLinkDown  True    00:20:10  00:30:40
        alone    n-1       EfaLinkDown  False   00:30:40  -
        """,
    )


def pod(name, /, **more):
    return json.dumps(
        {"namespace": "ml", "pod": name, "uid": f"uid-{name}", **more}, separators=(",", ":")
    )


def give_pod(bench, name, begin, end, *phases, owner=("Job", "train"), gpus=8):
    """A pod with its samples of GPUs, its phases and what owns it."""
    held = pod(name, container="main", node="n-1", resource="nvidia_com_gpu")
    give_alone(bench, "pod_gpus", held, f"{gpus}  {begin}  {end}")
    give_alone(bench, "pod_phase", pod(name), "\n".join(phases))
    give_alone(bench, "pod_owner", pod(name, kind=owner[0], name=owner[1]), f"1  {begin}  {end}")


QUERIES = ("node_gpus_capacity", "pod_gpus", "pod_phase", "pod_owner", "pod_reason", "job_owner")


@pytest.fixture
def alone(bench):
    give_alone(bench, "node_gpus_capacity", capacity("n-1"), "8  00:00:10  02:59:40")
    give_hours(bench, *QUERIES, cluster="alone")
    return bench


def test_a_pod_holds_its_gpus_until_its_phase_is_final(alone):
    """Its object stays for an hour after it failed."""
    give_pod(
        alone,
        "a",
        "00:10:10",
        "02:59:40",
        "Pending  00:10:10  00:11:40",
        "Running  00:12:10  01:00:10",
        "Failed   01:00:40  02:59:40",
    )
    give_alone(alone, "pod_reason", pod("a"), "Evicted  01:00:40  02:59:40")
    alone.expect(
        "observed.pods_prom",
        """
        pod_uid  name  namespace  job       attempt  node_uid  gpus  reason
        uid-a    a     ml         ml/train  1        n-1       8     Evicted
        """,
    )
    alone.expect(
        "observed.pods_prom",
        """
        bound_at  running_at  terminated_at  released_at  exit_code
        00:10:10  00:12:10    01:00:40       01:00:40     -
        """,
    )
    alone.expect(
        "observed.jobs_prom",
        """
        job       name   namespace  owner_kind  state   ended_at  instrumented
        ml/train  train  ml         Job         failed  01:00:40  false
        """,
    )


def test_a_pod_that_succeeded_exited_with_0_by_definition(alone):
    give_pod(alone, "a", "00:10:10", "02:59:40", "Succeeded  01:00:40  02:59:40")
    alone.expect("observed.pods_prom", "pod_uid  exit_code\nuid-a  0")


def test_pods_that_overlap_are_one_attempt_and_the_next_ones_another(alone):
    give_pod(alone, "a", "00:10:10", "00:30:10", "Running  00:10:40  00:30:10", gpus=4)
    give_pod(alone, "b", "00:10:40", "00:30:40", "Running  00:10:40  00:30:40", gpus=4)
    give_pod(alone, "c", "00:31:10", "02:59:40", "Running  00:31:40  02:59:40", gpus=4)
    give_pod(alone, "d", "00:31:10", "02:59:40", "Running  00:31:40  02:59:40", gpus=4)
    owner = '{"job":"train","kind":"JobSet","name":"llama","namespace":"ml"}'
    give_alone(alone, "job_owner", owner, "1  00:10:10  02:59:40")
    alone.expect(
        "observed.attempts_prom",
        """
        job       attempt  start     end       outcome
        ml/llama  1        00:10:10  00:30:40  cancelled
        ml/llama  2        00:31:10  -         running
        """,
    )
    alone.expect("observed.jobs_prom", "job  owner_kind  state\nml/llama  JobSet  running")


def test_when_prometheus_has_nothing_more_of_anybody_no_pod_ended(alone):
    give_pod(
        alone, "a", "00:10:10", "00:30:10", "Running  00:10:40  00:30:10", owner=("<none>", "x")
    )
    alone.expect(
        "observed.pods_prom",
        """
        job   attempt  bound_at  terminated_at
        ml/a  1        00:10:10  -
        """,
    )


def test_pods_of_a_cluster_that_another_source_tells_of_are_theirs(alone):
    give_pod(alone, "a", "00:10:10", "02:59:40", "Running  00:10:40  02:59:40")
    alone.given("raw.pods", "cluster  pod_uid  gpus\nalone  p  8")
    alone.expect("observed.pods_prom", "pod_uid")
