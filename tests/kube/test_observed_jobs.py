"""Jobs out of owners and labels, and how each kind says that it is over."""

import json

import pytest
from kube_workloads import ATTEMPTS, JOBS, MEMBERS, TEMPLATE, member, nodes


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
