"""The simulation: events in time order act on the fleet and book its idle and broken GPU time.

Pods, attempts and step records keep what happened to them; `goodput.synth.truth` turns that into
the true ledger, the writers turn it into files. Nothing is read back from the files.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from goodput.synth.fleet import (
    UNITS,
    Attempt,
    Checkpoint,
    Job,
    JobSpec,
    Node,
    NodeSpan,
    Pod,
    PoolSpec,
    Record,
    Snapshot,
)

Label = tuple[str, str]
WATCHDOG_S = 600


@dataclass
class Idle:
    """Units of one device that no pod holds over [start, end)."""

    node: Node | None
    pool: str
    device: int
    start: int
    end: int
    units: int
    state: str
    cause: str


@dataclass(frozen=True)
class Ticket:
    """A row of the operators' ticket system: a drain or a repair of a node."""

    node: Node
    kind: str
    action: str
    planned: bool
    start: int
    end: int


@dataclass
class Trace:
    """What happened besides the objects: kernel lines, tickets, health beats, injected faults."""

    kernel: list[tuple[int, Node, str]] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    silent: list[tuple[Node, int, int]] = field(default_factory=list)
    faults: list[tuple[int, str, str]] = field(default_factory=list)
    node_events: list[tuple[int, Node, str, str]] = field(default_factory=list)
    cordons: list[tuple[int, Node, bool]] = field(default_factory=list)


