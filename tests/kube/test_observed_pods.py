import json

import pytest

PODS = (
    "select name, attempt, gpus, share, bound_at, running_at, terminated_at, exit_code, reason "
    "from observed.pods_kube order by bound_at, name"
)
HELD = "select gpus, share from observed.pods_kube"
ENDS = (
    "select bound_at, running_at, terminated_at, released_at, exit_code, reason "
    "from observed.pods_kube"
)


def nodes(make, **more):
    return make.node("n1", **more)


def test_a_pod_holds_gpus_from_its_bind_to_its_end(make, observed, rows):
    con = observed(make.listed(nodes(make), make.pod("p1", ended="2 03:00", exit_code=1)))
    assert rows(con, ENDS) == [("2 00:01", "2 00:02", "2 03:00", "2 03:00", 1, "Error")]


def test_a_pod_without_a_node_holds_nothing(make, observed, rows):
    con = observed(make.listed(nodes(make), make.pod("p1", bound=None, started=None)))
    assert rows(con, PODS) == []
    assert rows(con, "select name, phase from observed.pod_lives") == [("p1", "Pending")]


def test_a_pod_without_gpus_is_left_out_but_known(make, observed, rows):
    con = observed(
        make.listed(
            nodes(make),
            make.pod("p1", gpus="0", ended="2 03:00", exit_code=137, reason="OOMKilled"),
        )
    )
    assert rows(con, PODS) == []
    found = "select exit_code, end_reason from observed.pod_lives"
    assert rows(con, found) == [(137, "OOMKilled")]


def test_a_pod_runs_once_all_its_containers_started(make, observed, rows):
    slow = make.pod("p1")
    slow["spec"]["containers"].append({"name": "second"})
    con = observed(make.listed(nodes(make), slow))
    assert rows(con, "select running_at from observed.pods_kube") == [(None,)]
    slow["status"]["containerStatuses"].append(
        {
            "name": "second",
            "restartCount": 0,
            "state": {"running": {"startedAt": make.clock("2 00:09")}},
        }
    )
    con = observed(make.listed(nodes(make), slow))
    assert rows(con, "select running_at from observed.pods_kube") == [("2 00:09",)]


def test_the_first_container_that_failed_gives_the_exit(make, observed, rows):
    failed = make.pod("p1", ended="2 03:00", exit_code=143)
    failed["spec"]["containers"].append({"name": "second"})
    failed["status"]["containerStatuses"].append(
        {
            "name": "second",
            "restartCount": 0,
            "state": {
                "terminated": {
                    "exitCode": 137,
                    "reason": "OOMKilled",
                    "startedAt": make.clock("2 00:02"),
                    "finishedAt": make.clock("2 02:00"),
                }
            },
        }
    )
    con = observed(make.listed(nodes(make), failed))
    assert rows(con, ENDS) == [("2 00:01", "2 00:02", "2 03:00", "2 03:00", 137, "OOMKilled")]


def test_oomkilled_with_exit_zero_is_no_success(make, observed, rows):
    con = observed(make.listed(nodes(make), make.pod("p1", ended="2 03:00", reason="OOMKilled")))
    assert rows(con, "select exit_code, reason from observed.pods_kube") == [(0, "OOMKilled")]
    assert rows(con, "select outcome from observed.attempts_kube") == [("failed",)]


@pytest.mark.parametrize("container", [(0, "Completed"), (1, "Error"), (137, "OOMKilled")])
@pytest.mark.parametrize("reason", ["Terminated", "NodeShutdown"])
def test_whatever_containers_say_when_a_node_is_shut_down_the_pod_knows_why(
    make, observed, rows, container, reason
):
    shut = make.pod("p1", ended="2 03:00", exit_code=container[0], reason=container[1])
    shut["status"] |= {"phase": "Failed", "reason": reason}
    con = observed(make.listed(nodes(make), shut))
    assert rows(con, "select reason from observed.pods_kube") == [(reason,)]
    assert rows(con, "select outcome from observed.attempts_kube") == [("failed",)]
    told = "select source, value from observed.evidence_kube where source = 'pod_status_reason'"
    assert rows(con, told) == [("pod_status_reason", reason)]


@pytest.mark.parametrize("zero", [None, "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"])
def test_an_exit_without_times_still_counts(make, observed, rows, zero):
    lost = make.pod("p1", ended="2 03:00", exit_code=137, reason="ContainerStatusUnknown")
    ended = lost["status"]["containerStatuses"][0]["state"]["terminated"]
    ended["startedAt"] = ended["finishedAt"] = zero
    lost["status"]["conditions"].append(make.condition("Ready", "False", "2 02:00"))
    con = observed(make.listed(nodes(make), lost))
    assert rows(con, "select terminated_at, exit_code, reason from observed.pods_kube") == [
        ("2 02:00", 137, "ContainerStatusUnknown")
    ]


