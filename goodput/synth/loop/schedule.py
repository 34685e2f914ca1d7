"""When which collector runs in the closed loop, and what befalls the run."""

from __future__ import annotations

from dataclasses import dataclass

from goodput.synth.plan import HOUR, Fleet

KUBERNETES, PROMETHEUS, LOGS, CHECKPOINTS = "kubernetes", "prometheus", "logs", "checkpoints"
# By number of the look: what befalls it. Numbers are prime so that fates do not keep to a rhythm.
_FATES = {
    11: "twice",  # two collectors at once
    13: "expired",  # the list outlives its version: 410 on its second page
    17: "broken",  # the server fails twice, then answers
    23: "slow",
    29: "lost",  # the list of pods fails whatever is tried
    31: "killed",  # the process dies in the middle
}


@dataclass(frozen=True)
class Run:
    """One run of a collector.

    Attributes:
        at: when, epoch seconds.
        source: which collector.
        fate: what befalls it; empty for nothing.
    """

    at: int
    source: str
    fate: str = ""

    @property
    def sees_pods(self) -> bool:
        """Whether pods that are there are seen."""
        return self.source == KUBERNETES and self.fate not in ("lost", "killed")

    @property
    def proves_absence(self) -> bool:
        """Whether pods that are not there are known to be gone: the list shows one moment."""
        return self.sees_pods and self.fate != "expired"


def schedule(fleet: Fleet, look_every_s: int) -> list[Run]:
    """The runs in the order of time; in the hole of the fleet there are none."""
    start, stop = fleet.sim.start, fleet.sim.stop
    looks = range(start + 137, stop, look_every_s)
    runs = [Run(t, KUBERNETES, _fate(number)) for number, t in enumerate(looks)]
    for source, offset, every in (
        (LOGS, 1_801, HOUR),
        (CHECKPOINTS, 2_403, HOUR),
        (PROMETHEUS, 3_999, 2 * HOUR),
    ):
        runs += [Run(t, source) for t in range(start + offset, stop, every)]
    last = [Run(stop - 5, source) for source in (KUBERNETES, LOGS, CHECKPOINTS, PROMETHEUS)]
    kept = [run for run in runs if not fleet.hole.start <= run.at < fleet.hole.end]
    return sorted([*kept, *last], key=lambda run: run.at)


def _fate(number: int) -> str:
    return next((fate for every, fate in _FATES.items() if number and number % every == 0), "")
