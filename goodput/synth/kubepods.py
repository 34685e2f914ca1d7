"""Pod objects as the API server would have shown them at an instant of the simulation."""

from __future__ import annotations

from goodput.synth.files import rfc3339, stable_uid
from goodput.synth.fleet import Job, Pod
from goodput.synth.kubemeta import Object, Timeline, condition, meta, owner_reference

GRACE_S = 30


def pod_timeline(last: Pod) -> Timeline:
    """The Pod object of a pod, given its last run."""
    end = last.removed if last.removed is not None else 1 << 40
    changes = sorted({c for run in last.runs for c in _changes(run) if c < end})
    return Timeline("Pod", tuple(changes), lambda t: _pod(last, t), last.created, last.removed)


def _changes(run: Pod) -> list[int]:
    first = (run.created, run.bound, run.running, run.terminated, run.deletion)
    disrupted = run.disruption[:1] if run.disruption else ()
    return [c for c in (*first, *disrupted) if c is not None]


def _pod(last: Pod, t: int) -> Object:
    pod = [run for run in last.runs if run is last.runs[0] or (run.bound or 0) <= t][-1]
    at = max(c for run in last.runs for c in _changes(run) if c <= t)
    metadata = meta(pod.name, pod.uid, pod.created, at, pod.namespace, labels=_pod_labels(pod))
    if owner := _pod_owner(pod):
        metadata["ownerReferences"] = [owner]
    if pod.job is not None and pod.job.spec.owner != "PyTorchJob":
        metadata["annotations"] = {"batch.kubernetes.io/job-completion-index": str(pod.rank)}
    if pod.deletion is not None and t >= pod.deletion:
        metadata["deletionTimestamp"] = rfc3339(pod.deletion + GRACE_S)
        metadata["deletionGracePeriodSeconds"] = GRACE_S
    spec: Object = {
        "restartPolicy": restart_policy(pod.job),
        "schedulerName": "default-scheduler",
        "containers": [
            {
                "name": "trainer" if pod.job else "server",
                "image": "registry.example.com/ml/train:26.10",
                "resources": {
                    "limits": {pod.resource: str(pod.gpus), "memory": "1Ti"},
                    "requests": {pod.resource: str(pod.gpus), "cpu": "64", "memory": "1Ti"},
                },
            }
        ],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    }
    if pod.job is not None:
        spec["nodeSelector"] = {"eks.amazonaws.com/nodegroup": pod.job.spec.pool}
    if pod.bound is not None and t >= pod.bound and pod.node is not None:
        spec["nodeName"] = pod.node.name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": _pod_status(pod, t),
    }


def restart_policy(job: Job | None) -> str:
    """What the kubelet does with a container that failed."""
    return "OnFailure" if job and job.spec.in_place else "Never"


def _pod_labels(pod: Pod) -> dict[str, str]:
    if pod.job is None:
        return {"app": pod.name.rsplit("-", 2)[0], "team": "team-serving"}
    spec = pod.job.spec
    labels = {"team": spec.team, "kueue.x-k8s.io/queue-name": spec.pool}
    if spec.owner == "PyTorchJob":
        replica = "master" if pod.rank == 0 else "worker"
        return labels | {
            "training.kubeflow.org/job-name": spec.name,
            "training.kubeflow.org/replica-type": replica,
            "training.kubeflow.org/replica-index": str(max(0, pod.rank - 1)),
        }
    name = child_name(pod.job)
    labels |= {
        "batch.kubernetes.io/job-name": name,
        "batch.kubernetes.io/controller-uid": child_uid(pod.job, pod.attempt),
        "batch.kubernetes.io/job-completion-index": str(pod.rank),
    }
    if spec.owner == "JobSet":
        labels |= jobset_labels(pod.job, pod.attempt)
    return labels


def jobset_labels(job: Job, attempt: int) -> dict[str, str]:
    """The labels that JobSet puts on its child Job and pods."""
    return {
        "jobset.sigs.k8s.io/jobset-name": job.spec.name,
        "jobset.sigs.k8s.io/jobset-uid": job.uid,
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        "jobset.sigs.k8s.io/job-index": "0",
        "jobset.sigs.k8s.io/restart-attempt": str(restarts(job, attempt)),
    }


