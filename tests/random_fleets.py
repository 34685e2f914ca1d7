"""Random small fleets as raw rows, for hypothesis: odd, overlapping and contradictory on purpose.

Instants are whole milliseconds after START. A fleet is {table: [row, …]}.
"""

from hypothesis import strategies as st

GPUS = 2
SPAN_MS = 1_500_000
TIMES = {  # the columns that hold instants, by table
    "nodes": ("registered_at", "ready_at", "deleted_at"),
    "node_conditions": ("from", "to"),
    "node_condition_events": ("t",),
    "node_admin": ("from", "to"),
    "jobs": ("ended_at",),
    "attempts": ("start", "end"),
    "pods": ("bound_at", "running_at", "terminated_at", "released_at"),
    "steps": ("start", "end"),
    "phases": ("start", "end"),
    "checkpoints": ("write_start", "committed_at", "invalid_at"),
    "queue": ("from", "to"),
    "evidence": ("t",),
}
NAMES = {"node_uid", "pod_uid", "job"}

CONDITIONS = st.sampled_from(
    [
        ("Ready", "Unknown", "NodeStatusUnknown"),
        ("AcceleratedHardwareReady", "False", "NvidiaXID79Error"),
        ("IbLinkDown", "True", "*"),
        ("GpuThermalThrottle", "True", "*"),
        ("DiskPressure", "Unknown", ""),
    ]
)
LINES = st.sampled_from(
    [
        "ValueError: too many values to unpack",
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88)",
        "OSError: [Errno 28] No space left on device",
        "a line that means nothing",
    ]
)


def moments(low=0, high=SPAN_MS):
    return st.integers(low, max(low, high))


def maybe(strategy):
    return st.none() | strategy


@st.composite
def spans(draw, longest=600_000):
    start = draw(moments())
    return start, draw(maybe(st.integers(1, longest).map(lambda length: start + length)))


@st.composite
def node_rows(draw, fleet, uid):
    registered = draw(st.sampled_from([0, 0, 60_001]))
    fleet["nodes"].append(
        {
            "node_uid": uid,
            "pool": "p",
            "gpus": GPUS,
            "registered_at": registered,
            "ready_at": draw(st.sampled_from([None, registered + 30_000])),
            "deleted_at": draw(st.sampled_from([None, None, SPAN_MS - 100_007])),
        }
    )
    for start, end in draw(st.lists(spans(), max_size=2)):
        kind, status, reason = draw(CONDITIONS)
        fleet["node_conditions"].append(
            {
                "node_uid": uid,
                "gpu": draw(maybe(st.integers(0, GPUS - 1))),
                "type": kind,
                "status": status,
                "reason": reason,
                "from": start,
                "to": end,
            }
        )
    for start, end in draw(st.lists(spans(), max_size=2)):
        kind = draw(st.sampled_from(["cordon", "drain", "repair"]))
        action = draw(st.sampled_from(["reboot", "replace"])) if kind == "repair" else None
        fleet["node_admin"].append(
            {"node_uid": uid, "kind": kind, "action": action, "from": start, "to": end}
        )


@st.composite
def attempt_rows(draw, fleet, job, attempt, start, resume, nodes):
    length = draw(st.integers(5_000, 400_000))
    end = start + length
    for rank, node in enumerate(nodes):
        terminated = end + draw(st.integers(-3_000, 3_000))
        fleet["pods"].append(
            {
                "pod_uid": f"{job}-{attempt}-{rank}",
                "job": job,
                "attempt": attempt,
                "node_uid": node,
                "gpus": GPUS,
                "rank": rank,
                "bound_at": start,
                "running_at": start + draw(st.integers(0, 20_000)),
                "terminated_at": terminated,
                "released_at": terminated,
                "exit_code": draw(st.sampled_from([None, 1, 137])),
            }
        )
    begin = start + draw(st.integers(0, 40_000))
    position = resume
    for _ in range(draw(st.integers(0, 6))):
        count = draw(st.integers(1, 9))
        stop = begin + count * draw(st.integers(900, 9_000))
        fleet["steps"].append(
            {
                "job": job,
                "attempt": attempt,
                "first": position + 1,
                "last": position + count,
                "start": begin,
                "end": stop,
            }
        )
        position += count + draw(st.sampled_from([0, 0, 0, 2, -4]))
        position = max(position, 0)
        if draw(st.booleans()):
            saved = stop + draw(st.integers(1, 9_000))
            fleet["phases"].append(
                {
                    "job": job,
                    "attempt": attempt,
                    "kind": draw(st.sampled_from(["ckpt_save", "eval", "stall"])),
                    "start": stop - draw(st.sampled_from([0, 500])),
                    "end": saved,
                }
            )
            fleet["checkpoints"].append(
                {
                    "job": job,
                    "attempt": attempt,
                    "step": position,
                    "write_start": stop,
                    "committed_at": draw(st.sampled_from([None, saved, saved + 60_000])),
                    "invalid_at": draw(st.sampled_from([None, None, saved + 300_000])),
                }
            )
            stop = saved
        begin = stop + draw(st.sampled_from([0, 0, 1_500, 70_000]))
    return end, position


@st.composite
def job_rows(draw, fleet, job, nodes):
    start, position = draw(moments(0, 200_000)), 0
    attempts = draw(st.integers(1, 3))
    state = draw(st.sampled_from(["succeeded", "failed", "running"]))
    for attempt in range(1, attempts + 1):
        resume = draw(st.integers(0, max(position, 0)))
        end, position = draw(attempt_rows(fleet, job, attempt, start, resume, nodes))
        last = attempt == attempts
        outcome = draw(st.sampled_from(["failed", "failed", "preempted", "rollback", "evicted"]))
        fleet["attempts"].append(
            {
                "job": job,
                "attempt": attempt,
                "start": start,
                "end": None if last and state == "running" else end,
                "outcome": state if last else outcome,
                "resume_step": resume if attempt > 1 else None,
            }
        )
        fleet["evidence"].append(
            {
                "t": end - draw(st.integers(-200_000, 200_000)),
                "source": "log",
                "value": draw(LINES),
                "job": job,
                "attempt": attempt,
            }
        )
        start = end + draw(st.integers(0, 120_000))
        if not last:
            fleet["queue"].append(
                {
                    "job": job,
                    "attempt": attempt + 1,
                    "pool": "p",
                    "pods": len(nodes),
                    "gpus_per_pod": GPUS,
                    "from": end,
                    "to": start,
                }
            )
    ended = None if state == "running" else end
    fleet["jobs"].append({"job": job, "state": state, "ended_at": ended})


@st.composite
def fleets(draw):
    fleet = {table: [] for table in TIMES}
    for number in range(3):
        draw(node_rows(fleet, f"n{number}"))
    draw(job_rows(fleet, "a", ["n0", "n1"]))
    draw(job_rows(fleet, "b", ["n2"]))
    for start, end in draw(st.lists(spans(), max_size=2)):
        fleet["pods"].append(
            {
                "pod_uid": f"claim-{len(fleet['pods'])}",
                "job": None,
                "node_uid": "n2",
                "gpus": draw(st.integers(1, GPUS)),
                "role": "reserved",
                "bound_at": start,
                "released_at": end,
            }
        )
    for start, end in draw(st.lists(spans(), max_size=2)):
        fleet["queue"].append(
            {
                "job": "q",
                "attempt": 1,
                "pool": "p",
                "pods": draw(st.integers(1, 4)),
                "gpus_per_pod": draw(st.integers(1, GPUS)),
                "from": start,
                "to": end,
            }
        )
    return fleet
