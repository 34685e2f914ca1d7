"""Which nodes were present too often when gangs failed for no known reason (STANDARD 5.7).

A failure of a gang of k nodes puts 1/k of suspicion on each. Whether a node's sum is more than
chance is told by dealing the failures anew to the attempts of the same size, a thousand times with
a fixed seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

DRAWS = 1000
SEED = 20260302


@dataclass(frozen=True)
class Suspicion:
    """How suspect a node is.

    Attributes:
        node: the node.
        score: its share of the unattributed failures.
        failure_count: failures of gangs that held it.
        p_value: the share of deals, the real one among them, in which it scores as high.
    """

    node: str
    score: float
    failure_count: int
    p_value: float


def suspicions(
    gangs: Sequence[Sequence[str]], failed: Sequence[bool], draws: int = DRAWS, seed: int = SEED
) -> list[Suspicion]:
    """The nodes of failed gangs, the most suspect first.

    Args:
        gangs: the nodes of each attempt.
        failed: whether the attempt failed for no known reason.
        draws: how many deals.
        seed: of the deals; same seed and same input, same answer.
    """
    import numpy as np

    names = sorted({node for gang in gangs for node in gang})
    number = {name: i for i, name in enumerate(names)}
    sizes: dict[int, list[int]] = defaultdict(list)
    for i, gang in enumerate(gangs):
        sizes[len(gang)].append(i)
    held = [
        (
            np.array([[number[node] for node in gangs[i]] for i in members]),
            [failed[i] for i in members],
        )
        for size, members in sorted(sizes.items())
        if size and any(failed[i] for i in members)
    ]

    def scored(chosen: Callable[[list[bool]], Any]) -> Any:
        """The scores of all nodes if the chosen gangs had failed."""
        total = np.zeros(len(names))
        for nodes, labels in held:
            hit = nodes[chosen(labels)]
            total += np.bincount(hit.ravel(), minlength=len(names)) / nodes.shape[1]
        return total

    rng = np.random.default_rng(seed)
    score = scored(np.flatnonzero)
    failures = sum(
        (np.bincount(nodes[labels].ravel(), minlength=len(names)) for nodes, labels in held),
        start=np.zeros(len(names), dtype=int),
    )
    at_least = np.ones(len(names))
    for _ in range(draws):
        dealt = scored(lambda labels: rng.choice(len(labels), sum(labels), replace=False))
        # Sums of the same fractions in another order differ in the last digit.
        at_least += dealt >= score - 1e-9
    found = [
        Suspicion(name, float(score[i]), int(failures[i]), float(at_least[i] / (draws + 1)))
        for i, name in enumerate(names)
        if failures[i]
    ]
    return sorted(found, key=lambda one: (one.p_value, -one.score, one.node))
