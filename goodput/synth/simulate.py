"""The simulation: events in time order act on the fleet and book its idle and broken GPU time.

Pods, attempts and step records keep what happened to them; `goodput.synth.truth` turns that into
the true ledger, the writers turn it into files. Nothing is read back from the files.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

from goodput.synth.endings import Endings
from goodput.synth.fleet import Attempt, Job, Node, Pod, PoolSpec
from goodput.synth.idle import IdleBook
from goodput.synth.machines import Machines
from goodput.synth.scheduler import Scheduler
from goodput.synth.trace import Trace
from goodput.synth.trainer import Trainer


class Simulation:
    """A cluster of training pools, run from `start` to `stop`."""

    def __init__(self, pools: list[PoolSpec], start: int, stop: int, seed: int) -> None:
        self.pools = {p.name: p for p in pools}
        self.start, self.stop = start, stop
        self.rng = random.Random(seed)
        self.now = start
        self.heap: list[tuple[int, int, Callable[[], object]]] = []
        self.seq = 0
        self.nodes: list[Node] = []
        self.all_nodes: list[Node] = []
        self.jobs: list[Job] = []
        self.queue: list[Attempt] = []
        self.pods: list[Pod] = []
        self.trace = Trace()
        self.book = IdleBook(self)
        self.machines = Machines(self)
        self.scheduler = Scheduler(self)
        self.trainer = Trainer(self)
        self.endings = Endings(self)
        for pool in pools:
            for number in range(pool.nodes):
                name = f"{pool.name}-{number + 1:02d}"
                self.machines.stand(pool, name, number, start - 86400 * 3)

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

    def touch(self) -> None:
        """Book the free time up to now; called before anything changes what is free or why."""
        self.book.touch()

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
