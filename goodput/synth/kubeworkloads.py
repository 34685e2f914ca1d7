"""Jobs of all kinds, their child Jobs and their Kueue Workloads, as the API server shows them."""

from __future__ import annotations

from goodput.synth.files import rfc3339, stable_uid
from goodput.synth.fleet import Attempt, Job
from goodput.synth.kubemeta import Object, Timeline, condition, meta, owner_reference
from goodput.synth.kubepods import child_name, child_uid, jobset_labels, restart_policy, restarts

JOBSET_API = "jobset.x-k8s.io/v1alpha2"


def job_timelines(job: Job) -> list[Timeline]:
    """The owner object, its child Jobs and its Kueue Workload."""
    rows = [_owner_timeline(job), _workload_timeline(job)]
    if job.spec.owner == "JobSet":
        seen: dict[int, list[Attempt]] = {}
        for attempt in job.attempts:
            seen.setdefault(restarts(job, attempt.number), []).append(attempt)
        rows += [_child_timeline(job, group) for group in seen.values()]
    return rows


def _changes(job: Job) -> list[int]:
    times = [job.spec.submit]
    for a in job.attempts:
        times += [t for t in (a.queued, a.bound, a.ready, a.end) if t is not None]
    if job.ended is not None:
        times.append(job.ended)
    end = job.removed if job.removed is not None else 1 << 40
    return sorted({t for t in times if t < end})


def _template(job: Job) -> Object:
    return {
        "spec": {
            "nodeSelector": {"eks.amazonaws.com/nodegroup": job.spec.pool},
            "restartPolicy": restart_policy(job),
            "containers": [
                {
                    "name": "trainer",
                    "image": "registry.example.com/ml/train:26.10",
                    "resources": {"limits": {"nvidia.com/gpu": str(job.spec.gpus_per_pod)}},
                }
            ],
        }
    }


def _labels(job: Job) -> dict[str, str]:
    return {"team": job.spec.team, "kueue.x-k8s.io/queue-name": job.spec.pool}


def _latest(job: Job, t: int) -> Attempt:
    return [a for a in job.attempts if a.queued <= t][-1]


def _declared(job: Job, t: int) -> int | None:
    """When a controller said how it ended, if it has by now; of a deleted job nobody says so."""
    said = job.state in ("succeeded", "failed") and job.ended is not None and t >= job.ended
    return job.ended if said else None


def _suspended(job: Job, t: int) -> bool:
    """Whether Kueue holds the job back: before its first admission, and while it is preempted."""
    attempt = _latest(job, t)
    held = attempt.number == 1 or job.attempts[attempt.number - 2].outcome == "preempted"
    waiting = attempt.bound is None or t < attempt.bound
    evicted = attempt.end is not None and t >= attempt.end and attempt.outcome == "preempted"
    return (held and waiting) or evicted


def _owner_timeline(job: Job) -> Timeline:
    build = {"JobSet": _jobset, "Job": _plain_job, "PyTorchJob": _pytorchjob}[job.spec.owner]
    changes = tuple(_changes(job))
    return Timeline(job.spec.owner, changes, lambda t: build(job, t), job.spec.submit, job.removed)


def _head(job: Job, t: int, api: str, kind: str) -> Object:
    at = [c for c in _changes(job) if c <= t][-1]
    metadata = meta(
        job.spec.name, job.uid, job.spec.submit, at, job.spec.namespace, labels=_labels(job)
    )
    if job.state == "cancelled" and job.ended is not None and t >= job.ended:
        # Deleted in the foreground: the object stays until its pods are gone.
        metadata |= {"deletionTimestamp": rfc3339(job.ended), "finalizers": ["foregroundDeletion"]}
    return {"apiVersion": api, "kind": kind, "metadata": metadata}


