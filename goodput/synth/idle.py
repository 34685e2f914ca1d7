"""The book of GPU time that no pod holds, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goodput.synth.fleet import UNITS, Node
from goodput.synth.trace import Idle, Label

if TYPE_CHECKING:
    from goodput.synth.simulate import Simulation


class IdleBook:
    """Rows of idle and broken time, up to the last touch."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.rows: list[Idle] = []
        self._mark = sim.start
        self._open: dict[tuple[str, int], Idle] = {}

    def touch(self) -> None:
        """Book the free time up to now; called before anything changes what is free or why."""
        if self._mark == self.sim.now:
            return
        labels: dict[str, Label] = {}
        for node in self.sim.nodes:
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
        for pool in self.sim.pools.values():
            missing = pool.reserved - sum(n.gpus for n in self.sim.nodes if n.pool == pool.name)
            for device in range(max(0, missing)):
                self._book(None, pool.name, device, UNITS, ("U.unlaunched", "plat.capacity"))
        self._mark = self.sim.now

    def _book(self, node: Node | None, pool: str, device: int, units: int, label: Label) -> None:
        key = (node.uid if node else pool, device)
        row = self._open.get(key)
        same = row and (row.end, row.units, row.state, row.cause) == (self._mark, units, *label)
        if row and same:
            row.end = self.sim.now
            return
        row = Idle(node, pool, device, self._mark, self.sim.now, units, *label)
        self._open[key] = row
        self.rows.append(row)

    def _idle_label(self, pool: str) -> Label:
        waiting = [a for a in self.sim.queue if a.job.spec.pool == pool]
        if not waiting:
            return "I.no_demand", ""
        free = [n.free.count(UNITS) for n in self.sim.nodes if n.pool == pool and usable(n)]
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


def usable(node: Node) -> bool:
    """Whether new pods may go there."""
    return node.state() == "available"
