"""The things of the simulated fleet: pools, nodes, jobs, attempts and pods.

Every instant is a whole number of epoch seconds; a GPU is 5040 units. The objects are mutable
because the simulation acts on them; nothing here decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field

UNITS = 5040


@dataclass(frozen=True)
class PoolSpec:
    """A pool of equal nodes; `reserved` GPUs are paid even while no node stands for them."""

    name: str
    nodes: int
    gpus: int
    model: str
    instance_type: str
    reserved: int = 0
    mig: bool = False


@dataclass(frozen=True)
class JobSpec:
    """What a user submits.

    Steps are logged in records of `log_every` positions of `step_s` seconds each. A checkpoint
    blocks for `ckpt_stall` seconds and is durable `ckpt_lag` seconds after that. The kubelet
    restarts the containers of a job that is restarted `in_place`, in the same pod.
    """

    name: str
    namespace: str
    team: str
    owner: str
    pool: str
    pods: int
    gpus_per_pod: int
    submit: int
    steps: int
    step_s: int
    fmt: str
    log_every: int = 1
    ckpt_every: int = 50
    ckpt_stall: int = 20
    ckpt_lag: int = 0
    eval_every: int = 0
    eval_s: int = 60
    restarts: int = 3
    priority: int = 0
    bug: str = ""
    bug_at: int = -1
    in_place: bool = False


@dataclass(frozen=True)
class NodeSpan:
    """The node state that begins at `start`, why, and whether the node is ok (STANDARD 5.2)."""

    start: int
    state: str
    cause: str
    ok_closed: bool
    ok_open: bool


@dataclass(frozen=True)
class Snapshot:
    """What the Node object shows from `start` on."""

    start: int
    conds: dict[str, tuple[str, str]]
    cordoned: bool
    ready: bool
    boot: int


@dataclass
class Node:
    """A machine under one Node object; `log` is its state history for the truth."""

    name: str
    uid: str
    pool: str
    gpus: int
    created: int
    ready_at: int
    rack: str
    deleted: int | None = None
    is_ready: bool = False
    conds: dict[str, tuple[str, str]] = field(default_factory=dict)
    repair: str = ""
    draining: bool = False
    cordoned: bool = False
    stale: bool = False
    hot: bool = False
    busy_fault: bool = False
    cause: str = ""
    boot: int = 0
    free: list[int] = field(default_factory=list)
    log: list[NodeSpan] = field(default_factory=list)
    history: list[Snapshot] = field(default_factory=list)

    def state(self) -> str:
        """The node state of STANDARD 1.6, whatever jobs do."""
        unhealthy = any(kind not in ("Ready", "GpuThermalThrottle") for kind in self.conds)
        first_match = (
            ("provisioning", not self.is_ready),
            (f"repair.{self.repair}", bool(self.repair)),
            ("draining", self.draining),
            ("not_ready", self.conds.get("Ready", ("True", ""))[0] != "True"),
            ("unhealthy", unhealthy),
            ("stale", self.stale),
            ("cordoned", self.cordoned),
        )
        return next((name for name, holds in first_match if holds), "available")

    def health(self) -> tuple[bool, bool]:
        """Ok with stale checks counted as bad, and with staleness ignored (STANDARD 5.2)."""
        blocking = any(kind != "GpuThermalThrottle" for kind in self.conds)
        good = self.is_ready and not self.repair and not blocking
        return good and not self.stale, good


@dataclass
class Pod:
    """One pod; `devices` are the indices it holds, each with `units`.

    Of a pod whose container was restarted in place, each run is one; they share what a pod has.

    Attributes:
        before: the run before.
        after: the run after.
    """

    uid: str
    name: str
    namespace: str
    job: Job | None
    attempt: int
    rank: int
    gpus: int
    units: int
    created: int
    resource: str = "nvidia.com/gpu"
    node: Node | None = None
    devices: tuple[int, ...] = ()
    bound: int | None = None
    running: int | None = None
    first_death: bool = False
    terminated: int | None = None
    released: int | None = None
    removed: int | None = None
    deletion: int | None = None
    exit_code: int | None = None
    reason: str = ""
    disruption: tuple[int, str, str] | None = None
    before: Pod | None = None
    after: Pod | None = None

    @property
    def runs(self) -> list[Pod]:
        """Every run of it up to this one."""
        return [*(self.before.runs if self.before else ()), self]


@dataclass
class Record:
    """One logged record of steps: positions first..last over [start, end)."""

    attempt: Attempt
    first: int
    last: int
    start: int
    end: int
    slow: int = 0
    fate: tuple[str, str] | None = None


@dataclass
class Attempt:
    """One gang from its bind to its end; `segments` partition [ready, end)."""

    number: int
    job: Job
    queued: int
    bound: int | None = None
    pods: list[Pod] = field(default_factory=list)
    ready: int | None = None
    end: int | None = None
    outcome: str = "running"
    cause: str = ""
    resume: int | None = None
    records: list[Record] = field(default_factory=list)
    segments: list[tuple[int, int, str, Record | None, str]] = field(default_factory=list)
    lines: list[tuple[int, int, str]] = field(default_factory=list)
    hung: bool = False
    at: int = 0
    mode: str = "queued"
    alive: bool = True
    current: Record | None = None
    hidden_after: int | None = None


@dataclass
class Checkpoint:
    """A checkpoint; `committed` stays None when the writer died before."""

    job: Job
    attempt: int
    step: int
    start: int
    committed: int | None = None
    corrupt: bool = False


@dataclass
class Job:
    """A submitted job with its attempts and its retained path."""

    spec: JobSpec
    uid: str
    attempts: list[Attempt] = field(default_factory=list)
    state: str = "running"
    ended: int | None = None
    removed: int | None = None
    path: list[Record] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    claims: list[int] = field(default_factory=list)
    durable: list[int] = field(default_factory=lambda: [0])
    queue: list[tuple[int, int | None, int]] = field(default_factory=list)
    corrupt_next: bool = False
    stall_next: bool = False
    last_cause: str = "base.overhead"
    used_restarts: int = 0

    @property
    def live(self) -> Attempt | None:
        """The attempt that runs or waits now."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].alive else None
