import json

import pytest

JOBS = "select name, owner_kind, kind, state, ended_at, team from observed.jobs_kube order by name"
ATTEMPTS = (
    'select attempt, start, "end", outcome, min_members '
    "from observed.attempts_kube order by job, attempt"
)
MEMBERS = "select name, attempt, rank from observed.pods_kube order by attempt, rank, name"
QUEUE = (
    'select attempt, pool, pods, gpus_per_pod, "from", "to", suspended '
    'from observed.queue_kube order by "from"'
)
TEMPLATE = {
    "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
}


def nodes(make):
    return [make.node("n1"), make.node("n2")]


def member(make, job, index, attempt="2 00:00", kind="Job", **more):
    """Pod `index` of a job, bound a minute after `attempt` and started a minute later."""
    day, time = attempt.split(" ")
    hour = time[:2]
    labels = {"batch.kubernetes.io/job-completion-index": str(index), **more.pop("labels", {})}
    return make.pod(
        more.pop("name", f"{job}-{index}-{hour}"),
        created=attempt,
        bound=f"{day} {hour}:01",
        started=f"{day} {hour}:02",
        on=f"n{index + 1}",
        owner=make.owned_by(kind, job),
        labels=labels,
        **more,
    )


def test_a_job_is_the_top_owner(make, observed, rows):
    def owned(api, kind, name, owner):
        return {
            "apiVersion": api,
            "kind": kind,
            "metadata": make.meta(name, "2 00:00", namespace="team", ownerReferences=owner),
            "spec": {},
        }

    con = observed(
        make.listed(
            *nodes(make),
            make.pod("p1", owner=make.owned_by("Job", "train-0")),
            owned("batch/v1", "Job", "train-0", make.owned_by("JobSet", "train")),
            owned(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                "train",
                make.owned_by("TrainJob", "train-job"),
            ),
        )
    )
    assert rows(con, JOBS) == [("train-job", "TrainJob", "training", "running", None, None)]


@pytest.mark.parametrize(
    ("owner", "labels", "kind"),
    [
        ("ReplicaSet", {}, "serving"),
        ("StatefulSet", {}, "serving"),
        ("LeaderWorkerSet", {}, "serving"),
        ("Notebook", {}, "notebook"),
        ("DaemonSet", {}, "other"),
        ("SomethingNew", {}, "other"),
        (None, {}, "other"),
        ("MPIJob", {}, "training"),
        ("ReplicaSet", {"goodput.io/kind": "training"}, "training"),
        ("Job", {"goodput.io/kind": "nonsense"}, "training"),
        (None, {"kueue.x-k8s.io/pod-group-name": "g"}, "training"),
    ],
)
def test_the_kind_follows_from_the_owner_unless_a_label_says_it(
    make, observed, owner, labels, kind
):
    references = make.owned_by(owner, "o") if owner else None
    con = observed(make.listed(*nodes(make), make.pod("p1", owner=references, labels=labels)))
    assert con.sql("select kind from observed.jobs_kube").fetchall() == [(kind,)]


def test_a_run_of_a_cron_job_is_a_job(make, observed, rows):
    run = make.job("run-1")
    run["metadata"]["ownerReferences"] = make.owned_by("CronJob", "nightly")
    con = observed(
        make.listed(*nodes(make), run, make.pod("p1", owner=make.owned_by("Job", "run-1")))
    )
    assert [row[0] for row in rows(con, JOBS)] == ["run-1"]


def test_pods_of_an_owner_that_was_not_dumped_still_make_a_job(make, observed, rows):
    ended = {"ended": "2 03:00"}
    con = observed(
        make.listed(
            *nodes(make),
            member(make, "j", 0, **ended),
            member(make, "j", 1, **ended, labels={"team": "nlp"}),
        )
    )
    assert rows(con, JOBS) == [("j", "Job", "training", "succeeded", "2 03:00", "nlp")]
    assert rows(con, ATTEMPTS) == [(1, "2 00:01", "2 03:00", "succeeded", None)]
    assert rows(con, MEMBERS) == [("j-0-00", 1, 0), ("j-1-00", 1, 1)]


