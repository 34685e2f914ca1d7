"""Members of jobs on two nodes, and what is asked of the tables made of them."""

JOBS = "select name, owner_kind, kind, state, ended_at, team from observed.jobs_kube order by name"
ATTEMPTS = (
    'select attempt, start, "end", outcome, min_members '
    "from observed.attempts_kube order by job, attempt"
)
MEMBERS = "select name, attempt, rank from observed.pods_kube order by attempt, rank, name"
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
