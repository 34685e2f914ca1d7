"""Nodes: they stand, change, are lost and replaced; their states are written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from goodput.synth.fleet import UNITS, Node, NodeSpan, PoolSpec, Snapshot

if TYPE_CHECKING:
    from goodput.synth.simulate import Simulation


class Machines:
    """What happens to the nodes of a simulation."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self._serial = 0

    def stand(self, pool: PoolSpec, name: str, number: int, created: int) -> Node:
        """A new Node object with nothing on it."""
        node = Node(
            name=name,
            uid=self.sim.uid(),
            pool=pool.name,
            gpus=pool.gpus,
            created=created,
            ready_at=created + 300,
            rack=f"rack-{number // 4 + 1}",
            free=[UNITS] * pool.gpus,
            is_ready=created < self.sim.start,
        )
        self.sim.nodes.append(node)
        self.sim.all_nodes.append(node)
        self.note(node)
        return node

    def note(self, node: Node) -> None:
        """Write the node's state into its history; ends the outage cause once it is available."""
        state = node.state()
        if state == "available":
            node.cause = ""
        when = node.created if not node.log else self.sim.now
        node.log.append(NodeSpan(when, state, node.cause, *node.health()))
        node.history.append(
            Snapshot(when, dict(node.conds), node.cordoned, node.is_ready, node.boot)
        )
        self.sim.scheduler.kick(node.pool)

    def change(self, node: Node, action: Callable[[], None], cause: str = "") -> None:
        """Change a node; `cause` opens an outage, which keeps its first cause until it ends."""
        self.sim.touch()
        action()
        if cause and not node.cause:
            node.cause = cause
        self.note(node)

    def cordon(self, node: Node, on: bool, cause: str = "") -> None:
        """Cordon or uncordon a node."""
        self.sim.trace.cordons.append((self.sim.now, node, on))
        self.change(node, lambda: setattr(node, "cordoned", on), cause)

    def replace(self, old: Node) -> None:
        """A new machine for one that was lost: same pool, new name and UID."""
        self.sim.touch()
        self._serial += 1
        node = self.stand(self.sim.pools[old.pool], f"{old.name}-r{self._serial}", 0, self.sim.now)
        node.rack, node.cause, node.ready_at = old.rack, old.cause, self.sim.now + 330
        node.log[-1] = NodeSpan(self.sim.now, "provisioning", node.cause, False, False)
        self.sim.at(
            node.ready_at,
            lambda: self.change(node, lambda: setattr(node, "is_ready", True)),
        )

    def remove(self, node: Node) -> None:
        """The Node object is removed, with every pod that was still bound to it."""
        self.sim.touch()
        for pod in self.sim.pods:
            if pod.node is node and pod.released is None and pod.bound is not None:
                self.sim.endings.release(pod)
                pod.removed = self.sim.now
        node.deleted = self.sim.now
        self.sim.nodes.remove(node)
        self.sim.scheduler.kick(node.pool)
