"""Kernel logs of nodes, checkpoint listings of jobs, and typed tables of what no object shows."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goodput.synth.faults import BEAT_S, STALE_AFTER_S
from goodput.synth.files import instant, rfc3339, write_ndjson, write_text
from goodput.synth.fleet import Checkpoint, Job, Node
from goodput.synth.plan import Fleet
from goodput.synth.trace import Ticket
from goodput.synth.trainlogs import checkpoint_root, listed, nemo_folder

SHARDS = 8
SHARD_BYTES = 1_732_608_000
PRICE = 2_500_000
CHATTER = (
    "systemd[1]: Started Periodic Command Scheduler.",
    "kernel: nvidia-nvlink: Nvlink Core is being initialized, major device number 234",
    "kernel: IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
    "kernel: perf: interrupt took too long (2507 > 2500), lowering the sample rate",
    "kubelet[1822]: I1123 kubelet.go:2421] SyncLoop (PLEG): event for pod",
)


def write_kernel_logs(fleet: Fleet, out: Path) -> None:
    """`journalctl -o short-iso` of every node, a file a node."""
    rng = random.Random(fleet.end)
    by_node: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for t, node, text in fleet.sim.trace.kernel:
        by_node[node.name].append((t, f"kernel: {text}"))
    for node in fleet.sim.all_nodes:
        rows = by_node[node.name]
        start, stop = max(node.created, fleet.sim.start), node.deleted or fleet.sim.stop
        rows += [(t, rng.choice(CHATTER)) for t in range(start + 900, stop, 5400)]
        rows = sorted((row for row in rows if row[0] < stop), key=lambda row: row[0])
        stamp = "%Y-%m-%dT%H:%M:%S+00:00"
        text = "".join(f"{instant(t).strftime(stamp)} {node.name} {line}\n" for t, line in rows)
        write_text(out / f"{node.name}.log", text)


# ----------------------------------------------------------------- checkpoints


def write_listings(fleet: Fleet, out: Path) -> None:
    """What `find -printf` or `aws s3 ls --recursive` shows of each job's checkpoints at the end."""
    for job in fleet.sim.jobs:
        files = [f for c in listed(job) for f in checkpoint_files(job, c)]
        if not files:
            continue
        root = checkpoint_root(job)
        if root.startswith("s3://"):
            key = root.split("/", 3)[3]
            lines = [f"{_aws(t)} {size:>10} {key}/{path}" for t, size, path in files]
        else:
            lines = [f"{t}.0000000000 {size} {root}/{path}" for t, size, path in files]
        write_text(out / f"{job.spec.name}.txt", "\n".join(lines) + "\n")


def _aws(t: int) -> str:
    return instant(t).strftime("%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True)
class Layout:
    """File names of one framework: what is written first, the shards, what commits, in order."""

    shard: str
    first: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    unfinished: str = ""


LAYOUTS = {
    "megatron": Layout(
        "iter_{step:07d}/__{n}_0.distcp",
        first=("iter_{step:07d}/common.pt",),
        commits=("iter_{step:07d}/metadata.json", "iter_{step:07d}/.metadata"),
    ),
    "torchtitan": Layout("step-{step}/__{n}_0.distcp", commits=("step-{step}/.metadata",)),
    "nemo": Layout(
        "{folder}/weights/__{n}_0.distcp",
        commits=(
            "{folder}/weights/.metadata",
            "{folder}/weights/metadata.json",
        ),
        unfinished="{folder}-unfinished",
    ),
    "maxtext": Layout(
        "checkpoints/{index}/items/d/{n:032x}",
        commits=(
            "checkpoints/{index}/items/_METADATA",
            "checkpoints/{index}/_CHECKPOINT_METADATA",
            "checkpoints/{index}/commit_success.txt",
        ),
    ),
}


def checkpoint_files(job: Job, checkpoint: Checkpoint) -> Iterator[tuple[int, int, str]]:
    """Time, size and path below the root of every file of a checkpoint."""
    layout, done = LAYOUTS[job.spec.fmt], checkpoint.committed

    def path(text: str, n: int = 0) -> str:
        step = checkpoint.step
        return text.format(step=step, index=step - 1, folder=nemo_folder(job, step), n=n)

    for name in layout.first:
        yield checkpoint.start, 13_122, path(name)
    # A writer that died leaves half of the shards; a corrupt checkpoint has an empty one.
    middle = checkpoint.start + ((done or checkpoint.start + 2) - checkpoint.start) // 2
    for n in range(SHARDS if done is not None else SHARDS // 2):
        size = 0 if checkpoint.corrupt and n == SHARDS - 3 else SHARD_BYTES
        yield (middle if n else checkpoint.start), size, path(layout.shard, n)
    if done is not None:
        for name in layout.commits:
            yield done, 412_331, path(name)
    elif layout.unfinished:
        yield checkpoint.start, 0, path(layout.unfinished)


# ---------------------------------------------------------------- typed tables


def write_typed(fleet: Fleet, out: Path) -> None:
    """health_checks, node_admin (the tickets), commitments and prices, for `goodput import`."""
    write_ndjson(out / "health_checks.ndjson", [_beats(fleet, n) for n in fleet.sim.all_nodes])
    write_ndjson(out / "node_admin.ndjson", [_ticket(fleet, t) for t in fleet.sim.trace.tickets])
    rows = [
        {"pool": p.name, "gpus": p.reserved, "from": rfc3339(fleet.sim.start), "to": None}
        for p in fleet.sim.pools.values()
        if p.reserved
    ]
    write_ndjson(out / "commitments.ndjson", rows)
    prices = [
        {"pool": name, "from": rfc3339(fleet.sim.start), "microdollars_per_gpu_hour": PRICE}
        for name in fleet.sim.pools
    ]
    write_ndjson(out / "prices.ndjson", prices)


def _beats(fleet: Fleet, node: Node) -> dict[str, Any]:
    spans, at = [], max(node.ready_at, node.created)
    at = -(-at // BEAT_S) * BEAT_S
    stop = node.deleted or fleet.sim.stop
    for silent, last, back in fleet.sim.trace.silent:
        if silent is node:
            spans.append((at, last))
            at = back
    if at < stop:
        spans.append((at, stop))
    return {
        "node_uid": node.uid,
        "check": "dcgm-health",
        "required": True,
        "stale_after_s": STALE_AFTER_S,
        "beats": [[rfc3339(a), rfc3339(b), BEAT_S] for a, b in spans],
    }


def _ticket(fleet: Fleet, ticket: Ticket) -> dict[str, Any]:
    known = ticket.end < fleet.sim.stop
    row = {
        "node_uid": ticket.node.uid,
        "kind": ticket.kind,
        "planned": ticket.planned,
        "from": rfc3339(ticket.start),
        "to": rfc3339(ticket.end) if known else None,
    }
    return row | ({"action": ticket.action} if ticket.action else {})
