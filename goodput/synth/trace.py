"""What a simulation writes down besides its objects."""

from __future__ import annotations

from dataclasses import dataclass, field

from goodput.synth.fleet import Node

Label = tuple[str, str]
"""A state and its cause."""


@dataclass
class Idle:
    """Units of one device that no pod holds over [start, end)."""

    node: Node | None
    pool: str
    device: int
    start: int
    end: int
    units: int
    state: str
    cause: str


@dataclass(frozen=True)
class Ticket:
    """A row of the operators' ticket system: a drain or a repair of a node."""

    node: Node
    kind: str
    action: str
    planned: bool
    start: int
    end: int


@dataclass
class Trace:
    """What happened besides the objects: kernel lines, tickets, health beats, injected faults."""

    kernel: list[tuple[int, Node, str]] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    silent: list[tuple[Node, int, int]] = field(default_factory=list)
    faults: list[tuple[int, str, str]] = field(default_factory=list)
    node_events: list[tuple[int, Node, str, str]] = field(default_factory=list)
    cordons: list[tuple[int, Node, bool]] = field(default_factory=list)


def lost_state(cause: str) -> Label:
    """The state of work thrown away because of `cause`."""
    kind = "rollback" if cause == "user.rollback" else "recompute"
    return f"A.lost.{kind}", cause
