"""Attempts out of the members of a job: recreated, restarted, disrupted."""

import pytest
from kube_workloads import ATTEMPTS, JOBS, MEMBERS, TEMPLATE, member, nodes


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
