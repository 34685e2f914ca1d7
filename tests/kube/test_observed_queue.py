"""What waits for GPUs, and what events tell of it."""

import json

from kube_workloads import ATTEMPTS, TEMPLATE, member, nodes

from goodput.warehouse.models import find_models

QUEUE = (
    'select attempt, pool, pods, gpus_per_pod, "from", "to", suspended '
    'from observed.queue_kube order by "from"'
)


def workload(make, *conditions, active=True):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": make.meta(
            "w", "2 00:00", namespace="team", ownerReferences=make.owned_by("Job", "j")
        ),
        "spec": {"active": active, "podSets": [{"name": "main", "count": 2, "template": TEMPLATE}]},
        "status": {"conditions": list(conditions)},
    }


def test_a_workload_waits_until_it_is_admitted(make, observed, rows):
    con = observed(make.listed(*nodes(make), workload(make)))
    assert rows(con, QUEUE) == [(1, "default", 2, 8, "2 00:00", None, False)]
    con = observed(
        make.listed(*nodes(make), workload(make, make.condition("Admitted", "True", "2 00:30")))
    )
    assert rows(con, QUEUE) == [(1, "default", 2, 8, "2 00:00", "2 00:30", False)]
    con = observed(make.listed(*nodes(make), workload(make, active=False)))
    assert rows(con, QUEUE) == [(1, "default", 2, 8, "2 00:00", None, True)]


def test_a_preempted_workload_waits_again(make, observed, rows):
    admitted = make.condition("Admitted", "True", "2 00:00:30")
    preempted = [
        make.condition("Admitted", "False", "2 05:00", "NoReservation"),
        make.condition("Evicted", "True", "2 05:00", "Preempted"),
        make.condition("Preempted", "True", "2 05:00", "InClusterQueue"),
        make.condition("Requeued", "True", "2 05:00:10", "Preempted"),
    ]
    first = [member(make, "j", n, ended="2 05:00:20", exit_code=143) for n in (0, 1)]
    con = observed(
        make.listed(*nodes(make), workload(make, admitted), make.job("j")),
        make.listed(*nodes(make), workload(make, *preempted), make.job("j"), *first),
    )
    assert rows(con, ATTEMPTS) == [(1, "2 00:01", "2 05:00", "preempted", None)]
    assert rows(con, QUEUE) == [
        (1, "default", 2, 8, "2 00:00", "2 00:00:30", False),
        (1, "default", 2, 8, "2 00:00", "2 00:01", False),
        (2, "default", 2, 8, "2 05:00", None, False),
    ]
    found = "select source, type, value, attempt from observed.evidence_kube order by type"
    assert rows(con, found) == [
        ("kueue_workload", "Evicted", "Preempted", 1),
        ("kueue_workload", "Preempted", "InClusterQueue", 1),
    ]


def test_pods_without_a_node_wait(make, observed, rows):
    waiting = [
        make.pod(f"p{n}", bound=None, started=None, owner=make.owned_by("Job", "j")) for n in (1, 2)
    ]
    con = observed(make.listed(*nodes(make), *waiting))
    assert rows(con, QUEUE) == [(1, "default", 2, 8, "2 00:00", None, False)]


def test_a_suspended_job_waits_for_nobody(make, observed, rows):
    con = observed(
        make.listed(*nodes(make), make.job("j", suspend=True, parallelism=2, template=TEMPLATE))
    )
    assert rows(con, QUEUE) == [(1, "default", 2, 8, "2 00:00", None, True)]


def event(make, kind, name, uid, reason, when, message=""):
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}", "uid": f"{name}.{reason}", "namespace": "team"},
        "involvedObject": {"kind": kind, "name": name, "uid": uid},
        "reason": reason,
        "message": message,
        "firstTimestamp": make.clock(when),
        "lastTimestamp": make.clock(when),
        "count": 1,
    }