def _jobset(job: Job, t: int) -> Object:
    spec = job.spec
    done = _declared(job, t)
    conditions = []
    if done is not None:
        kind, reason = (
            ("Completed", "AllJobsCompleted")
            if job.state == "succeeded"
            else ("Failed", "FailedJobs")
        )
        conditions.append(condition(kind, "True", done, reason))
    status: Object = {"restarts": restarts(job, _latest(job, t).number), "conditions": conditions}
    if done is not None:
        status["terminalState"] = conditions[0]["type"]
    job_spec = {
        "parallelism": spec.pods,
        "completions": spec.pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": _template(job),
    }
    return _head(job, t, JOBSET_API, "JobSet") | {
        "spec": {
            "suspend": _suspended(job, t),
            "failurePolicy": {"maxRestarts": spec.restarts},
            "replicatedJobs": [{"name": "workers", "replicas": 1, "template": {"spec": job_spec}}],
        },
        "status": status,
    }


def _batch_status(job: Job, attempt: Attempt, t: int, failed: int) -> Object:
    status: Object = {}
    if attempt.bound is not None and t >= attempt.bound:
        status["startTime"] = rfc3339(attempt.pods[0].runs[0].bound or attempt.bound)
        status["active"] = job.spec.pods
    if failed:
        status["failed"] = failed
    return status


def _plain_job(job: Job, t: int) -> Object:
    attempt = _latest(job, t)
    failed = sum(
        a.end is not None and a.end <= t and a.outcome != "succeeded" and a.pods[0].after is None
        for a in job.attempts
    )
    status = _batch_status(job, attempt, t, failed)
    if (ended := _declared(job, t)) is not None:
        good = job.state == "succeeded"
        status["conditions"] = [
            condition(
                "Complete" if good else "Failed",
                "True",
                ended,
                "" if good else "BackoffLimitExceeded",
            )
        ]
        status.pop("active", None)
        if good:
            status["succeeded"] = job.spec.pods
            status["completionTime"] = rfc3339(ended)
    return _head(job, t, "batch/v1", "Job") | {
        "spec": {
            "parallelism": job.spec.pods,
            "completions": job.spec.pods,
            "completionMode": "Indexed",
            "backoffLimit": job.spec.restarts,
            "suspend": _suspended(job, t),
            "template": _template(job),
        },
        "status": status,
    }


def _pytorchjob(job: Job, t: int) -> Object:
    attempt = _latest(job, t)
    conditions = [condition("Created", "True", job.spec.submit, "PyTorchJobCreated")]
    if attempt.ready is not None and t >= attempt.ready:
        conditions.append(condition("Running", "True", attempt.ready, "PyTorchJobRunning"))
    status: Object = {"conditions": conditions}
    if attempt.bound is not None and t >= attempt.bound:
        status["startTime"] = rfc3339(attempt.bound)
    if (ended := _declared(job, t)) is not None:
        kind = "Succeeded" if job.state == "succeeded" else "Failed"
        conditions.append(condition(kind, "True", ended, f"PyTorchJob{kind}"))
        status["completionTime"] = rfc3339(ended)
    replicas = {"Master": {"replicas": 1, "restartPolicy": "Never", "template": _template(job)}}
    if job.spec.pods > 1:
        replicas["Worker"] = {**replicas["Master"], "replicas": job.spec.pods - 1}
    return _head(job, t, "kubeflow.org/v1", "PyTorchJob") | {
        "spec": {"runPolicy": {"suspend": _suspended(job, t)}, "pytorchReplicaSpecs": replicas},
        "status": status,
    }


def _child_timeline(job: Job, group: list[Attempt]) -> Timeline:
    created = group[0].queued
    last = group[-1]
    times = [created]
    for a in group:
        times += [t for t in (a.bound, a.ready, a.end) if t is not None]
    following = last.number < len(job.attempts)
    gone = job.attempts[last.number].queued if following else job.removed
    changes = tuple(sorted({t for t in times if gone is None or t < gone}))
    return Timeline("Job", changes, lambda t: _child(job, group, t), created, gone)


