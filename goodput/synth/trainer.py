"""The trainer: an attempt from its gang's start over steps, evaluations and checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goodput.synth.fleet import Attempt, Checkpoint, Record
from goodput.synth.trace import lost_state

if TYPE_CHECKING:
    from goodput.synth.simulate import Simulation


class Trainer:
    """Runs attempts until they are done or something kills them."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim

    def resume(self, attempt: Attempt) -> None:
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

    def begin(self, attempt: Attempt) -> None:
        """The gang is initialized: restore, or start from nothing."""
        if not attempt.alive or attempt.mode != "starting":
            return
        job, spec = attempt.job, attempt.job.spec
        self.close(attempt, "init")
        if spec.bug == "import":
            error = "ModuleNotFoundError: No module named 'flash_attn_interface'"
            self.sim.endings.traceback(attempt, 0, error)
            self.sim.endings.crash(attempt, "app.dep", 0, attempt.pods[0], tail="init")
            return
        if not attempt.resume:
            attempt.mode = "step"
            self._begin_record(attempt)
            return
        attempt.mode = "restore"
        if job.corrupt_next:
            job.corrupt_next = False
            self.sim.at(self.sim.now + 7, lambda: self._corrupt(attempt))
            return
        self.sim.at(self.sim.now + self.sim.rng.randint(30, 110), lambda: self._restored(attempt))

    def _restored(self, attempt: Attempt) -> None:
        if attempt.alive and attempt.mode == "restore":
            self.close(attempt, "restore")
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
        self.sim.endings.traceback(attempt, 0, error)
        self.sim.endings.crash(attempt, "sto.ckpt", 0, attempt.pods[0], tail="restore")

    def close(self, attempt: Attempt, kind: str, record: Record | None = None) -> None:
        """End the phase that the attempt is in, now."""
        if self.sim.now > attempt.at:
            attempt.segments.append((attempt.at, self.sim.now, kind, record, ""))
        attempt.at = self.sim.now

    def _position(self, attempt: Attempt) -> int:
        """The last position the attempt has reached."""
        return attempt.job.path[-1].last if attempt.job.path else 0

    def _begin_record(self, attempt: Attempt) -> None:
        spec = attempt.job.spec
        work = spec.log_every * spec.step_s
        jitter = self.sim.rng.choice((-1, 0, 0, 0, 0, 0, 0, 0, 1)) if spec.step_s > 20 else 0
        warm = spec.step_s // 2 if not attempt.records else 0
        hot = any(p.node is not None and p.node.hot for p in attempt.pods)
        slow = work * 35 // 100 + jitter if hot else 0
        took = work + slow if hot else work + jitter + warm
        first = self._position(attempt) + 1
        record = Record(
            attempt,
            first,
            first + spec.log_every - 1,
            self.sim.now,
            self.sim.now + took,
            max(0, slow),
        )
        attempt.current = record
        if record.first <= spec.bug_at <= record.last and spec.bug in ("value", "oom_gpu"):
            self.sim.at(self.sim.now + took - 3, lambda: self._bug(attempt))
        self.sim.at(record.end, lambda: self._end_record(attempt, record))

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
        self.sim.trace.faults.append((self.sim.now, cause, attempt.job.spec.name))
        self.sim.endings.traceback(attempt, rank, error)
        self.sim.endings.crash(attempt, cause, 2, attempt.pods[rank])

    def _end_record(self, attempt: Attempt, record: Record) -> None:
        if not attempt.alive or attempt.mode != "step" or attempt.current is not record:
            return
        job, spec = attempt.job, attempt.job.spec
        attempt.current = None
        attempt.records.append(record)
        job.path.append(record)
        self.close(attempt, "step", record)
        if record.last % spec.ckpt_every == 0:
            self._save(attempt, record.last)
        elif spec.eval_every and record.last % spec.eval_every == 0:
            self._eval(attempt)
        else:
            self._begin_record(attempt)

    def _eval(self, attempt: Attempt) -> None:
        attempt.mode = "eval"
        self.sim.at(self.sim.now + attempt.job.spec.eval_s, lambda: self._end_eval(attempt))

    def _end_eval(self, attempt: Attempt) -> None:
        if attempt.alive and attempt.mode == "eval":
            self.close(attempt, "eval")
            attempt.mode = "step"
            self._begin_record(attempt)

    def _save(self, attempt: Attempt, step: int) -> None:
        job, spec = attempt.job, attempt.job.spec
        attempt.mode = "ckpt"
        checkpoint = Checkpoint(job, attempt.number, step, self.sim.now)
        job.checkpoints.append(checkpoint)
        stall = spec.ckpt_stall
        if job.stall_next:
            job.stall_next = False
            stall += 900
            self.sim.trace.faults.append((self.sim.now, "storage stall", spec.name))
            text = "botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the "
            for second in range(30, 900, 120):
                line = f"{text}UploadPart operation (attempt {second // 120 + 1})"
                attempt.lines.append((self.sim.now + second, 0, line))
        self.sim.at(self.sim.now + stall, lambda: self._saved(attempt, checkpoint))

    def _saved(self, attempt: Attempt, checkpoint: Checkpoint) -> None:
        if not attempt.alive or attempt.mode != "ckpt":
            return
        spec = attempt.job.spec
        self.close(attempt, "ckpt")
        attempt.mode = "step"
        last = checkpoint.step >= spec.steps
        if spec.ckpt_lag and not last:
            self.sim.at(self.sim.now + spec.ckpt_lag, lambda: self._commit(attempt, checkpoint))
        else:
            self._commit(attempt, checkpoint)
        if last:
            attempt.mode = "closing"
            self.sim.at(self.sim.now + self.sim.rng.randint(4, 15), lambda: self._succeed(attempt))
        else:
            self._begin_record(attempt)

    def _commit(self, attempt: Attempt, checkpoint: Checkpoint) -> None:
        if attempt.alive and checkpoint.committed is None and attempt.mode != "dying":
            checkpoint.committed = self.sim.now
            attempt.job.claims.append(checkpoint.step)
            attempt.job.durable.append(checkpoint.step)

    def _succeed(self, attempt: Attempt) -> None:
        if attempt.alive and attempt.mode == "closing":
            self.sim.endings.end(attempt, "succeeded", "", 0)

    def rollback(self, attempt: Attempt) -> None:
        """The trainer sees a loss spike and goes back one checkpoint more than it would have to."""
        job = attempt.job
        target = job.durable[-2]
        attempt.current = None
        self.close(attempt, "dropped")
        while job.path and job.path[-1].last > target:
            job.path.pop().fate = ("A.lost.rollback", "user.rollback")
        job.durable = [c for c in job.durable if c <= target]
        job.claims = [c for c in job.claims if c <= target]
        attempt.lines.append(
            (self.sim.now, 0, f"loss spike detected, rolling back to checkpoint {target}")
        )
        attempt.mode = "restore"
        self.sim.at(self.sim.now + 45, lambda: self._restored(attempt))