def test_recreated_members_are_the_next_attempt(make, observed, rows):
    con = observed(
        make.listed(
            *nodes(make),
            make.job("j", parallelism=2, template=TEMPLATE),
            member(make, "j", 0, ended="2 03:00", exit_code=1),
            member(make, "j", 1, ended="2 03:05", exit_code=143),
            member(make, "j", 0, "2 04:00"),
            member(make, "j", 1, "2 04:00"),
        )
    )
    assert rows(con, ATTEMPTS) == [
        (1, "2 00:01", "2 03:05", "failed", 2),
        (2, "2 04:01", None, "running", 2),
    ]


def test_a_ray_job_that_tries_again_in_another_cluster_is_one_job(make, observed, rows):
    def cluster(name):
        reference = make.owned_by("RayJob", "r")
        meta = make.meta(name, "2 00:00", namespace="team", ownerReferences=reference)
        return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": meta, "spec": {}}

    con = observed(
        make.listed(
            *nodes(make),
            cluster("r-a"),
            cluster("r-b"),
            member(make, "r-a", 0, kind="RayCluster", ended="2 03:00", exit_code=1),
            member(make, "r-b", 0, "2 04:00", kind="RayCluster"),
        )
    )
    assert rows(con, "select name, owner_kind from observed.jobs_kube") == [("r", "RayJob")]
    assert rows(con, ATTEMPTS) == [
        (1, "2 00:01", "2 03:00", "failed", None),
        (2, "2 04:01", None, "running", None),
    ]


def test_volcano_counts_its_retries_on_the_pods(make, observed, rows):
    def try_of(count, attempt, **more):
        labels = {"volcano.sh/job-retry-count": str(count)}
        pod = member(make, "v", 0, attempt, labels=labels, **more)
        pod["metadata"]["ownerReferences"][0]["apiVersion"] = "batch.volcano.sh/v1alpha1"
        return pod

    con = observed(
        make.listed(
            *nodes(make), try_of(0, "2 00:00", ended="2 03:00", exit_code=1), try_of(1, "2 04:00")
        )
    )
    assert rows(con, ATTEMPTS) == [
        (1, "2 00:01", "2 03:00", "failed", None),
        (2, "2 04:01", None, "running", None),
    ]


def test_a_member_recreated_before_the_others_died_opens_the_next_attempt(make, observed, rows):
    con = observed(
        make.listed(
            *nodes(make),
            member(make, "j", 0, ended="2 03:00", exit_code=1),
            member(make, "j", 1, ended="2 03:15", exit_code=1),
            member(make, "j", 0, "2 03:00", name="again-0"),
            member(make, "j", 1, "2 04:00", name="again-1"),
        )
    )
    assert rows(con, MEMBERS) == [
        ("j-0-00", 1, 0),
        ("j-1-00", 1, 1),
        ("again-0", 2, 0),
        ("again-1", 2, 1),
    ]
    assert rows(con, ATTEMPTS) == [
        (1, "2 00:01", "2 03:01", "failed", None),
        (2, "2 03:01", None, "running", None),
    ]


def test_a_member_replaced_beside_others_that_live_on_is_elastic(make, observed, rows):
    con = observed(
        make.listed(
            *nodes(make),
            member(make, "j", 0, ended="2 03:00", exit_code=1),
            member(make, "j", 1),
            member(make, "j", 0, "2 04:00"),
        )
    )
    assert rows(con, ATTEMPTS) == [(1, "2 00:01", None, "running", None)]


def jobset(make, *conditions, restarts=0):
    job = {"spec": {"parallelism": 2, "template": TEMPLATE}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": make.meta("js", "2 00:00", namespace="team"),
        "spec": {"replicatedJobs": [{"name": "w", "replicas": 1, "template": job}]},
        "status": {"restarts": restarts, "conditions": list(conditions)},
    }


def child(make, restart, *conditions):
    built = make.job(f"js-w-{restart}", *conditions)
    built["metadata"] |= {
        "labels": {"jobset.sigs.k8s.io/restart-attempt": str(restart)},
        "ownerReferences": make.owned_by("JobSet", "js"),
    }
    return built


def of_jobset(make, index, restart, attempt="2 00:00", **more):
    labels = {"jobset.sigs.k8s.io/restart-attempt": str(restart)}
    return member(make, f"js-w-{restart}", index, attempt, labels=labels, **more)


