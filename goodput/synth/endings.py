"""How attempts end: tracebacks, dying pods, and what the job's controller does next."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from goodput.synth.fleet import Attempt, Job, Node, Pod

if TYPE_CHECKING:
    from goodput.synth.simulate import Simulation


class Endings:
    """Ends attempts and gives their GPUs back."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim

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
            attempt.lines.append((self.sim.now, rank, f"[rank{rank * 8}]: {line}"))

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
        if dead is not None and attempt.job.spec.in_place:
            self._restart_in_place(attempt, cause, code, reason, tail)
            return
        if dead is not None:
            self.sim.touch()
            dead.first_death = True
            dead.exit_code, dead.reason, dead.terminated = code, reason, self.sim.now
            self.release(dead)
        self.sim.at(
            self.sim.now + delay,
            lambda: self.end(attempt, "failed", cause, 143, tail=tail),
        )

    def _restart_in_place(
        self, attempt: Attempt, cause: str, code: int, reason: str, tail: str
    ) -> None:
        """The containers ended, and the kubelet starts them again in the same pods."""
        attempt.end, attempt.outcome, attempt.cause = self.sim.now, "failed", cause
        attempt.alive = False
        self.sim.trainer.close(attempt, tail)
        if attempt.records:
            attempt.job.last_cause = cause
        for pod in attempt.pods:
            pod.first_death = True
            pod.exit_code, pod.reason = code, reason
            pod.terminated = pod.released = self.sim.now
        self.sim.scheduler.restart(attempt)

    def end(
        self,
        attempt: Attempt,
        outcome: str,
        cause: str,
        code: int,
        tail: str = "tail",
        stuck: Node | None = None,
    ) -> None:
        """The attempt is declared over now; its pods leave within their grace period."""
        self.sim.touch()
        attempt.end, attempt.outcome, attempt.cause = self.sim.now, outcome, cause
        attempt.alive = False
        self.sim.trainer.close(attempt, "overhead" if outcome == "succeeded" else tail)
        job = attempt.job
        if attempt.records and outcome != "succeeded":
            job.last_cause = cause
        leave = self.sim.now
        for pod in attempt.pods:
            if pod.released is not None:
                continue
            if outcome != "succeeded":
                pod.deletion = self.sim.now
            if pod.node is stuck and stuck is not None:
                continue
            grace = 0 if outcome == "succeeded" or code == 134 else self.sim.rng.randint(1, 28)
            pod.exit_code = code
            pod.reason = "Completed" if code == 0 else "Error"
            pod.terminated = self.sim.now + grace
            leave = max(leave, self.sim.now + grace)
            self.sim.at(self.sim.now + grace, partial(self.release, pod))
        self.sim.at(leave + 2, lambda: self._next(attempt))
        if outcome == "succeeded" or not self._again(job, cause, outcome):
            job.state = {"succeeded": "succeeded", "cancelled": "cancelled"}.get(outcome, "failed")
            job.ended = self.sim.now
        elif outcome == "preempted":
            self.sim.scheduler.enqueue(job)

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
                    pod.removed = self.sim.now
        if job.state == "cancelled":
            job.removed = self.sim.now
        if job.state != "running" or attempt.outcome == "preempted":
            return
        if attempt.outcome == "failed":
            job.used_restarts += 1
        wait = 10 * 2 ** (job.used_restarts - 1) if job.spec.owner == "Job" else 0
        self.sim.at(self.sim.now + wait, lambda: self.sim.scheduler.enqueue(job))

    def release(self, pod: Pod) -> None:
        """Give the pod's devices back."""
        if pod.released is not None or pod.node is None:
            return
        self.sim.touch()
        pod.released = self.sim.now
        for device in pod.devices:
            pod.node.free[device] += pod.units
        self.sim.scheduler.kick(pod.node.pool)