def restarts(job: Job, attempt: int) -> int:
    """How often the controller had recreated the gang before this attempt (not: been suspended)."""
    return sum(a.outcome != "preempted" for a in job.attempts[: attempt - 1])


def child_name(job: Job) -> str:
    """The name of the batch Job that owns the pods."""
    return f"{job.spec.name}-workers-0" if job.spec.owner == "JobSet" else job.spec.name


def child_uid(job: Job, attempt: int) -> str:
    """The UID of the batch Job that owns the pods of an attempt."""
    if job.spec.owner != "JobSet":
        return job.uid
    return stable_uid(job.uid, "child", restarts(job, attempt))


def _pod_owner(pod: Pod) -> Object | None:
    if pod.job is None:
        name = pod.name.rsplit("-", 1)[0]
        kind = "StatefulSet" if name.startswith("notebook") else "ReplicaSet"
        return owner_reference("apps/v1", kind, name, stable_uid("serving", name))
    if pod.job.spec.owner == "PyTorchJob":
        return owner_reference("kubeflow.org/v1", "PyTorchJob", pod.job.spec.name, pod.job.uid)
    return owner_reference("batch/v1", "Job", child_name(pod.job), child_uid(pod.job, pod.attempt))


def _pod_status(pod: Pod, t: int) -> Object:
    bound = pod.bound is not None and t >= pod.bound
    running = pod.running is not None and t >= pod.running
    over = pod.terminated is not None and t >= pod.terminated
    phase = "Pending"
    if over:
        phase = "Succeeded" if pod.exit_code == 0 else "Failed"
    elif running or pod.before:
        phase = "Running"
    status: Object = {"phase": phase, "conditions": _pod_conditions(pod, t, bound, running, over)}
    if bound and pod.bound is not None:
        status["startTime"] = rfc3339(pod.runs[0].bound or pod.bound)
        status["containerStatuses"] = [_container(pod, running, over)]
    if pod.disruption and t >= pod.disruption[0] and phase == "Failed":
        status["message"] = pod.disruption[2]
    return status


def _container(pod: Pod, running: bool, over: bool) -> Object:
    state: Object
    if over:
        state = {"terminated": _ended(pod, running)}
    elif running and pod.running is not None:
        state = {"running": {"startedAt": rfc3339(pod.running)}}
    else:
        state = {"waiting": {"reason": "CrashLoopBackOff" if pod.before else "ContainerCreating"}}
    # While it waits to be restarted, the counter still says how often it was.
    restarts = len(pod.runs) - 1 - (pod.before is not None and not running)
    return {
        "name": "trainer" if pod.job else "server",
        "ready": running and not over,
        "restartCount": restarts,
        "state": state,
        "lastState": {"terminated": _ended(pod.before, True)} if pod.before else {},
    }


def _ended(pod: Pod, running: bool) -> Object:
    """How the container of a run ended, and when it ran."""
    assert pod.terminated is not None
    ran = running and pod.running is not None and pod.running <= pod.terminated
    return {
        "exitCode": pod.exit_code,
        "reason": pod.reason,
        "finishedAt": rfc3339(pod.terminated),
        "startedAt": rfc3339(pod.running) if ran and pod.running is not None else None,
    }


def _pod_conditions(pod: Pod, t: int, bound: bool, running: bool, over: bool) -> list[Object]:
    if not bound or pod.bound is None:
        return [condition("PodScheduled", "False", pod.created, "Unschedulable")]
    rows = [
        condition("PodScheduled", "True", pod.bound),
        condition("Initialized", "True", pod.bound),
    ]
    if running and pod.running is not None:
        at = pod.terminated if over and pod.terminated is not None else pod.running
        rows.append(condition("Ready", "False" if over else "True", at))
    if pod.disruption and t >= pod.disruption[0]:
        at, reason, message = pod.disruption
        rows.append(condition("DisruptionTarget", "True", at, reason, message))
    return rows