def test_a_jobset_attempt_ends_when_its_child_job_failed(make, observed, rows):
    con = observed(
        make.listed(
            *nodes(make),
            jobset(make, make.condition("Completed", "True", "2 09:00", "AllJobsCompleted")),
            child(make, 0, make.condition("Failed", "True", "2 03:00", "BackoffLimitExceeded")),
            child(make, 1, make.condition("Complete", "True", "2 09:00")),
            of_jobset(make, 0, 0, ended="2 03:00", exit_code=1),
            of_jobset(make, 1, 0, ended="2 03:10", exit_code=143),
            of_jobset(make, 0, 1, "2 04:00", ended="2 08:59"),
            of_jobset(make, 1, 1, "2 04:00", ended="2 09:00"),
        )
    )
    assert rows(con, JOBS) == [("js", "JobSet", "training", "succeeded", "2 09:00", None)]
    assert rows(con, ATTEMPTS) == [
        (1, "2 00:01", "2 03:00", "failed", 2),
        (2, "2 04:01", "2 09:00", "succeeded", 2),
    ]
    found = "select source, value, attempt from observed.evidence_kube order by 3"
    assert rows(con, found) == [("job_condition", "BackoffLimitExceeded", 1)]


def test_a_restart_of_all_containers_in_place_is_an_attempt(make, observed, rows):
    def restarted(index):
        built = member(make, "j", index)
        built["status"]["containerStatuses"][0] |= {
            "restartCount": 1,
            "state": {"running": {"startedAt": make.clock("2 03:10")}},
            "lastState": {
                "terminated": {
                    "exitCode": 1,
                    "reason": "Error",
                    "startedAt": make.clock("2 00:02"),
                    "finishedAt": make.clock("2 03:00"),
                }
            },
        }
        return built

    con = observed(make.listed(*nodes(make), restarted(0), restarted(1)))
    assert rows(con, ATTEMPTS) == [
        (1, "2 00:01", "2 03:00", "failed", None),
        (2, "2 03:00", None, "running", None),
    ]
    found = (
        "select pod_uid, attempt, bound_at, running_at, released_at, exit_code "
        "from observed.pods_kube where rank = 0 order by 2"
    )
    assert rows(con, found) == [
        ("uid-j-0-00", 1, "2 00:01", "2 00:02", "2 03:00", 1),
        ("uid-j-0-00#1", 2, "2 03:00", "2 03:10", None, None),
    ]
    con = observed(make.listed(*nodes(make), restarted(0), member(make, "j", 1)))
    assert rows(con, ATTEMPTS) == [(1, "2 00:01", None, "running", None)]


def test_a_crash_loop_counts_the_run_it_waits_after(make, observed, rows):
    built = member(make, "j", 0)
    built["status"]["containerStatuses"][0] |= {
        "restartCount": 4,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {
            "terminated": {
                "exitCode": 1,
                "startedAt": make.clock("2 03:00"),
                "finishedAt": make.clock("2 03:01"),
            }
        },
    }
    con = observed(make.listed(*nodes(make), built))
    found = "select run, started_at, finished_at, exit_code from observed.container_runs"
    assert rows(con, found) == [(4, "2 03:00", "2 03:01", 1)]