def test_an_evicted_pod_without_container_states_ends_with_its_disruption(make, observed, rows):
    evicted = make.pod("p1", ended="2 03:00", exit_code=1)
    evicted["status"] |= {"containerStatuses": [], "reason": "Evicted"}
    evicted["status"]["conditions"].append(
        make.condition("DisruptionTarget", "True", "2 02:00", "TerminationByKubelet")
    )
    con = observed(make.listed(nodes(make), evicted))
    found = "select terminated_at, exit_code, reason, disruption from observed.pods_kube"
    assert rows(con, found) == [("2 02:00", None, "Evicted", "TerminationByKubelet")]
    assert rows(con, "select outcome from observed.attempts_kube") == [("evicted",)]


def test_a_pod_that_vanished_keeps_its_gpus_until_it_was_missed(make, observed, rows):
    others = [
        make.pod(f"q{n}", owner=make.owned_by("Job", f"j{n}"), labels={"job": f"j{n}"})
        for n in (1, 2)
    ]
    later = [json.loads(json.dumps(q)) for q in others]
    for q in later:
        q["status"]["conditions"].append(make.condition("Ready", "True", "2 09:00"))
    con = observed(
        make.listed(nodes(make), make.pod("p1"), *others), make.listed(nodes(make), *later)
    )
    found = "select name, released_at, last_seen, gone_by from observed.pods_kube order by 1"
    assert rows(con, found) == [
        ("p1", None, "2 00:02", "2 09:00"),
        ("q1", None, None, None),
        ("q2", None, None, None),
    ]
    found = "select \"end\", outcome from observed.attempts_kube where job = 'uid-p1'"
    assert rows(con, found) == [("2 00:02", "cancelled")]


def test_a_deletion_that_was_seen_releases_the_gpus(make, observed, rows):
    gone = make.pod("p1", metadata={"deletionTimestamp": make.clock("2 05:00")})
    watch = [{"type": "ADDED", "object": make.pod("p1")}, {"type": "DELETED", "object": gone}]
    con = observed(make.listed(nodes(make)), "\n".join(map(json.dumps, watch)))
    found = "select terminated_at, released_at, gone_by from observed.pods_kube"
    assert rows(con, found) == [(None, "2 05:00", None)]


def test_a_pod_on_a_lost_node_stays_until_the_node_is_gone(make, observed, rows):
    lost = make.node("n1", make.condition("Ready", "Unknown", "2 04:00", beat="2 03:59"))
    removed = json.loads(json.dumps(lost))
    removed["metadata"]["deletionTimestamp"] = make.clock("2 06:00")
    gone = make.pod("p1", metadata={"deletionTimestamp": make.clock("2 05:00")})
    watch = [
        {"type": "MODIFIED", "object": lost},
        {"type": "DELETED", "object": removed},
        {"type": "DELETED", "object": gone},
    ]
    con = observed("\n".join(map(json.dumps, watch)))
    assert rows(con, "select released_at from observed.pods_kube") == [("2 06:00",)]


def test_pods_of_the_same_name_are_different_pods(make, observed, rows):
    second = make.pod("p1", created="3 00:00", bound="3 00:01", started="3 00:02")
    second["metadata"]["uid"] = "other"
    con = observed(make.listed(nodes(make), make.pod("p1", ended="2 03:00"), second))
    found = "select pod_uid, bound_at from observed.pods_kube order by 2"
    assert rows(con, found) == [("uid-p1", "2 00:01"), ("other", "3 00:01")]


def test_a_pod_stands_on_the_node_that_had_the_name_then(make, observed, rows):
    second = make.node("n1", created="3 00:00")
    second["metadata"]["uid"] = "other"
    con = observed(
        make.listed(
            nodes(make), second, make.pod("p1"), make.pod("p2", bound="3 01:00", started=None)
        )
    )
    found = "select name, node_uid from observed.pods_kube order by 1"
    assert rows(con, found) == [("p1", "uid-n1"), ("p2", "other")]


