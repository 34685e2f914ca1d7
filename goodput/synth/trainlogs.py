"""Training logs as the kubelet keeps them: a file a pod, rank 0 with the steps, others on failure.

Each line is `RFC3339 stdout F text`. A dialect turns what happened into the lines of one framework;
all show what the framework really shows, so the time that none of them logs is not in the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from goodput.synth.files import instant, rfc3339, write_text
from goodput.synth.fleet import Attempt, Checkpoint, Job, Pod, Record
from goodput.synth.plan import Fleet

Line = tuple[int, str]
BATCH = 256


@dataclass(frozen=True)
class Dialect:
    """What one framework prints. Fields of the formats: see `_fields` and the callers."""

    start: str
    step: str
    loading: str
    loaded: str
    begins: str
    saving: str
    saved: str
    committed: str
    evaluated: str
    done: str


MEGATRON = Dialect(
    start="using world size: {world}, data-parallel size: {dp}, tensor-model-parallel size: 8",
    step=(
        " [{clock}] iteration {step:8d}/{total:8d} | consumed samples: {samples:12d} | elapsed "
        "time per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): {tflops:.1f} | "
        "learning rate: 1.500000E-04 | global batch size:   256 | lm loss: {loss:.6E} | loss "
        "scale: 1.0 | grad norm: {norm:.3f} | number of skipped iterations:   0 | number of nan "
        "iterations:   0 |"
    ),
    loading=" loading distributed checkpoint from {root} at iteration {step}",
    loaded="  successfully loaded checkpoint from {root} [ t 1/8, p 1/1 ] at iteration {step}",
    begins="[before the start of training step] datetime: {clock} ",
    saving="saving checkpoint at iteration {step:7d} to {root} in torch_dist format",
    saved="",
    committed="  successfully saved checkpoint from iteration {step:7d} to {root} [ t 1/8, p 1/1 ]",
    evaluated="    evaluate .......................................: ({ms:.2f}, {ms:.2f})",
    done="[after training is done] datetime: {clock} ",
)
_TITAN = "[titan] {clock},000 - root - INFO - "
TORCHTITAN = Dialect(
    start=_TITAN + "Starting job: {name}",
    step=(
        _TITAN
        + "\x1b[31mstep: {step:2d}  \x1b[32mloss: {loss:7.4f}  \x1b[38;2;180;60;0mgrad_norm: "
        "{norm:7.4f}  \x1b[38;2;54;234;195mmemory: 45.12GiB(57.04%)  \x1b[34mtps: {tps:,}  "
        "\x1b[36mtflops: {tflops:.2f}  \x1b[35mmfu: {mfu:.2f}%\x1b[39m"
    ),
    loading=_TITAN + "Loading the checkpoint from {root}/step-{step}.",
    loaded=_TITAN + "Finished loading the checkpoint in {seconds:.2f} seconds.",
    begins=_TITAN + "Training starts at step {next}.",
    saving=_TITAN + "Saving the checkpoint at step {step}",
    saved=_TITAN
    + "Finished saving the checkpoint (or staging if async is enabled)in {seconds:.2f} seconds.",
    committed="",
    evaluated="",
    done=_TITAN + "Training completed",
)
NEMO = Dialect(
    start="────── Entering Experiment {name} with id: {name}_1764000000 ──────",
    step=(
        "Training epoch 0, iteration {index}/{last} | lr: 1.499e-06 | global_batch_size: 512 | "
        "global_step: {index} | reduced_train_loss: {loss:.4f} | train_step_timing in s: {s:.3f} | "
        "consumed_samples: {samples}"
    ),
    loading="Restoring states from the checkpoint path at {root}/{folder}",
    loaded="Restored all states from the checkpoint at {root}/{folder}",
    begins="",
    saving=(
        "[NeMo I {clock} model_checkpoint:497] Scheduled async checkpoint save for "
        "{root}/{folder}.ckpt"
    ),
    saved="",
    committed=(
        "[NeMo I {clock} model_checkpoint:522] Async checkpoint save for step {step} "
        "({root}/{folder}.ckpt) finalized successfully."
    ),
    evaluated="",
    done="`Trainer.fit` stopped: `max_steps={total}` reached.",
)
MAXTEXT = Dialect(
    start="Num_devices: {world}, shape (1, {world}, 1)",
    step=(
        "completed step: {index}, seconds: {s:.3f}, TFLOP/s/device: {tflops:.3f}, Tokens/s/device: "
        "{tps:.3f}, total_weights: 1048576, loss: {loss:.3f}"
    ),
    loading="Restoring checkpoint from {root}/checkpoints/{index}.",
    loaded=(
        "Finished restoring checkpoint in {seconds:.2f} seconds from {root}/checkpoints/{index}."
    ),
    begins="",
    saving="Started async saving checkpoint for step {index}",
    saved="",
    committed=(
        "Finished async_save (blocking + background) in {seconds:.2f} seconds. Checkpoint saved to "
        "{root}/checkpoints/{index}"
    ),
    evaluated="",
    done="",
)
DIALECTS = {"megatron": MEGATRON, "torchtitan": TORCHTITAN, "nemo": NEMO, "maxtext": MAXTEXT}


def checkpoint_root(job: Job) -> str:
    """Where the job's checkpoints are; its run lineage."""
    scheme = "/mnt/ckpt" if job.spec.fmt in ("megatron", "torchtitan", "nemo") else "s3://ml-ckpt"
    return f"{scheme}/{job.spec.namespace}/{job.spec.name}"


