"""Conditions of nodes, the silence of their leases, refused repairs."""

import json

TURNS = "select type, status, t from observed.node_condition_events_kube order by type, t"


def test_transitions_of_both_polarities_are_kept(make, observed, rows):
    def state(ready, since, pressure, pressure_since):
        return json.dumps(
            make.node(
                "n1",
                make.condition("Ready", ready, since),
                make.condition("DiskPressure", pressure, pressure_since),
            )
        )

    con = observed(
        state("True", "1 00:01", "False", "1 00:00"),
        state("True", "1 00:01", "True", "2 00:00"),
        state("False", "2 01:00", "True", "2 00:00"),
        state("True", "2 02:00", "False", "2 02:30"),
    )
    assert rows(con, TURNS) == [
        ("DiskPressure", "False", "1 00:00"),
        ("DiskPressure", "True", "2 00:00"),
        ("DiskPressure", "False", "2 02:30"),
        ("Ready", "True", "1 00:01"),
        ("Ready", "False", "2 01:00"),
        ("Ready", "True", "2 02:00"),
    ]


def test_a_lost_node_is_lost_from_its_last_heartbeat(make, observed, rows):
    con = observed(
        json.dumps(make.node("n1", make.condition("Ready", "Unknown", "2 00:05", beat="2 00:01")))
    )
    assert rows(con, TURNS) == [("Ready", "Unknown", "2 00:01")]


def test_not_ready_before_the_first_ready_is_provisioning(make, observed, rows):
    con = observed(
        json.dumps(make.node("n1", make.condition("Ready", "False", "1 00:00"))),
        json.dumps(make.node("n1", make.condition("Ready", "True", "1 00:05"))),
    )
    assert rows(con, TURNS) == [("Ready", "True", "1 00:05")]


def lease(make, name, renewed):
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": make.meta(name, "1 00:00", namespace="kube-node-lease")
        | {"ownerReferences": [{"kind": "Node", "name": name, "uid": f"uid-{name}"}]},
        "spec": {"leaseDurationSeconds": 40, "renewTime": make.clock(renewed)},
    }


def looked_at(make, when, *items):
    """A dump that something else dates: the lease of another node, renewed just then."""
    return make.listed(lease(make, "other", when), *items)


def healthy(make, beat="2 00:00"):
    return make.node(
        "n1",
        make.condition("Ready", "True", "1 00:00", "KubeletReady", beat=beat),
        make.condition("GpuUnhealthy", "False", "1 00:00", "AllGood"),
        make.condition("NetworkingReady", "False", "2 00:01", "Broken"),
    )


SILENT = "select type, status, reason, t from observed.node_condition_events_kube order by type, t"


def test_while_its_lease_is_stale_every_condition_of_a_node_is_unknown(make, observed, rows):
    con = observed(
        looked_at(make, "2 00:05", lease(make, "n1", "2 00:05"), healthy(make)),
        looked_at(make, "2 00:20", lease(make, "n1", "2 00:06"), healthy(make)),
        looked_at(make, "2 00:35", lease(make, "n1", "2 00:30"), healthy(make)),
        looked_at(make, "2 00:30:05", lease(make, "n1", "2 00:30"), healthy(make)),
    )
    assert rows(con, SILENT) == [
        ("GpuUnhealthy", "False", "AllGood", "1 00:00"),
        ("GpuUnhealthy", "Unknown", "NodeLeaseStale", "2 00:06:40"),
        ("GpuUnhealthy", "False", "AllGood", "2 00:30"),
        ("GpuUnhealthy", "Unknown", "NodeLeaseStale", "2 00:30:40"),
        ("NetworkingReady", "False", "Broken", "2 00:01"),
        ("NetworkingReady", "Unknown", "NodeLeaseStale", "2 00:06:40"),
        ("NetworkingReady", "False", "Broken", "2 00:30"),
        ("NetworkingReady", "Unknown", "NodeLeaseStale", "2 00:30:40"),
        ("Ready", "True", "KubeletReady", "1 00:00"),
        ("Ready", "Unknown", "NodeLeaseStale", "2 00:06:40"),
        ("Ready", "True", "KubeletReady", "2 00:30"),
        ("Ready", "Unknown", "NodeLeaseStale", "2 00:30:40"),
    ]


