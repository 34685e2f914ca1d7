"""When which collector runs in the closed loop, and what befalls the run."""

from __future__ import annotations

from dataclasses import dataclass

from goodput.synth.plan import HOUR, Fleet

KUBERNETES, PROMETHEUS, CHECKPOINTS = "kubernetes", "prometheus", "checkpoints"
LOGS, POD_LOGS, LOKI = "logs", "pod logs", "Loki"
# By number of the look: what befalls it. Numbers are prime so that fates do not keep to a rhythm.
_FATES = {
    11: "twice",  # two collectors at once
    13: "expired",  # the list outlives its version: 410 on its second page
    17: "broken",  # the server fails twice, then answers
    23: "slow",
    29: "lost",  # the list of pods fails whatever is tried
    31: "killed",  # the process dies in the middle
}
_WATCHED_SPANS = 7
_FORGETS_EVERY_S = 900
_UNWATCHED_S = 300


@dataclass(frozen=True)
class Run:
    """One run of a collector.

    Attributes:
        at: when, epoch seconds.
        source: which collector.
        fate: what befalls it; empty for nothing.
        watched: spans in which it stays and sees each change; a look begins each.
    """

    at: int
    source: str
    fate: str = ""
    watched: tuple[tuple[int, int], ...] = ()

    @property
    def looks(self) -> list[int]:
        """When it asks for what there is."""
        return [start for start, _ in self.watched] or [self.at]

    @property
    def sees_pods(self) -> bool:
        """Whether pods that are there are seen."""
        return self.source == KUBERNETES and self.fate not in ("lost", "killed")

    @property
    def proves_absence(self) -> bool:
        """Whether pods that are not there are known to be gone: the list shows one moment."""
        return self.sees_pods and self.fate != "expired"


def schedule(fleet: Fleet, look_every_s: int) -> list[Run]:
    """The runs in the order of time; in the hole of the fleet there are none.

    For a while the collector of Kubernetes stays and watches instead of coming again and again.
    """
    start, stop = fleet.sim.start, fleet.sim.stop
    watched = _watched(fleet.hole.end + 600)
    looks = [
        (number, t)
        for number, t in enumerate(range(start + 137, stop, look_every_s))
        if not watched[0][0] <= t <= watched[-1][1]
    ]
    runs = [Run(t, KUBERNETES, _fate(number)) for number, t in looks]
    runs.append(Run(watched[0][0], KUBERNETES, "watch", watched))
    for source, offset, every in (
        (LOGS, 1_801, HOUR),
        (POD_LOGS, 2_101, 2 * HOUR),
        (LOKI, 2_221, 2 * HOUR),
        (CHECKPOINTS, 2_403, HOUR),
        (PROMETHEUS, 3_999, 2 * HOUR),
    ):
        runs += [Run(t, source) for t in range(start + offset, stop, every)]
    sources = (KUBERNETES, LOGS, POD_LOGS, LOKI, CHECKPOINTS, PROMETHEUS)
    last = [Run(stop - 5, source) for source in sources]
    kept = [run for run in runs if not fleet.hole.start <= run.at < fleet.hole.end]
    return sorted([*kept, *last], key=lambda run: run.at)


def _watched(start: int) -> tuple[tuple[int, int], ...]:
    """Some quarters of an hour: after each the server has forgotten, once for minutes."""
    begins = range(start, start + _WATCHED_SPANS * _FORGETS_EVERY_S, _FORGETS_EVERY_S)
    spans = [(t, t + _FORGETS_EVERY_S) for t in begins]
    spans[2] = (spans[2][0] + _UNWATCHED_S, spans[2][1])
    return tuple(spans)


def _fate(number: int) -> str:
    return next((fate for every, fate in _FATES.items() if number and number % every == 0), "")