def nemo_folder(job: Job, step: int) -> str:
    """How NeMo names the checkpoint that covers `step` steps."""
    details = f"step={step - 1}-consumed_samples={step * BATCH}.0"
    return f"{job.spec.name}--val_loss=0.00-{details}-last"


def write_logs(fleet: Fleet, out: Path) -> None:
    """Write /var/log/pods-like files below `out`; a third of them gzipped."""
    for pod, lines in pod_logs(fleet):
        text = "".join(f"{line}\n" for _, line in lines)
        compress = is_packed(pod)
        write_text(out / (log_path(pod) + ".gz" * compress), text, compress=compress)


def log_path(pod: Pod) -> str:
    """Where the kubelet keeps the log of a run, below /var/log/pods."""
    return f"{pod.namespace}_{pod.name}_{pod.uid}/trainer/{len(pod.runs) - 1}.log"


def is_packed(pod: Pod) -> bool:
    """Whether the log of a pod is packed once it is done with: a third of them are."""
    return int(pod.uid[:2], 16) % 3 == 0


def pod_logs(fleet: Fleet) -> Iterator[tuple[Pod, list[Line]]]:
    """Each run of a pod that printed anything, and its lines with their instants."""
    for job in fleet.sim.jobs:
        for attempt in job.attempts:
            for pod in attempt.pods:
                if lines := _pod_lines(attempt, pod):
                    yield pod, lines


def last_line(attempt: Attempt) -> int:
    """When a pod of the attempt printed last; 0 where none did."""
    return max((lines[-1][0] for p in attempt.pods if (lines := _pod_lines(attempt, p))), default=0)


def _pod_lines(attempt: Attempt, pod: Pod) -> list[Line]:
    lines = list(_lines(attempt)) if pod.rank == 0 else []
    own = sorted([(t, text) for t, r, text in attempt.lines if r == pod.rank], key=_time)
    # Lines of one second keep the order in which they were written: steps before complaints.
    merged = sorted([*lines, *own], key=_time)
    until = pod.terminated if pod.terminated is not None else pod.released
    if pod.running is None:
        return []
    kept = [(t, text) for t, text in merged if until is None or t <= until]
    return [
        (t, f"{rfc3339(t)[:-1]}.{n % 1000:09d}Z stdout F {text}")
        for n, (t, text) in enumerate(kept)
    ]


def _time(line: Line) -> int:
    return line[0]


