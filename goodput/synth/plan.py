"""The default week: pools, jobs, and when which fault is injected."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from goodput.synth.faults import Injector
from goodput.synth.fleet import UNITS, Attempt, JobSpec, Node, Pod, PoolSpec
from goodput.synth.simulate import Simulation

HOUR = 3600
WEEK = 7 * 24 * HOUR
WARM_UP = 12 * HOUR
AFTERMATH = HOUR
POOLS = (
    PoolSpec("train-a", 16, 8, "NVIDIA-H100-80GB-HBM3", "p5.48xlarge", reserved=128),
    PoolSpec("train-b", 8, 8, "NVIDIA-A100-SXM4-80GB", "p4de.24xlarge"),
    PoolSpec("serve", 2, 4, "NVIDIA-A100-SXM4-40GB", "g-a100x4", mig=True),
)
TEAMS = (("foundation", "team-foundation"), ("vision", "team-vision"), ("speech", "team-speech"))
LEMON = 5
# The last list before the collector's hole was taken this long before it.
LAST_LIST_S = 300
# MIG profile: name, units of a GPU (STANDARD 1.3), how many a serving replica holds.
MIG = (("mig-1g.5gb", 720), ("mig-2g.10gb", 1440), ("mig-3g.20gb", 2520))


@dataclass(frozen=True)
class Hole:
    """A span in which the collector saw nothing."""

    start: int
    end: int


@dataclass(frozen=True)
class Fleet:
    """A simulated span of time: the week `[start, end)` within what was simulated."""

    sim: Simulation
    start: int
    end: int
    hole: Hole


def simulate(week_start: int, seed: int) -> Fleet:
    """Run the default week.

    Args:
        week_start: Monday 00:00 UTC, epoch seconds.
        seed: varies jobs and times, never which kinds of fault occur.
    """
    rng = random.Random(seed * 7919 + 1)
    sim = Simulation(list(POOLS), week_start - WARM_UP, week_start + WEEK + AFTERMATH, seed)
    for spec in [*_long_runs(week_start), *_named(week_start), *_crowd(week_start, rng)]:
        sim.at(spec.submit, partial(sim.scheduler.submit, spec))
    _serving(sim)
    hole = Hole(week_start + 99 * HOUR, week_start + 99 * HOUR + 2700)
    _faults(sim, week_start, rng, hole)
    sim.run()
    return Fleet(sim, week_start, week_start + WEEK, hole)


def _long_runs(t: int) -> list[JobSpec]:
    return [
        JobSpec(
            "llama-70b", "foundation", "team-foundation", "JobSet", "train-a", 8, 8,
            t - 10 * HOUR, 90000, 44, "megatron", ckpt_every=60, ckpt_stall=7, ckpt_lag=110,
            eval_every=250, eval_s=95, restarts=50,
        ),
        JobSpec(
            "moe-8x7b", "foundation", "team-foundation", "JobSet", "train-a", 4, 8,
            t - 6 * HOUR, 8400, 36, "torchtitan", ckpt_every=70, ckpt_stall=48, restarts=50,
        ),
        JobSpec(
            "vit-22b", "vision", "team-vision", "JobSet", "train-b", 3, 8,
            t - 8 * HOUR, 30000, 40, "nemo", ckpt_every=50, ckpt_stall=0, ckpt_lag=70, restarts=50,
        ),
        JobSpec(
            "whisper-next", "speech", "team-speech", "JobSet", "train-b", 2, 8,
            t + 2 * HOUR, 24000, 30, "maxtext", ckpt_every=480, ckpt_stall=0, ckpt_lag=45,
            restarts=50,
        ),
    ]  # fmt: skip


def _named(t: int) -> list[JobSpec]:
    """Jobs that carry one of the job-side faults."""
    return [
        JobSpec(
            "dpo-broken-unpack", "vision", "team-vision", "JobSet", "train-b", 2, 8,
            t + 20 * HOUR, 900, 33, "megatron", ckpt_every=40, ckpt_stall=15,
            bug="value", bug_at=153,
        ),
        JobSpec(
            "long-context-oom", "foundation", "team-foundation", "PyTorchJob", "train-a", 2, 8,
            t + 31 * HOUR, 800, 35, "torchtitan", ckpt_every=100, bug="oom_gpu",
            bug_at=17, restarts=0,
        ),
        JobSpec(
            "import-loop", "speech", "team-speech", "Job", "train-b", 1, 8,
            t + 44 * HOUR, 500, 30, "megatron", bug="import", restarts=5,
        ),
        JobSpec(
            "everything-at-once", "foundation", "team-foundation", "JobSet", "train-a", 20, 8,
            t + 60 * HOUR, 500, 30, "megatron", ckpt_every=50,
        ),
        JobSpec(
            "urgent-eval-a", "foundation", "team-foundation", "JobSet", "train-a", 3, 8,
            t + 75 * HOUR, 300, 30, "megatron", ckpt_every=50, ckpt_stall=12, priority=100,
        ),
        JobSpec(
            "urgent-eval-b", "foundation", "team-foundation", "JobSet", "train-a", 4, 8,
            t + 130 * HOUR, 240, 30, "nemo", ckpt_every=40, ckpt_stall=0, ckpt_lag=40,
            priority=100,
        ),
        # Where nothing else is placed, so that its end in the collector's hole shifts nothing else.
        JobSpec(
            "probe-cancelled-unseen", "speech", "team-speech", "JobSet", "serve", 1, 2,
            t + 97 * HOUR, 4000, 30, "megatron", ckpt_every=4000, ckpt_stall=10,
        ),
    ]  # fmt: skip


def _crowd(t: int, rng: random.Random) -> list[JobSpec]:
    """The rest: small and medium jobs over all teams."""
    specs = []
    for number in range(46):
        pool = "train-a" if number % 5 < 3 else "train-b"
        gpus = rng.choice((1, 2, 4, 8)) if pool == "train-b" and number % 4 == 0 else 8
        pods = 1 if gpus < 8 else rng.choice((1, 1, 2, 2, 3, 4) if pool == "train-a" else (1, 1, 2))
        team, label = TEAMS[number % 3]
        owner = "JobSet" if pods > 1 or number % 3 else ("Job" if number % 2 else "PyTorchJob")
        step_s = rng.randint(26, 55)
        every = rng.randint(25, 80)
        hours = rng.uniform(2, 17)
        steps = max(2, round(hours * HOUR / step_s / every)) * every
        fmt = ("megatron", "torchtitan", "nemo", "megatron", "maxtext")[number % 5]
        quick = fmt == "megatron" and number % 11 in (2, 8)
        # NeMo and MaxText save in the background; only Megatron logs its evaluations with a time.
        background = fmt in ("nemo", "maxtext")
        # What is saved in the background takes longer than a record, so that the log shows it.
        record_s = 40 if quick else step_s
        lags = (2 * record_s + 9, 3 * record_s + 9)
        has_evals = fmt == "megatron" and number % 3 == 0 and not quick
        specs.append(
            JobSpec(
                name=f"{('sft', 'ablate', 'pretrain', 'distill')[number % 4]}-{number:02d}",
                namespace=team,
                team=label,
                owner=owner,
                pool=pool,
                pods=pods,
                gpus_per_pod=gpus,
                submit=t - 5 * HOUR + round((number + rng.random()) * 3.6 * HOUR),
                steps=steps * 5 if quick else steps,
                step_s=8 if quick else step_s,
                fmt=fmt,
                log_every=5 if quick else 1,
                ckpt_every=every * 5 if quick else every,
                ckpt_stall=0 if background else rng.randint(5, 60),
                ckpt_lag=0 if fmt == "torchtitan" else rng.choice((0, 0, *lags)),
                eval_every=every * 2 + 3 if has_evals else 0,
                restarts=0 if owner == "PyTorchJob" else 6,
            )
        )
    return specs


def _serving(sim: Simulation) -> None:
    """Serving replicas on MIG slices, and a notebook on a whole GPU; they stay all week."""
    nodes = [n for n in sim.nodes if n.pool == "serve"]
    wanted = [(n, d, *MIG[(i + d) % 3]) for i, n in enumerate(nodes) for d in range(2)]
    wanted += [(nodes[0], 0, *MIG[0]), (nodes[1], 3, "gpu", UNITS)]
    for number, (node, device, resource, units) in enumerate(wanted):
        name = f"chat-api-6c9f7d4b8-{number:05x}" if resource != "gpu" else "notebook-ana-0"
        pod = Pod(
            uid=sim.uid(),
            name=name,
            namespace="serving",
            job=None,
            attempt=1,
            rank=number,
            gpus=1,
            units=units,
            created=sim.start + 40,
            resource=f"nvidia.com/{resource}",
            node=node,
            devices=(device,),
            bound=sim.start + 60 + number,
            running=sim.start + 100 + number,
        )
        sim.pods.append(pod)
        sim.at(sim.start + 60 + number, partial(_hold, sim, pod))


def _hold(sim: Simulation, pod: Pod) -> None:
    sim.touch()
    assert pod.node is not None
    for device in pod.devices:
        pod.node.free[device] -= pod.units


def _faults(sim: Simulation, t: int, rng: random.Random, hole: Hole) -> None:
    injector = Injector(sim)

    def node_of(name: str, member: int) -> Callable[[], Node | None]:
        def pick() -> Node | None:
            attempt = live_attempt(sim, name)
            return attempt.pods[member % len(attempt.pods)].node if attempt else None

        return pick

    def job(name: str) -> Callable[[], Attempt | None]:
        return lambda: live_attempt(sim, name)

    def lemon() -> Node | None:
        node = next(n for n in sim.all_nodes if n.name == f"train-a-{LEMON:02d}")
        return node if sim.on_node(node) else None

    def idle_or_any(pool: str, number: int) -> Callable[[], Node | None]:
        name = f"{pool}-{number:02d}"
        return lambda: next((n for n in sim.nodes if n.name == name), None)

    def when(hours: float) -> int:
        return t + round((hours + rng.uniform(-0.6, 0.6)) * HOUR)

    injector.node_fault(when(9), "xid79", node_of("llama-70b", 2))
    injector.node_fault(when(15), "thermal", node_of("vit-22b", 1))
    injector.job_fault(when(22), "oom_host", job("moe-8x7b"))
    injector.node_fault(when(27), "xid79", lemon)
    injector.node_fault(when(34), "link", node_of("llama-70b", 5))
    injector.node_fault(when(40), "silent", idle_or_any("train-b", 8))
    injector.job_fault(when(47), "rollback", job("moe-8x7b"))
    injector.node_fault(when(52), "gsp", lemon)
    injector.node_fault(when(57), "notready", node_of("llama-70b", 1))
    injector.job_fault(when(66), "storage", job("llama-70b"))
    injector.node_fault(when(72), "ecc", node_of("vit-22b", 2))
    injector.node_fault(when(82), "maintenance", node_of("llama-70b", 7))
    injector.node_fault(when(90), "xid79", lemon)
    injector.job_fault(hole.start + 600, "cancel", job("probe-cancelled-unseen"))
    injector.job_fault(when(106), "corrupt", job("llama-70b"))
    injector.node_fault(when(114), "thermal", node_of("llama-70b", 4))
    injector.node_fault(when(121), "maintenance", idle_or_any("train-b", 1))
    injector.node_fault(when(127), "silent", idle_or_any("train-a", 16))
    injector.node_fault(when(138), "gsp", lemon)
    injector.node_fault(when(146), "link", node_of("whisper-next", 1))
    injector.job_fault(when(151), "cancel", job("vit-22b"))
    injector.node_fault(when(158), "notready", node_of("whisper-next", 0))
    sim.at(t + 70 * HOUR, lambda: _withdraw(sim, "everything-at-once"))


def live_attempt(sim: Simulation, name: str) -> Attempt | None:
    """The live attempt of the job of a name."""
    return next((j.live for j in sim.jobs if j.spec.name == name), None)


def _withdraw(sim: Simulation, name: str) -> None:
    """The owner deletes a job that never started."""
    sim.touch()
    job = next(j for j in sim.jobs if j.spec.name == name)
    waiting = job.attempts[-1]
    sim.queue.remove(waiting)
    waiting.alive = False
    job.queue.append((waiting.queued, sim.now, 1))
    job.state, job.ended, job.removed = "cancelled", sim.now, sim.now