class Simulation:
    """A cluster of training pools, run from `start` to `stop`."""

    def __init__(self, pools: list[PoolSpec], start: int, stop: int, seed: int) -> None:
        self.pools = {p.name: p for p in pools}
        self.start, self.stop = start, stop
        self.rng = random.Random(seed)
        self.now = self.mark = start
        self.heap: list[tuple[int, int, Callable[[], object]]] = []
        self.seq = 0
        self.nodes: list[Node] = []
        self.all_nodes: list[Node] = []
        self.jobs: list[Job] = []
        self.queue: list[Attempt] = []
        self.pods: list[Pod] = []
        self.idle: list[Idle] = []
        self.trace = Trace()
        self._open: dict[tuple[str, int], Idle] = {}
        self._kicked: set[str] = set()
        self._images: set[tuple[str, str]] = set()
        self._serial = 0
        for pool in pools:
            for number in range(pool.nodes):
                self._stand(pool, f"{pool.name}-{number + 1:02d}", number, start - 86400 * 3)

    # ------------------------------------------------------------------ time

    def at(self, when: int, action: Callable[[], object]) -> None:
        """Do `action` at the instant `when`."""
        self.seq += 1
        heapq.heappush(self.heap, (when, self.seq, action))

    def run(self) -> None:
        """Work through the events up to `stop`."""
        while self.heap and self.heap[0][0] < self.stop:
            when, _, action = heapq.heappop(self.heap)
            self.now = when
            action()
        self.now = self.stop
        self.touch()

    def uid(self) -> str:
        """A deterministic UUID."""
        bits = f"{self.rng.getrandbits(128):032x}"
        return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}"

    # ------------------------------------------------------------- accounting

    def touch(self) -> None:
        """Book the free time up to now; called before anything changes what is free or why."""
        if self.mark == self.now:
            return
        labels: dict[str, Label] = {}
        for node in self.nodes:
            state = node.state()
            if state == "available":
                if node.pool not in labels:
                    labels[node.pool] = self._idle_label(node.pool)
                label = labels[node.pool]
            else:
                label = (f"U.{state}", node.cause)
            for device, units in enumerate(node.free):
                if units:
                    self._book(node, node.pool, device, units, label)
        for pool in self.pools.values():
            missing = pool.reserved - sum(n.gpus for n in self.nodes if n.pool == pool.name)
            for device in range(max(0, missing)):
                self._book(None, pool.name, device, UNITS, ("U.unlaunched", "plat.capacity"))
        self.mark = self.now

    def _book(self, node: Node | None, pool: str, device: int, units: int, label: Label) -> None:
        key = (node.uid if node else pool, device)
        row = self._open.get(key)
        same = row and (row.end, row.units, row.state, row.cause) == (self.mark, units, *label)
        if row and same:
            row.end = self.now
            return
        row = Idle(node, pool, device, self.mark, self.now, units, *label)
        self._open[key] = row
        self.idle.append(row)

    def _idle_label(self, pool: str) -> Label:
        waiting = [a for a in self.queue if a.job.spec.pool == pool]
        if not waiting:
            return "I.no_demand", ""
        free = [n.free.count(UNITS) for n in self.nodes if n.pool == pool and usable(n)]
        specs = [a.job.spec for a in waiting]
        if any(sum(f // s.gpus_per_pod for f in free) >= s.pods for s in specs):
            state = "I.sched_delay"
        elif any(s.pods * s.gpus_per_pod <= sum(free) for s in specs):
            state = "I.fragmented"
        else:
            state = "I.shortfall"
        again = [a for a in waiting if a.number > 1]
        if again:
            first = min(again, key=lambda a: (a.queued, a.job.uid))
            return state, first.job.attempts[-2].cause
        return state, "plat.capacity" if state == "I.shortfall" else "plat.sched"

    # ------------------------------------------------------------------ nodes

    def _stand(self, pool: PoolSpec, name: str, number: int, created: int) -> Node:
        node = Node(
            name=name,
            uid=self.uid(),
            pool=pool.name,
            gpus=pool.gpus,
            created=created,
            ready_at=created + 300,
            rack=f"rack-{number // 4 + 1}",
            free=[UNITS] * pool.gpus,
            is_ready=created < self.start,
        )
        self.nodes.append(node)
        self.all_nodes.append(node)
        self.note(node)
        return node

    def note(self, node: Node) -> None:
        """Write the node's state into its history; ends the outage cause once it is available."""
        state = node.state()
        if state == "available":
            node.cause = ""
        when = node.created if not node.log else self.now
        node.log.append(NodeSpan(when, state, node.cause, *node.health()))
        node.history.append(
            Snapshot(when, dict(node.conds), node.cordoned, node.is_ready, node.boot)
        )
        self.kick(node.pool)

    def change(self, node: Node, action: Callable[[], None], cause: str = "") -> None:
        """Change a node; `cause` opens an outage, which keeps its first cause until it ends."""
        self.touch()
        action()
        if cause and not node.cause:
            node.cause = cause
        self.note(node)

    def cordon(self, node: Node, on: bool, cause: str = "") -> None:
        """Cordon or uncordon a node."""
        self.trace.cordons.append((self.now, node, on))
        self.change(node, lambda: setattr(node, "cordoned", on), cause)

    def add_node(self, old: Node) -> None:
        """A new machine for one that was lost: same pool, new name and UID."""
        self.touch()
        self._serial += 1
        node = self._stand(self.pools[old.pool], f"{old.name}-r{self._serial}", 0, self.now)
        node.rack, node.cause, node.ready_at = old.rack, old.cause, self.now + 330
        node.log[-1] = NodeSpan(self.now, "provisioning", node.cause, False, False)
        self.at(node.ready_at, lambda: self.change(node, lambda: setattr(node, "is_ready", True)))

    def delete_node(self, node: Node) -> None:
        """The Node object is removed, with every pod that was still bound to it."""
        self.touch()
        for pod in self.pods:
            if pod.node is node and pod.released is None and pod.bound is not None:
                self.release(pod)
                pod.removed = self.now
        node.deleted = self.now
        self.nodes.remove(node)
        self.kick(node.pool)

    # ------------------------------------------------------------- scheduling

    def submit(self, spec: JobSpec) -> Job:
        """Queue a new job now."""
        job = Job(spec, self.uid())
        self.jobs.append(job)
        self.enqueue(job)
        return job

    def enqueue(self, job: Job) -> None:
        """Queue the next attempt of a job."""
        self.touch()
        attempt = Attempt(len(job.attempts) + 1, job, self.now)
        job.attempts.append(attempt)
        self.queue.append(attempt)
        if attempt.number > 1 and job.attempts[-2].outcome != "preempted":
            self._create_pods(attempt)
        self.kick(job.spec.pool)

    def _create_pods(self, attempt: Attempt) -> None:
        spec = attempt.job.spec
        for rank in range(spec.pods):
            suffix = "".join(self.rng.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(5))
            name = f"{pod_prefix(spec, rank)}-{suffix}" if spec.owner != "PyTorchJob" else ""
            pod = Pod(
                uid=self.uid(),
                name=name or pod_prefix(spec, rank),
                namespace=spec.namespace,
                job=attempt.job,
                attempt=attempt.number,
                rank=rank,
                gpus=spec.gpus_per_pod,
                units=UNITS,
                created=self.now,
            )
            attempt.pods.append(pod)
            self.pods.append(pod)

    def kick(self, pool: str) -> None:
        """Let the scheduler look at a pool soon."""
        if pool not in self._kicked:
            self._kicked.add(pool)
            self.at(self.now + self.rng.randint(3, 12), lambda: self._schedule(pool))

    def _schedule(self, pool: str) -> None:
        self._kicked.discard(pool)
        order = sorted(self.queue, key=lambda a: (-a.job.spec.priority, a.queued, a.job.uid))
        for attempt in [a for a in order if a.job.spec.pool == pool]:
            if attempt.queued >= self.now:
                self.kick(pool)
                continue
            chosen = self._place(attempt.job.spec)
            if chosen:
                self._bind(attempt, chosen)
            elif attempt.job.spec.priority:
                self._preempt_for(attempt.job.spec)

    def _place(self, spec: JobSpec) -> list[tuple[Node, tuple[int, ...]]]:
        chosen: list[tuple[Node, tuple[int, ...]]] = []
        for node in sorted(self.nodes, key=lambda n: n.name):
            if node.pool != spec.pool or not usable(node) or node.busy_fault:
                continue
            free = [d for d, units in enumerate(node.free) if units == UNITS]
            while len(free) >= spec.gpus_per_pod and len(chosen) < spec.pods:
                chosen.append((node, tuple(free[: spec.gpus_per_pod])))
                free = free[spec.gpus_per_pod :]
        return chosen if len(chosen) == spec.pods else []

    def _preempt_for(self, spec: JobSpec) -> None:
        leaving = [a for j in self.jobs for a in j.attempts if a.outcome == "preempted"]
        if any(p.released is None for a in leaving for p in a.pods):
            return  # An earlier victim is still on its way out.
        size = spec.pods * spec.gpus_per_pod
        running = [j.live for j in self.jobs if j.spec.pool == spec.pool and j.spec.priority == 0]
        fits = [
            a
            for a in running
            if a and a.mode == "step" and a.job.spec.pods * a.job.spec.gpus_per_pod >= size
        ]
        if fits:
            victim = min(fits, key=lambda a: (a.job.spec.pods, -(a.bound or 0), a.job.uid))
            self.trace.faults.append((self.now, "preemption", victim.job.spec.name))
            self.end_attempt(victim, "preempted", "plat.preempt", 143)

    def _bind(self, attempt: Attempt, chosen: list[tuple[Node, tuple[int, ...]]]) -> None:
        self.touch()
        self.queue.remove(attempt)
        job, spec = attempt.job, attempt.job.spec
        job.queue.append((attempt.queued, self.now, attempt.number))
        if not attempt.pods:
            self._create_pods(attempt)
        attempt.bound, attempt.mode = self.now, "starting"
        for pod, (node, devices) in zip(attempt.pods, chosen, strict=True):
            pod.node, pod.devices, pod.bound = node, devices, self.now
            for device in devices:
                node.free[device] -= pod.units
            cached = (node.uid, spec.name) in self._images
            self._images.add((node.uid, spec.name))
            pull = self.rng.randint(3, 14) if cached else self.rng.randint(45, 170)
            pod.running = self.now + pull
        attempt.ready = max(p.running for p in attempt.pods if p.running is not None)
        self._resume(attempt)
        ready = attempt.ready + self.rng.randint(20, 60) + 2 * spec.pods
        attempt.at = attempt.ready
        self.at(ready, lambda: self._after_init(attempt))

    def _resume(self, attempt: Attempt) -> None:
        """Decide where the attempt resumes, and what of the earlier work this throws away."""
        job = attempt.job
        if attempt.number == 1:
            return
        attempt.resume = job.durable[-1]
        claimed = max(job.claims, default=-1)
        while job.path and job.path[-1].last > attempt.resume:
            record = job.path.pop()
            if record.last > claimed:
                record.fate = lost_state(job.last_cause)
            else:
                record.fate = ("A.lost.recompute", "sto.ckpt")
        job.claims = [c for c in job.claims if c <= attempt.resume]

    # --------------------------------------------------------------- training

    def _after_init(self, attempt: Attempt) -> None:
        if not attempt.alive or attempt.mode != "starting":
            return
        job, spec = attempt.job, attempt.job.spec
        self._close(attempt, "init")
        if spec.bug == "import":
            error = "ModuleNotFoundError: No module named 'flash_attn_interface'"
            self.traceback(attempt, 0, error)
            self.crash(attempt, "app.dep", 0, attempt.pods[0], tail="init")
            return
        if not attempt.resume:
            attempt.mode = "step"
            self._begin_record(attempt)
            return
        attempt.mode = "restore"
        if job.corrupt_next:
            job.corrupt_next = False
            self.at(self.now + 7, lambda: self._corrupt(attempt))
            return
        self.at(self.now + self.rng.randint(30, 110), lambda: self._restored(attempt))

    def _restored(self, attempt: Attempt) -> None:
        if attempt.alive and attempt.mode == "restore":
            self._close(attempt, "restore")
            attempt.mode = "step"
            self._begin_record(attempt)

    def _corrupt(self, attempt: Attempt) -> None:
        job = attempt.job
        bad = job.durable.pop()
        for checkpoint in job.checkpoints:
            if checkpoint.step == bad and checkpoint.committed is not None:
                checkpoint.corrupt = True
        error = (
            "RuntimeError: PytorchStreamReader failed reading zip archive: "
            "failed finding central directory"
        )
        self.traceback(attempt, 0, error)
        self.crash(attempt, "sto.ckpt", 0, attempt.pods[0], tail="restore")

    def _close(self, attempt: Attempt, kind: str, record: Record | None = None) -> None:
        if self.now > attempt.at:
            attempt.segments.append((attempt.at, self.now, kind, record, ""))
        attempt.at = self.now

    def position(self, attempt: Attempt) -> int:
        """The last position the attempt has reached."""
        return attempt.job.path[-1].last if attempt.job.path else 0

    def _begin_record(self, attempt: Attempt) -> None:
        spec = attempt.job.spec
        work = spec.log_every * spec.step_s
        jitter = self.rng.choice((-1, 0, 0, 0, 0, 0, 0, 0, 1)) if spec.step_s > 20 else 0
        warm = spec.step_s // 2 if not attempt.records else 0
        hot = any(p.node is not None and p.node.hot for p in attempt.pods)
        slow = work * 35 // 100 + jitter if hot else 0
        took = work + slow if hot else work + jitter + warm
        first = self.position(attempt) + 1
        record = Record(
            attempt, first, first + spec.log_every - 1, self.now, self.now + took, max(0, slow)
        )
        attempt.current = record
        if record.first <= spec.bug_at <= record.last and spec.bug in ("value", "oom_gpu"):
            self.at(self.now + took - 3, lambda: self._bug(attempt))
        self.at(record.end, lambda: self._end_record(attempt, record))

    def _bug(self, attempt: Attempt) -> None:
        if not attempt.alive or attempt.mode != "step":
            return
        rank = attempt.job.spec.pods // 2
        if attempt.job.spec.bug == "value":
            error = "ValueError: too many values to unpack (expected 3)"
            cause = "app.code"
        else:
            error = (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. "
                "GPU 3 has a total capacity of 79.10 GiB of which 1.21 GiB is free."
            )
            cause = "app.oom_gpu"
        self.trace.faults.append((self.now, cause, attempt.job.spec.name))
        self.traceback(attempt, rank, error)
        self.crash(attempt, cause, 2, attempt.pods[rank])

    def _end_record(self, attempt: Attempt, record: Record) -> None:
        if not attempt.alive or attempt.mode != "step" or attempt.current is not record:
            return
        job, spec = attempt.job, attempt.job.spec
        attempt.current = None
        attempt.records.append(record)
        job.path.append(record)
        self._close(attempt, "step", record)
        if record.last % spec.ckpt_every == 0:
            self._save(attempt, record.last)
        elif spec.eval_every and record.last % spec.eval_every == 0:
            self._eval(attempt)
        else:
            self._begin_record(attempt)

    def _eval(self, attempt: Attempt) -> None:
        attempt.mode = "eval"
        self.at(self.now + attempt.job.spec.eval_s, lambda: self._end_eval(attempt))

    def _end_eval(self, attempt: Attempt) -> None:
        if attempt.alive and attempt.mode == "eval":
            self._close(attempt, "eval")
            attempt.mode = "step"
            self._begin_record(attempt)

    def _save(self, attempt: Attempt, step: int) -> None:
        job, spec = attempt.job, attempt.job.spec
        attempt.mode = "ckpt"
        checkpoint = Checkpoint(job, attempt.number, step, self.now)
        job.checkpoints.append(checkpoint)
        stall = spec.ckpt_stall
        if job.stall_next:
            job.stall_next = False
            stall += 900
            self.trace.faults.append((self.now, "storage stall", spec.name))
            text = "botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the "
            for second in range(30, 900, 120):
                line = f"{text}UploadPart operation (attempt {second // 120 + 1})"
                attempt.lines.append((self.now + second, 0, line))
        self.at(self.now + stall, lambda: self._saved(attempt, checkpoint))

    def _saved(self, attempt: Attempt, checkpoint: Checkpoint) -> None:
        if not attempt.alive or attempt.mode != "ckpt":
            return
        spec = attempt.job.spec
        self._close(attempt, "ckpt")
        attempt.mode = "step"
        last = checkpoint.step >= spec.steps
        if spec.ckpt_lag and not last:
            self.at(self.now + spec.ckpt_lag, lambda: self._commit(attempt, checkpoint))
        else:
            self._commit(attempt, checkpoint)
        if last:
            attempt.mode = "closing"
            self.at(self.now + self.rng.randint(4, 15), lambda: self._succeed(attempt))
        else:
            self._begin_record(attempt)

    def _commit(self, attempt: Attempt, checkpoint: Checkpoint) -> None:
        if attempt.alive and checkpoint.committed is None and attempt.mode != "dying":
            checkpoint.committed = self.now
            attempt.job.claims.append(checkpoint.step)
            attempt.job.durable.append(checkpoint.step)

    def _succeed(self, attempt: Attempt) -> None:
        if attempt.alive and attempt.mode == "closing":
            self.end_attempt(attempt, "succeeded", "", 0)

    def rollback(self, attempt: Attempt) -> None:
        """The trainer sees a loss spike and goes back one checkpoint more than it would have to."""
        job = attempt.job
        target = job.durable[-2]
        attempt.current = None
        self._close(attempt, "dropped")
        while job.path and job.path[-1].last > target:
            job.path.pop().fate = ("A.lost.rollback", "user.rollback")
        job.durable = [c for c in job.durable if c <= target]
        job.claims = [c for c in job.claims if c <= target]
        attempt.lines.append(
            (self.now, 0, f"loss spike detected, rolling back to checkpoint {target}")
        )
        attempt.mode = "restore"
        self.at(self.now + 45, lambda: self._restored(attempt))

    # ----------------------------------------------------------------- ending

    def traceback(self, attempt: Attempt, rank: int, error: str) -> None:
        """Write a Python traceback into the log of one rank."""
        frames = [
            "Traceback (most recent call last):",
            '  File "/workspace/train/main.py", line 412, in <module>',
            "    main()",
            '  File "/workspace/train/loop.py", line 188, in train_step',
            "    loss = forward_backward(batch)",
            error,
        ]
        for line in frames:
            attempt.lines.append((self.now, rank, f"[rank{rank * 8}]: {line}"))

    def crash(
        self,
        attempt: Attempt,
        cause: str,
        delay: int,
        dead: Pod | None,
        code: int = 1,
        reason: str = "Error",
        tail: str = "tail",
    ) -> None:
        """One pod dies now, the gang is declared failed `delay` seconds later."""
        attempt.mode = "dying"
        if dead is not None:
            self.touch()
            dead.first_death = True
            dead.exit_code, dead.reason, dead.terminated = code, reason, self.now
            self.release(dead)
        self.at(
            self.now + delay,
            lambda: self.end_attempt(attempt, "failed", cause, 143, tail=tail),
        )

    def end_attempt(
        self,
        attempt: Attempt,
        outcome: str,
        cause: str,
        code: int,
        tail: str = "tail",
        stuck: Node | None = None,
    ) -> None:
        """The attempt is declared over now; its pods leave within their grace period."""
        self.touch()
        attempt.end, attempt.outcome, attempt.cause = self.now, outcome, cause
        attempt.alive = False
        self._close(attempt, "overhead" if outcome == "succeeded" else tail)
        job = attempt.job
        if attempt.records and outcome != "succeeded":
            job.last_cause = cause
        leave = self.now
        for pod in attempt.pods:
            if pod.released is not None:
                continue
            if outcome != "succeeded":
                pod.deletion = self.now
            if pod.node is stuck and stuck is not None:
                continue
            grace = 0 if outcome == "succeeded" or code == 134 else self.rng.randint(1, 28)
            pod.exit_code = code
            pod.reason = "Completed" if code == 0 else "Error"
            pod.terminated = self.now + grace
            leave = max(leave, self.now + grace)
            self.at(self.now + grace, partial(self.release, pod))
        self.at(leave + 2, lambda: self._next(attempt))
        if outcome == "succeeded" or not self._again(job, cause, outcome):
            job.state = {"succeeded": "succeeded", "cancelled": "cancelled"}.get(outcome, "failed")
            job.ended = self.now
        elif outcome == "preempted":
            self.enqueue(job)

    def _again(self, job: Job, cause: str, outcome: str) -> bool:
        if outcome in ("cancelled", "succeeded"):
            return False
        if outcome in ("preempted", "evicted"):
            return True
        if cause.startswith("app.") and job.spec.bug != "import" and cause != "app.oom_host":
            return False
        return job.used_restarts < job.spec.restarts

    def _next(self, attempt: Attempt) -> None:
        """The last pod has left: its controller deletes the pods and starts again, or does not."""
        job = attempt.job
        if job.state not in ("succeeded", "failed"):
            for pod in attempt.pods:
                if pod.terminated is not None:
                    pod.removed = self.now
        if job.state == "cancelled":
            job.removed = self.now
        if job.state != "running" or attempt.outcome == "preempted":
            return
        if attempt.outcome == "failed":
            job.used_restarts += 1
        wait = 10 * 2 ** (job.used_restarts - 1) if job.spec.owner == "Job" else 0
        self.at(self.now + wait, lambda: self.enqueue(job))

    def release(self, pod: Pod) -> None:
        """Give the pod's devices back."""
        if pod.released is not None or pod.node is None:
            return
        self.touch()
        pod.released = self.now
        for device in pod.devices:
            pod.node.free[device] += pod.units
        self.kick(pod.node.pool)

    # ----------------------------------------------------------------- lookup

    def on_node(self, node: Node) -> list[Attempt]:
        """The live attempts with a pod on a node, in a stable order."""
        found = {
            p.job.uid: p.job.live
            for p in self.pods
            if p.node is node and p.released is None and p.job is not None
        }
        return [a for _, a in sorted(found.items()) if a is not None]

    def pod_on(self, attempt: Attempt, node: Node) -> Pod:
        """The attempt's first pod on a node."""
        return next(p for p in attempt.pods if p.node is node)


def usable(node: Node) -> bool:
    """Whether new pods may go there."""
    return node.state() == "available"


def lost_state(cause: str) -> Label:
    """The state of work thrown away because of `cause`."""
    kind = "rollback" if cause == "user.rollback" else "recompute"
    return f"A.lost.{kind}", cause


def pod_prefix(spec: JobSpec, rank: int) -> str:
    """The pod name without its random suffix, as the owner's controller builds it."""
    if spec.owner == "JobSet":
        return f"{spec.name}-workers-0-{rank}"
    if spec.owner == "PyTorchJob":
        return f"{spec.name}-{'master-0' if rank == 0 else f'worker-{rank - 1}'}"
    return spec.name
