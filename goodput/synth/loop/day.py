"""The day that the closed loop plays: a small fleet on which much happens within twelve hours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from goodput.synth.faults import Injector
from goodput.synth.fleet import Attempt, Job, JobSpec, Node, PoolSpec
from goodput.synth.plan import HOUR, Fleet, Hole, live_attempt
from goodput.synth.simulate import Simulation

WINDOW = 12 * HOUR
WARM_UP = 3 * HOUR
AFTERMATH = HOUR
POOLS = (
    PoolSpec("train-a", 5, 8, "NVIDIA-H100-80GB-HBM3", "p5.48xlarge", reserved=40),
    PoolSpec("train-b", 4, 8, "NVIDIA-A100-SXM4-80GB", "p4de.24xlarge"),
)
# Nobody ships the logs of these: what of them is known, the API server showed. Their pods stay.
_LOGS_FROM_API = frozenset({"ablate-1", "long-context-oom"})
LOKI_NAMESPACE = "speech"
"""Its pods' logs are shipped to Loki, and nowhere else."""


def log_source(job: Job) -> str:
    """Who has the logs of a job: `api`, `loki` or `files`."""
    if job.spec.namespace == LOKI_NAMESPACE:
        return "loki"
    return "api" if job.spec.name in _LOGS_FROM_API else "files"


def simulate_day(start: int, seed: int) -> Fleet:
    """Run the day.

    Args:
        start: begin of the window, epoch seconds.
        seed: varies times, never which kinds of fault occur.
    """
    sim = Simulation(list(POOLS), start - WARM_UP, start + WINDOW + AFTERMATH, seed)
    for spec in _jobs(start):
        sim.at(spec.submit, partial(sim.scheduler.submit, spec))
    # Longer than an event lives: what is only said by events in it is lost for good.
    hole = Hole(start + 6 * HOUR, start + 6 * HOUR + 4800)
    _faults(sim, start, hole)
    sim.run()
    return Fleet(sim, start, start + WINDOW, hole)


def _jobs(t: int) -> list[JobSpec]:
    return [
        JobSpec(
            "llama-70b", "foundation", "team-foundation", "JobSet", "train-a", 4, 8,
            t - 9000, 9000, 44, "megatron", ckpt_every=20, ckpt_stall=7, ckpt_lag=110,
            eval_every=250, eval_s=95, restarts=50,
        ),
        JobSpec(
            "vit-22b", "vision", "team-vision", "JobSet", "train-b", 2, 8,
            t - 8000, 9000, 40, "nemo", ckpt_every=25, ckpt_stall=0, ckpt_lag=70, restarts=50,
        ),
        JobSpec(
            "whisper-next", "speech", "team-speech", "JobSet", "train-b", 1, 8,
            t + HOUR, 9000, 30, "maxtext", ckpt_every=60, ckpt_stall=0, ckpt_lag=75, restarts=50,
        ),
        JobSpec(
            "ablate-1", "vision", "team-vision", "Job", "train-a", 1, 8,
            t - 1800, 360, 35, "torchtitan", ckpt_every=60, ckpt_stall=20, restarts=3,
            in_place=True,
        ),
        JobSpec(
            "dpo-broken-unpack", "vision", "team-vision", "JobSet", "train-b", 1, 8,
            t + 4 * HOUR, 900, 33, "megatron", ckpt_every=40, ckpt_stall=15,
            bug="value", bug_at=61,
        ),
        JobSpec(
            "long-context-oom", "foundation", "team-foundation", "PyTorchJob", "train-a", 1, 8,
            t + 5 * HOUR, 800, 35, "torchtitan", ckpt_every=100, bug="oom_gpu",
            bug_at=17, restarts=0,
        ),
        JobSpec(
            "import-loop", "speech", "team-speech", "Job", "train-b", 1, 8,
            t + 9 * HOUR, 500, 30, "megatron", bug="import", restarts=3,
        ),
        JobSpec(
            "urgent-eval", "foundation", "team-foundation", "JobSet", "train-a", 2, 8,
            t + 8 * HOUR, 60, 30, "megatron", ckpt_every=20, ckpt_stall=12, priority=100,
        ),
    ]  # fmt: skip


def _faults(sim: Simulation, t: int, hole: Hole) -> None:
    injector = Injector(sim)

    def node_of(name: str, member: int) -> Callable[[], Node | None]:
        def pick() -> Node | None:
            attempt = live_attempt(sim, name)
            return attempt.pods[member].node if attempt and attempt.pods else None

        return pick

    def job(name: str) -> Callable[[], Attempt | None]:
        return lambda: live_attempt(sim, name)

    def named(name: str) -> Callable[[], Node | None]:
        return lambda: next((n for n in sim.nodes if n.name == name), None)

    injector.job_fault(t + 4_000, "oom_host", job("ablate-1"))
    injector.node_fault(t + 5_000, "xid79", node_of("llama-70b", 2))
    injector.node_fault(t + 8_000, "thermal", node_of("vit-22b", 1))
    injector.node_fault(t + 9_000, "silent", named("train-b-04"))
    injector.job_fault(t + 13_000, "oom_host", job("llama-70b"))
    injector.node_fault(t + 17_000, "link", node_of("llama-70b", 3))
    injector.node_fault(t + 10_500, "notready", node_of("vit-22b", 0))
    injector.job_fault(hole.start + 1_500, "cancel", job("whisper-next"))
    injector.job_fault(t + 27_500, "rollback", job("vit-22b"))
    injector.node_fault(t + 31_500, "gsp", node_of("vit-22b", 1))
    injector.job_fault(t + 34_000, "storage", job("llama-70b"))
    injector.node_fault(t + 36_000, "maintenance", named("train-a-05"))