def _child(job: Job, group: list[Attempt], t: int) -> Object:
    attempt = [a for a in group if a.queued <= t][-1]
    over = attempt.end is not None and t >= attempt.end
    status = _batch_status(job, attempt, t, 0)
    if over and attempt.end is not None and attempt.outcome in ("failed", "evicted", "succeeded"):
        status.pop("active", None)
        if attempt.outcome == "succeeded":
            status |= {"succeeded": job.spec.pods, "completionTime": rfc3339(attempt.end)}
            status["conditions"] = [
                condition("Complete", "True", attempt.end, "CompletionsReached")
            ]
        else:
            status["failed"] = 1
            status["conditions"] = [
                condition("Failed", "True", attempt.end, "BackoffLimitExceeded")
            ]
    changed = [c for a in group for c in (a.queued, a.bound, a.ready, a.end) if c and c <= t]
    metadata = meta(
        child_name(job),
        child_uid(job, attempt.number),
        group[0].queued,
        max(changed),
        job.spec.namespace,
        labels=_labels(job) | jobset_labels(job, attempt.number),
        ownerReferences=[owner_reference(JOBSET_API, "JobSet", job.spec.name, job.uid)],
    )
    spec = {
        "parallelism": job.spec.pods,
        "completions": job.spec.pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "suspend": _suspended(job, t),
        "template": _template(job),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _workload_timeline(job: Job) -> Timeline:
    return Timeline(
        "Workload", tuple(_changes(job)), lambda t: _workload(job, t), job.spec.submit, job.removed
    )


def _workload(job: Job, t: int) -> Object:
    """The Kueue Workload: one row per condition type, history overwritten."""
    held = _suspended(job, t)
    admitted = [
        a.bound
        for a in job.attempts
        if a.bound is not None
        and a.bound <= t
        and (a.number == 1 or job.attempts[a.number - 2].outcome == "preempted")
    ]
    evictions = [a.end for a in job.attempts if a.outcome == "preempted" and a.end and a.end <= t]
    conditions = []
    if admitted and not held:
        conditions += [
            condition("QuotaReserved", "True", admitted[-1], "QuotaReserved"),
            condition("Admitted", "True", admitted[-1], "Admitted"),
        ]
    else:
        since = evictions[-1] if evictions else job.spec.submit
        conditions.append(condition("QuotaReserved", "False", since, "Pending"))
        if evictions:
            conditions.append(condition("Admitted", "False", since, "NoReservation"))
    if evictions:
        state = "True" if held else "False"
        at = evictions[-1] if held else admitted[-1]
        conditions += [
            condition("Evicted", state, at, "Preempted"),
            condition("Preempted", state, at, "InClusterQueue"),
            condition("Requeued", "True", evictions[-1], "Preempted"),
        ]
    if (ended := _declared(job, t)) is not None:
        reason = "Succeeded" if job.state == "succeeded" else "Failed"
        conditions.append(condition("Finished", "True", ended, reason))
    head = _head(job, t, "kueue.x-k8s.io/v1beta1", "Workload")
    head["metadata"]["name"] = f"{job.spec.owner.lower()}-{job.spec.name}-{job.uid[:5]}"
    head["metadata"]["uid"] = stable_uid(job.uid, "workload")
    api = {"JobSet": JOBSET_API, "Job": "batch/v1", "PyTorchJob": "kubeflow.org/v1"}
    head["metadata"]["ownerReferences"] = [
        owner_reference(api[job.spec.owner], job.spec.owner, job.spec.name, job.uid)
    ]
    return head | {
        "spec": {
            "active": True,
            "queueName": job.spec.pool,
            "priority": job.spec.priority,
            "podSets": [{"name": "workers", "count": job.spec.pods, "template": _template(job)}],
        },
        "status": {"conditions": conditions},
    }