def _lines(attempt: Attempt) -> Iterator[Line]:
    """Everything rank 0 prints by itself; lines of one second in the order of writing."""
    job, speaks = attempt.job, DIALECTS[attempt.job.spec.fmt]
    running = attempt.pods[0].running
    if running is None:
        return
    yield from _say(speaks.start, job, attempt.resume or 0, running + 1)
    step, started = attempt.resume or 0, False
    for start, end, kind, record, _ in attempt.segments:
        if kind == "restore":
            step = _restored_step(attempt, end, step)
            yield from _say(speaks.loading, job, step, start)
            if _finished(attempt, end):
                yield from _say(speaks.loaded, job, step, end, seconds=end - start)
                yield from _say(speaks.begins, job, step, end)
                started = True
        elif kind == "step" and record is not None:
            if not started:
                yield from _say(speaks.begins, job, 0, start)
                started = True
            step = record.last
            yield from _step(speaks, job, record)
        else:
            yield from _phase(speaks, job, step, (start, end, kind))
    if attempt.mode == "ckpt":
        yield from _say(speaks.saving, job, step, attempt.at)
    yield from _commits(speaks, attempt)
    if attempt.outcome == "succeeded":
        yield from _say(speaks.done, job, job.spec.steps, attempt.segments[-1][0])


def _phase(speaks: Dialect, job: Job, step: int, phase: tuple[int, int, str]) -> Iterator[Line]:
    start, end, kind = phase
    if kind == "ckpt":
        yield from _say(speaks.saving, job, step, start)
        yield from _say(speaks.saved, job, step, end, seconds=end - start)
    elif kind == "eval":
        yield from _say(speaks.evaluated, job, step, end, ms=(end - start) * 1000)


def _commits(speaks: Dialect, attempt: Attempt) -> Iterator[Line]:
    for c in attempt.job.checkpoints:
        if c.attempt == attempt.number and c.committed is not None:
            took = c.committed - c.start
            yield from _say(speaks.committed, attempt.job, c.step, c.committed, seconds=took)


def _finished(attempt: Attempt, end: int) -> bool:
    return any(r.start >= end for r in attempt.records) or attempt.current is not None


def _restored_step(attempt: Attempt, end: int, step: int) -> int:
    """The checkpoint a restore phase loads: the next record begins right after it."""
    following = [r.first - 1 for r in attempt.records if r.start >= end]
    if following:
        return following[0]
    if attempt.current is not None:
        return attempt.current.first - 1
    bad = [c.step for c in attempt.job.checkpoints if c.corrupt]
    return bad[-1] if bad and not attempt.records else step


def _step(speaks: Dialect, job: Job, record: Record) -> Iterator[Line]:
    count = record.last - record.first + 1
    took = (record.end - record.start) / count
    yield from _say(speaks.step, job, record.last, record.end, ms=took * 1000, s=took)


def _say(text: str, job: Job, step: int, t: int, **more: float) -> Iterator[Line]:
    if not text:
        return
    spec = job.spec
    # A step that is run again never gives the same digits again.
    wobble = int(hashlib.sha256(f"{job.uid}/{step}/{t}".encode()).hexdigest()[:6], 16) / 0xFFFFFF
    world = spec.pods * spec.gpus_per_pod
    took = more.get("s", float(spec.step_s))
    fields = {
        "name": spec.name,
        "root": checkpoint_root(job),
        "world": world,
        "dp": max(1, world // 8),
        "folder": nemo_folder(job, step),
        "step": step,
        "index": step - 1,
        "next": step + 1,
        "total": spec.steps,
        "last": spec.steps - 1,
        "clock": instant(t).strftime("%Y-%m-%d %H:%M:%S"),
        "samples": step * BATCH,
        "loss": 1.7 + 9 / (1 + step / 400) ** 0.5 + wobble / 20,
        "norm": 0.2 + wobble,
        "tflops": 400 * spec.step_s / max(took, 1e-9) + wobble,
        "tps": round(8192 * 8 / max(took, 1e-9)),
        "mfu": 40 * spec.step_s / max(took, 1e-9),
        "seconds": 0.0,
    }
    yield t, text.format(**{**fields, **more})


def listed(job: Job) -> list[Checkpoint]:
    """The checkpoints whose files are there at the end; a second save of a step replaces them."""
    newest = {c.step: c for c in sorted(job.checkpoints, key=lambda c: c.start)}
    return [newest[step] for step in sorted(newest)]