def test_a_heartbeat_or_a_ready_of_its_own_ends_the_silence_of_a_node(make, observed, rows):
    back = make.node("n1", make.condition("Ready", "True", "2 00:25", beat="2 00:25"))
    con = observed(
        looked_at(make, "2 00:20", lease(make, "n1", "2 00:06"), healthy(make)),
        looked_at(make, "2 00:40", lease(make, "n1", "2 00:40"), back),
    )
    found = "select started_at, ended_at from observed.node_silences where node_uid = 'uid-n1'"
    assert rows(con, found) == [("2 00:06:40", "2 00:25")]


def test_what_the_controller_called_unknown_is_not_said_again(make, observed, rows):
    lost = make.node(
        "n1", make.condition("Ready", "Unknown", "2 00:07", "NodeStatusUnknown", beat="2 00:05")
    )
    con = observed(
        looked_at(make, "2 00:05", healthy(make)),
        looked_at(make, "2 00:20", lease(make, "n1", "2 00:06"), lost),
    )
    found = SILENT.replace("order by", "where type = 'Ready' order by")
    assert rows(con, found) == [
        ("Ready", "True", "KubeletReady", "1 00:00"),
        ("Ready", "Unknown", "NodeStatusUnknown", "2 00:05"),
    ]


def test_a_clock_that_is_behind_is_no_silence(make, observed, rows):
    con = observed(
        looked_at(make, "2 00:05", lease(make, "n1", "2 00:03"), healthy(make)),
        looked_at(make, "2 00:20", lease(make, "n1", "2 00:18"), healthy(make)),
    )
    assert rows(con, "from observed.node_silences where node_uid = 'uid-n1'") == []


def test_a_fresh_lease_says_nothing_about_the_time_nobody_looked(make, observed, rows):
    con = observed(
        looked_at(make, "2 00:05", lease(make, "n1", "2 00:05"), healthy(make)),
        looked_at(make, "2 05:00", lease(make, "n1", "2 05:00"), healthy(make)),
    )
    assert rows(con, "from observed.node_silences") == []


def refusal(make, uid, first, last, count):
    return make.listed(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"n1.{uid}", "uid": uid, "namespace": "default"},
            "involvedObject": {"kind": "Node", "name": "n1", "uid": "uid-n1"},
            "reason": "NodeRepairBlocked",
            "message": "more than 20% nodes are unhealthy in the nodepool",
            "firstTimestamp": make.clock(first),
            "lastTimestamp": make.clock(last),
            "count": count,
        }
    )


def test_refusals_that_come_again_and_again_are_stretches(make, observed, rows):
    con = observed(
        make.listed(make.node("n1")),
        refusal(make, "a", "2 01:00", "2 01:00", 1),
        # thirteen more, five minutes apart; then two in two hours
        refusal(make, "a", "2 01:00", "2 02:05", 14),
        refusal(make, "a", "2 01:00", "2 04:05", 16),
        refusal(make, "b", "2 06:00", "2 06:00", 1),
    )
    stretches = 'select node_uid, value, "from", "to" from observed.evidence_refusals order by 3'
    assert rows(con, stretches) == [
        ("uid-n1", "NodeRepairBlocked", "2 01:00", "2 02:05"),
        ("uid-n1", "NodeRepairBlocked", "2 04:05", "2 04:05"),
    ]
    first_and_last = "select t from observed.evidence_kube where source = 'event' order by t"
    assert rows(con, first_and_last) == [("2 01:00",), ("2 04:05",), ("2 06:00",)]