def test_events_that_the_catalogue_knows_are_evidence(make, observed, rows):
    con = observed(
        make.listed(
            *nodes(make),
            member(make, "j", 0),
            # A kubelet writes its node's name where the uid belongs.
            event(make, "Node", "n1", "n1", "SystemOOM", "2 01:00"),
            event(make, "Pod", "j-0-00", "uid-j-0-00", "FailedMount", "2 02:00"),
            event(make, "Pod", "j-0-00", "uid-j-0-00", "Pulled", "2 00:01"),
            event(
                make,
                "Node",
                "n1",
                "n1",
                "NvidiaXID79Warning",
                "2 03:00",
                "NVRM: Xid (PCI:0000:3b:00): 79, gone",
            ),
            event(make, "Node", "n1", "n1", "Starting", "2 00:00"),
        )
    )
    found = (
        "select source, value, node_uid, pod_uid, job, attempt, t "
        "from observed.evidence_kube order by t, source"
    )
    of_pod = ("uid-n1", "uid-j-0-00", "uid-j", 1)
    of_node = ("uid-n1", None, None, None)
    assert rows(con, found) == [
        ("event", "SystemOOM", *of_node, "2 01:00"),
        ("event", "FailedMount", *of_pod, "2 02:00"),
        ("event", "NvidiaXID79Warning", *of_node, "2 03:00"),
        ("xid", "79", *of_node, "2 03:00"),
    ]


def test_what_a_condition_says_is_not_said_again_by_an_event(make, observed, rows):
    lost = make.node("n1", make.condition("Ready", "Unknown", "2 04:00", beat="2 03:59"))
    said = event(make, "Node", "n1", "n1", "NodeNotReady", "2 04:00")
    assert rows(observed(make.listed(lost, said)), "select value from observed.evidence_kube") == []
    unseen = observed(make.listed(make.node("n1"), said))
    assert rows(unseen, "select value, node_uid from observed.evidence_kube") == [
        ("NodeNotReady", "uid-n1")
    ]


def test_the_newest_version_of_an_event_counts(make, observed, rows):
    first = event(make, "Pod", "p", "uid-p", "BackOff", "2 01:00")
    later = json.loads(json.dumps(first)) | {"count": 9, "lastTimestamp": make.clock("2 02:00")}
    con = observed(make.listed(first), make.listed(later), make.listed(first))
    assert rows(con, "select count, first_at, last_at from observed.event_objects") == [
        (9, "2 01:00", "2 02:00")
    ]


def test_events_nobody_listed_in_time_leave_a_gap(make, observed, rows):
    early = event(make, "Pod", "p", "uid-p", "BackOff", "2 01:00")
    late = event(make, "Pod", "q", "uid-q", "BackOff", "2 05:00")
    gaps = """
        select source_name, "from", "to" from observed.collector_gaps_kube
        where source_name <> 'kubernetes'
    """
    typed = [
        json.dumps({"kind": "EventList", "apiVersion": "v1", "items": [e]}) for e in (early, late)
    ]
    # kubectl calls every list a List.
    for texts in ([make.listed(early), make.listed(late)], typed):
        assert rows(observed(*texts), gaps) == [("kubernetes events of team", "2 01:00", "2 04:00")]


def test_after_the_last_look_at_a_cluster_nothing_of_it_is_seen(make, observed, rows):
    con = observed(make.listed(event(make, "Pod", "p", "uid-p", "BackOff", "2 01:00")))
    assert rows(con, "select * from observed.cluster_looks") == [("default", "2 01:00", "2 01:00")]
    assert rows(con, 'select source_name, "from", "to" from observed.collector_gaps_kube') == [
        ("kubernetes", "2 01:00", None)
    ]
    # Until it is late, the next look may still come.
    last = "(select last_at from observed.cluster_looks)"
    [gaps] = [model for model in find_models() if model.table == "observed.collector_gaps_kube"]
    for wait, count in (("1 hour", 0), ("61 minutes", 1)):
        con.execute(f"set variable as_of = {last} + interval '{wait}'")
        assert rows(con, f"select count(*) from ({gaps.sql})") == [(count,)]


def test_a_list_of_the_events_of_one_namespace_does_not_stand_for_the_others(make, observed, rows):
    def of(namespace, name, at):
        found = event(make, "Pod", name, f"uid-{name}", "BackOff", at)
        found["metadata"]["namespace"] = namespace
        return found

    gaps = """
        select source_name, "from", "to" from observed.collector_gaps_kube
        where source_name <> 'kubernetes' order by 1, 2
    """
    con = observed(
        make.listed(of("a", "p", "2 01:00")),
        make.listed(of("b", "q", "2 03:00")),
        make.listed(of("a", "r", "2 05:00"), of("b", "s", "2 05:00")),
    )
    assert rows(con, gaps) == [
        ("kubernetes events of a", "2 01:00", "2 04:00"),
        ("kubernetes events of b", "2 03:00", "2 04:00"),
    ]
