"""The scheduler: jobs queue, gangs are placed on free GPUs, urgent ones push others out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goodput.synth.fleet import UNITS, Attempt, Job, JobSpec, Node, Pod
from goodput.synth.idle import usable

if TYPE_CHECKING:
    from goodput.synth.simulate import Simulation

# How long the kubelet waits before it restarts a container the first time.
BACK_OFF_S = 10
# What the runs of a pod share.
_OF_A_POD = (
    "uid", "name", "namespace", "job", "rank", "gpus", "units", "created", "resource", "node",
    "devices",
)  # fmt: skip


class Scheduler:
    """Binds whole gangs, by priority and then by age."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self._kicked: set[str] = set()
        self._images: set[tuple[str, str]] = set()

    def submit(self, spec: JobSpec) -> Job:
        """Queue a new job now."""
        job = Job(spec, self.sim.uid())
        self.sim.jobs.append(job)
        self.enqueue(job)
        return job

    def enqueue(self, job: Job) -> None:
        """Queue the next attempt of a job."""
        self.sim.touch()
        attempt = Attempt(len(job.attempts) + 1, job, self.sim.now)
        job.attempts.append(attempt)
        self.sim.queue.append(attempt)
        if attempt.number > 1 and job.attempts[-2].outcome != "preempted":
            self._create_pods(attempt)
        self.kick(job.spec.pool)

    def _create_pods(self, attempt: Attempt) -> None:
        spec = attempt.job.spec
        for rank in range(spec.pods):
            suffix = "".join(self.sim.rng.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(5))
            name = f"{pod_prefix(spec, rank)}-{suffix}" if spec.owner != "PyTorchJob" else ""
            pod = Pod(
                uid=self.sim.uid(),
                name=name or pod_prefix(spec, rank),
                namespace=spec.namespace,
                job=attempt.job,
                attempt=attempt.number,
                rank=rank,
                gpus=spec.gpus_per_pod,
                units=UNITS,
                created=self.sim.now,
            )
            attempt.pods.append(pod)
            self.sim.pods.append(pod)

    def kick(self, pool: str) -> None:
        """Let the scheduler look at a pool soon."""
        if pool not in self._kicked:
            self._kicked.add(pool)
            self.sim.at(self.sim.now + self.sim.rng.randint(3, 12), lambda: self._look(pool))

    def _look(self, pool: str) -> None:
        self._kicked.discard(pool)
        order = sorted(self.sim.queue, key=lambda a: (-a.job.spec.priority, a.queued, a.job.uid))
        for attempt in [a for a in order if a.job.spec.pool == pool]:
            if attempt.queued >= self.sim.now:
                self.kick(pool)
                continue
            chosen = self._place(attempt.job.spec)
            if chosen:
                self._bind(attempt, chosen)
            elif attempt.job.spec.priority:
                self._preempt_for(attempt.job.spec)

    def _place(self, spec: JobSpec) -> list[tuple[Node, tuple[int, ...]]]:
        chosen: list[tuple[Node, tuple[int, ...]]] = []
        for node in sorted(self.sim.nodes, key=lambda n: n.name):
            if node.pool != spec.pool or not usable(node) or node.busy_fault:
                continue
            free = [d for d, units in enumerate(node.free) if units == UNITS]
            while len(free) >= spec.gpus_per_pod and len(chosen) < spec.pods:
                chosen.append((node, tuple(free[: spec.gpus_per_pod])))
                free = free[spec.gpus_per_pod :]
        return chosen if len(chosen) == spec.pods else []

    def _preempt_for(self, spec: JobSpec) -> None:
        leaving = [a for j in self.sim.jobs for a in j.attempts if a.outcome == "preempted"]
        if any(p.released is None for a in leaving for p in a.pods):
            return  # An earlier victim is still on its way out.
        size = spec.pods * spec.gpus_per_pod
        running = [
            j.live for j in self.sim.jobs if j.spec.pool == spec.pool and j.spec.priority == 0
        ]
        fits = [
            a
            for a in running
            if a and a.mode == "step" and a.job.spec.pods * a.job.spec.gpus_per_pod >= size
        ]
        if fits:
            victim = min(fits, key=lambda a: (a.job.spec.pods, -(a.bound or 0), a.job.uid))
            self.sim.trace.faults.append((self.sim.now, "preemption", victim.job.spec.name))
            self.sim.endings.end(victim, "preempted", "plat.preempt", 143)

    def _bind(self, attempt: Attempt, chosen: list[tuple[Node, tuple[int, ...]]]) -> None:
        self.sim.touch()
        self.sim.queue.remove(attempt)
        job, spec = attempt.job, attempt.job.spec
        job.queue.append((attempt.queued, self.sim.now, attempt.number))
        if not attempt.pods:
            self._create_pods(attempt)
        attempt.bound, attempt.mode = self.sim.now, "starting"
        for pod, (node, devices) in zip(attempt.pods, chosen, strict=True):
            pod.node, pod.devices, pod.bound = node, devices, self.sim.now
            for device in devices:
                node.free[device] -= pod.units
            cached = (node.uid, spec.name) in self._images
            self._images.add((node.uid, spec.name))
            pull = self.sim.rng.randint(3, 14) if cached else self.sim.rng.randint(45, 170)
            pod.running = self.sim.now + pull
        self._start(attempt)

    def restart(self, before: Attempt) -> None:
        """Begin the next attempt in the pods of the one before."""
        job = before.job
        now = self.sim.now
        attempt = Attempt(len(job.attempts) + 1, job, queued=now, bound=now, mode="starting")
        job.attempts.append(attempt)
        for pod in before.pods:
            run = Pod(
                **{name: getattr(pod, name) for name in _OF_A_POD},
                attempt=attempt.number,
                bound=now,
                running=now + BACK_OFF_S,
                before=pod,
            )
            pod.after = run
            attempt.pods.append(run)
            self.sim.pods.append(run)
        self._start(attempt)

    def _start(self, attempt: Attempt) -> None:
        """The containers of a gang run, one by one; then training begins."""
        attempt.ready = max(p.running for p in attempt.pods if p.running is not None)
        self.sim.trainer.resume(attempt)
        ready = attempt.ready + self.sim.rng.randint(20, 60) + 2 * attempt.job.spec.pods
        attempt.at = attempt.ready
        self.sim.at(ready, lambda: self.sim.trainer.begin(attempt))


def pod_prefix(spec: JobSpec, rank: int) -> str:
    """The pod name without its random suffix, as the owner's controller builds it."""
    if spec.owner == "JobSet":
        return f"{spec.name}-workers-0-{rank}"
    if spec.owner == "PyTorchJob":
        return f"{spec.name}-{'master-0' if rank == 0 else f'worker-{rank - 1}'}"
    return spec.name