@pytest.mark.parametrize(
    ("api", "kind", "status", "state", "ended"),
    [
        ("batch/v1", "Job", {"conditions": [("Failed", "2 05:00")]}, "failed", "2 05:00"),
        (
            "batch/v1",
            "Job",
            {"conditions": [("Complete", "2 05:01")], "completionTime": "2 05:00"},
            "succeeded",
            "2 05:00",
        ),
        (
            "batch/v1",
            "Job",
            {"conditions": [("Failed", "2 05:09"), ("FailureTarget", "2 05:00")]},
            "failed",
            "2 05:00",
        ),
        (
            "kubeflow.org/v1",
            "PyTorchJob",
            {"conditions": [("Succeeded", "2 05:00")]},
            "succeeded",
            "2 05:00",
        ),
        (
            "kubeflow.org/v2beta1",
            "MPIJob",
            {"conditions": [("Failed", "2 05:00")]},
            "failed",
            "2 05:00",
        ),
        (
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            {"conditions": [("Complete", "2 05:00")]},
            "succeeded",
            "2 05:00",
        ),
        ("ray.io/v1", "RayJob", {"jobStatus": "FAILED", "endTime": "2 05:00"}, "failed", "2 05:00"),
        (
            "ray.io/v1",
            "RayJob",
            {"jobStatus": "STOPPED", "endTime": "2 05:00"},
            "cancelled",
            "2 05:00",
        ),
        ("ray.io/v1", "RayJob", {"jobStatus": "RUNNING"}, "running", None),
        (
            "batch.volcano.sh/v1alpha1",
            "Job",
            {"state": {"phase": "Completed", "lastTransitionTime": "2 05:00"}},
            "succeeded",
            "2 05:00",
        ),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {"conditions": [("Suspended", "2 05:00")]},
            "running",
            None,
        ),
    ],
)
def test_each_kind_says_in_its_own_way_that_it_is_over(
    make, observed, rows, api, kind, status, state, ended
):
    def written(value):
        if isinstance(value, list):
            return [make.condition(kind, "True", since) for kind, since in value]
        if isinstance(value, dict):
            return {key: written(entry) for key, entry in value.items()}
        return make.clock(value) if value.startswith("2 ") else value

    thing = {
        "apiVersion": api,
        "kind": kind,
        "metadata": make.meta("j", "2 00:00", namespace="team"),
        "spec": {},
        "status": written(status),
    }
    con = observed(make.listed(*nodes(make), thing, make.pod("p1", owner=make.owned_by(kind, "j"))))
    assert rows(con, "select state, ended_at from observed.jobs_kube") == [(state, ended)]


def test_a_failure_of_what_is_being_deleted_is_the_deletion(make, observed, rows):
    failed = make.job(
        "j", make.condition("Failed", "True", "2 05:00"), parallelism=1, template=TEMPLATE
    )
    failed["metadata"]["deletionTimestamp"] = make.clock("2 04:59")
    con = observed(json.dumps({"type": "DELETED", "object": failed}))
    assert rows(con, "select state, ended_at from observed.jobs_kube") == [("cancelled", "2 04:59")]


def test_a_cpu_job_is_no_job_here_but_a_training_kind_always_is(make, observed, rows):
    torch = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": make.meta("mnist", "2 00:00"),
        "status": {"conditions": [make.condition("Succeeded", "True", "2 05:00")]},
    }
    con = observed(make.listed(make.job("backup", parallelism=1), torch))
    assert [row[0] for row in rows(con, JOBS)] == ["mnist"]


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("PreemptionByScheduler", "preempted"),
        ("EvictionByEvictionAPI", "evicted"),
        ("DeletionByTaintManager", "failed"),
    ],
)
def test_a_disruption_of_every_member_ends_the_attempt(make, observed, rows, reason, outcome):
    def disrupted(index):
        built = member(make, "j", index, ended="2 03:01", exit_code=143)
        built["status"]["conditions"].append(
            make.condition("DisruptionTarget", "True", "2 03:00", reason)
        )
        return built

    con = observed(make.listed(*nodes(make), disrupted(0), disrupted(1)))
    assert rows(con, ATTEMPTS) == [(1, "2 00:01", "2 03:00", outcome, None)]
    found = "select distinct disruption from observed.pods_kube"
    assert rows(con, found) == [(reason,)]


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
    gaps = 'select source_name, "from", "to" from observed.collector_gaps_kube'
    typed = [
        json.dumps({"kind": "EventList", "apiVersion": "v1", "items": [e]}) for e in (early, late)
    ]
    # kubectl calls every list a List.
    for texts in ([make.listed(early), make.listed(late)], typed):
        assert rows(observed(*texts), gaps) == [("kubernetes events of team", "2 01:00", "2 04:00")]


def test_a_list_of_the_events_of_one_namespace_does_not_stand_for_the_others(make, observed, rows):
    def of(namespace, name, at):
        found = event(make, "Pod", name, f"uid-{name}", "BackOff", at)
        found["metadata"]["namespace"] = namespace
        return found

    gaps = 'select source_name, "from", "to" from observed.collector_gaps_kube order by 1, 2'
    con = observed(
        make.listed(of("a", "p", "2 01:00")),
        make.listed(of("b", "q", "2 03:00")),
        make.listed(of("a", "r", "2 05:00"), of("b", "s", "2 05:00")),
    )
    assert rows(con, gaps) == [
        ("kubernetes events of a", "2 01:00", "2 04:00"),
        ("kubernetes events of b", "2 03:00", "2 04:00"),
    ]