@pytest.mark.parametrize(
    ("limits", "node", "gpus", "share"),
    [
        ({"nvidia.com/gpu": "8"}, {}, 8, None),
        ({"amd.com/gpu": 4}, {}, 4, None),
        ({"nvidia.com/mig-1g.5gb": "1"}, {}, 1, "1/7"),
        ({"nvidia.com/mig-3g.20gb": "1"}, {}, 1, "3/7"),
        # With the memory of the GPU known, its memory slices may weigh more.
        (
            {"nvidia.com/mig-3g.20gb": "1"},
            {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"},
            1,
            "4/8",
        ),
        ({"nvidia.com/mig-1g.5gb": "2"}, {}, 1, "2/7"),
        ({"nvidia.com/mig-7g.40gb": "1"}, {}, 1, None),
        (
            {"nvidia.com/gpu": "1"},
            {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-2g.10gb"},
            1,
            "2/7",
        ),
        ({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu.replicas": "4"}, 1, "1/4"),
        ({"nvidia.com/gpu.shared": "2"}, {"nvidia.com/gpu.replicas": "4"}, 1, "2/4"),
        ({"nvidia.com/gpu": "8"}, {"nvidia.com/gpu.replicas": "4"}, 2, None),
    ],
)
def test_what_a_pod_asks_for_is_a_share_of_gpus(make, observed, rows, limits, node, gpus, share):
    asking = make.pod("p1")
    asking["spec"]["containers"][0]["resources"] = {"limits": limits}
    con = observed(make.listed(nodes(make, labels=node), asking))
    assert rows(con, HELD) == [(gpus, share)]


def test_a_fraction_in_an_annotation_is_a_share(make, observed, rows):
    asking = make.pod("p1", gpus=None, metadata={"annotations": {"gpu-fraction": "0.25"}})
    del asking["spec"]["containers"][0]["resources"]
    con = observed(make.listed(nodes(make), asking))
    assert rows(con, HELD) == [(1, "1/4")]


def claim(make, devices, users=1, allocated=None):
    results = [
        {"driver": "gpu.nvidia.com", "pool": "n1", "device": f"gpu-{n}"} for n in range(devices)
    ]
    results.append(
        {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-9", "adminAccess": True}
    )
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": make.meta("c1", "2 00:00", namespace="team"),
        "status": {
            "allocation": {"devices": {"results": results}}
            | ({"allocationTimestamp": make.clock(allocated)} if allocated else {}),
            "reservedFor": [{"uid": f"u{n}"} for n in range(users)],
        },
    }


@pytest.mark.parametrize(("users", "gpus", "share"), [(1, 4, None), (2, 2, None), (8, 1, "4/8")])
def test_a_claim_counts_its_devices_split_between_its_users(
    make, observed, rows, users, gpus, share
):
    asking = make.pod(
        "p1", status={"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "c1"}]}
    )
    del asking["spec"]["containers"][0]["resources"]
    con = observed(make.listed(nodes(make), asking, claim(make, 4, users)))
    assert rows(con, HELD) == [(gpus, share)]


def test_gpus_that_a_claim_provides_for_a_plain_request_count_once(make, observed, rows):
    status = {"extendedResourceClaimStatus": {"resourceClaimName": "c1"}}
    asking = make.pod("p1", gpus="4", status=status)
    con = observed(make.listed(nodes(make), asking, claim(make, 4)))
    assert rows(con, HELD) == [(4, None)]


RESERVED = (
    "select node_uid, gpus, role, bound_at, released_at from observed.pods_dra order by bound_at"
)


def claiming_pod(make, **more):
    pod = make.pod(
        "p1", status={"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "c1"}]}, **more
    )
    del pod["spec"]["containers"][0]["resources"]
    return pod


def test_a_claim_is_reserved_before_and_after_its_pods(make, observed, rows):
    early = make.listed(
        nodes(make), claim(make, 4, allocated="1 23:50"), claiming_pod(make, bound="2 00:01")
    )
    freed = claim(make, 4)
    freed["status"] = {}
    late = make.listed(
        freed, claiming_pod(make, ended="2 03:00"), make.pod("p2", created="2 03:30", bound=None)
    )
    con = observed(early, late)
    assert rows(con, RESERVED) == [
        ("uid-n1", 4, "reserved", "1 23:50", "2 00:01"),
        ("uid-n1", 4, "reserved", "2 03:00", "2 03:30"),
    ]


def test_a_claim_that_nobody_uses_is_reserved_until_it_is_gone(make, observed, rows):
    held = make.listed(nodes(make), claim(make, 2, allocated="1 23:50"))
    assert rows(observed(held), RESERVED) == [("uid-n1", 2, "reserved", "1 23:50", None)]
    # A later list of claims in which it is missing.
    other = claim(make, 0) | {"metadata": make.meta("c2", "2 05:00", namespace="team")}
    later = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimList",
        "metadata": {},
        "items": [other],
    }
    assert rows(observed(held, json.dumps(later)), RESERVED) == [
        ("uid-n1", 2, "reserved", "1 23:50", "2 05:00")
    ]


def test_the_scheduled_event_binds_where_the_condition_is_missing(make, observed, rows):
    early = make.pod("p1")
    early["status"]["conditions"] = []
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "uid": "e", "namespace": "team"},
        "involvedObject": {"kind": "Pod", "name": "p1", "uid": "uid-p1"},
        "reason": "Scheduled",
        "eventTime": make.clock("2 00:01:30"),
    }
    con = observed(make.listed(nodes(make), early, event))
    assert rows(con, "select bound_at from observed.pods_kube") == [("2 00:01:30",)]
    assert rows(con, "select kind, t from observed.pod_events_kube") == [("bound", "2 00:01:30")]


def test_the_order_of_files_never_matters(make, observed):
    early = make.listed(nodes(make), make.pod("p1"))
    late = make.listed(nodes(make), make.pod("p1", ended="2 03:00", exit_code=1))
    tables = ["nodes_kube", "pods_kube", "attempts_kube", "jobs_kube", "node_condition_events_kube"]

    def everything(*texts):
        con = observed(*texts)
        return [sorted(map(repr, con.sql(f"from observed.{table}").fetchall())) for table in tables]

    assert everything(early, late) == everything(late, early, early)
