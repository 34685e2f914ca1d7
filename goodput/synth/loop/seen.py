"""What of the truth a schedule of looks can show: where pods vanished between two of them.

A pod that was deleted between two looks may have ended at any moment from its last sign of life to
the first list without it. Signs of life are looks and lines of its gang's logs; a pod that was seen
to be bound later to the same GPU proves that it was gone. A pod that came and went between two
looks was never there for an observer: its GPU was idle, and why others were idle meanwhile is open.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from goodput.synth.fleet import Attempt, Node, Pod
from goodput.synth.kubepods import GRACE_S
from goodput.synth.loop.schedule import Run
from goodput.synth.plan import Fleet
from goodput.synth.trace import Label
from goodput.synth.trainlogs import last_line
from goodput.synth.truth import UNSEEN, Veils, gang_pieces, zero_state

Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class Unseen:
    """What a schedule cannot show, in epoch seconds.

    Attributes:
        veils: per device, what has to be booked where nobody can know what its pod did.
        missed: per device, when pods held it that nobody ever saw.
        open_spans: per pool, when it is open how many of its GPUs were free, or who wanted them.
    """

    veils: Veils
    missed: dict[tuple[str, int], Spans]
    open_spans: dict[str, Spans]


def unseen(fleet: Fleet, runs: Sequence[Run]) -> Unseen:
    """What looks by a schedule cannot show of a fleet."""
    observer = _Observer(fleet, runs)
    veils, missed = observer.veils(), observer.missed()
    open_spans: dict[str, Spans] = defaultdict(list)
    pools = {node.uid: node.pool for node in fleet.sim.all_nodes}
    for (node, _), spans in veils.items():
        open_spans[pools[node]] += [(start, end) for start, end, _ in spans]
    for attempt in observer.missed_attempts():
        open_spans[attempt.job.spec.pool].append((attempt.queued, observer.seen_again(attempt)))
    return Unseen(veils, missed, open_spans)


class _Observer:
    """Somebody who looks by a schedule."""

    def __init__(self, fleet: Fleet, runs: Sequence[Run]) -> None:
        self._jobs = fleet.sim.jobs
        self._stop = fleet.sim.stop
        self._pods = [pod for pod in fleet.sim.pods if pod.job is not None]
        self._sightings = [t for run in runs if run.sees_pods for t in run.looks]
        self._proofs = [t for run in runs if run.proves_absence for t in run.looks]
        self._watched = [span for run in runs for span in run.watched]

    def veils(self) -> Veils:
        found: Veils = defaultdict(list)
        for pod in self._pods:
            if pod.node is None or pod.bound is None:
                continue
            spans = self._misread(pod)
            if pod.removed is not None:
                spans = [*self._spans(pod, pod.node, pod.removed), *spans]
            for start, end, label in spans:
                for device in pod.devices if start < end else ():
                    found[pod.node.uid, device].append((start, end, label))
        return found

    def missed(self) -> dict[tuple[str, int], Spans]:
        found: dict[tuple[str, int], Spans] = defaultdict(list)
        for pod in self._pods:
            if self._is_missed(pod) and pod.node and pod.bound is not None and pod.removed:
                for device in pod.devices:
                    found[pod.node.uid, device].append((pod.bound, pod.removed))
        return found

    def missed_attempts(self) -> list[Attempt]:
        """Attempts of which no pod was seen."""
        attempts = [attempt for job in self._jobs for attempt in job.attempts]
        return [a for a in attempts if a.pods and all(map(self._is_missed, a.pods))]

    def seen_again(self, attempt: Attempt) -> int:
        """When the next attempt that was seen got its GPUs."""
        following = attempt.job.attempts[attempt.number :]
        seen = [a.bound for a in following if a.bound and not any(map(self._is_missed, a.pods))]
        return min(seen, default=self._stop)

    def _is_missed(self, pod: Pod) -> bool:
        is_over = pod.bound is not None and pod.removed is not None
        return is_over and self._last_sighting(pod) is None

    def _spans(self, pod: Pod, node: Node, removed: int) -> list[tuple[int, int, Label]]:
        assert pod.job is not None
        seen_at = self._last_sighting(pod)
        ended = pod.terminated is not None and self._sees(pod.terminated, removed)
        if seen_at is None or ended:
            return []
        attempt = pod.job.attempts[pod.attempt - 1]
        until = min([self._proven(removed), *self._next(pod, seen_at)])
        until = until if node.deleted is None else min(until, node.deleted)
        end, over = attempt.end, self._observed_end(attempt)
        assert end is not None
        spans = [(max(seen_at, over), until, UNSEEN)]
        if over > end:
            # Until the attempt is known to be over, it seems to go on as it did last.
            pieces = gang_pieces(attempt, self._stop)
            spans.append((end, min(over, until), pieces[-1][2:]))
        return spans

    def _misread(self, pod: Pod) -> list[tuple[int, int, Label]]:
        """A failed start that seems to be the only one, as nobody saw those before and after it."""
        assert pod.job is not None
        attempt = pod.job.attempts[pod.attempt - 1]
        seen = [a for a in pod.job.attempts if not any(map(self._is_missed, a.pods))]
        seeming = zero_state(attempt, seen) if attempt in seen else None
        if seeming in (None, zero_state(attempt, pod.job.attempts)) or pod.bound is None:
            return []
        end = self._stop if attempt.end is None else attempt.end
        if pod.removed is not None:
            end = min(end, self._observed_end(attempt))
        return [(pod.bound, end, (seeming or "", attempt.cause))]

    def _last_sighting(self, pod: Pod) -> int | None:
        assert pod.bound is not None
        assert pod.removed is not None
        before = bisect_left(self._sightings, pod.removed)
        changes = (pod.bound, pod.running, pod.terminated, pod.deletion)
        watched = [t for t in changes if t is not None and self._watches(t)]
        last = max([*self._sightings[:before][-1:], *watched], default=-1)
        return last if last >= pod.bound else None

    def _proven(self, removed: int) -> int:
        """When a pod that was removed is known to be gone."""
        if self._watches(removed):
            return removed
        return self._proofs[bisect_left(self._proofs, removed)]

    def _watches(self, change: int) -> bool:
        return any(start < change <= end for start, end in self._watched)

    def _next(self, pod: Pod, since: int) -> list[int]:
        """When the pods that were seen later on the same GPUs were bound."""
        return [
            other.bound
            for other in self._pods
            if other.node is pod.node
            and other.bound is not None
            and other.bound > since
            and set(other.devices) & set(pod.devices)
            and (other.removed is None or self._last_sighting(other) is not None)
        ]

    def _observed_end(self, attempt: Attempt) -> int:
        """When an observer takes the attempt for over, all of whose pods are gone."""
        if attempt.end is not None and self._is_declared(attempt, attempt.end):
            return attempt.end
        signs = [self._last_sign(pod) for pod in attempt.pods]
        last, over = max(sign for sign, _ in signs), max(over for _, over in signs)
        if over == last:
            over = max(over, last_line(attempt))
        following = attempt.job.attempts[attempt.number :]
        return min([over, *(a.bound for a in following[:1] if a.bound is not None)])

    def _last_sign(self, pod: Pod) -> tuple[int, int]:
        """The last sign of a pod's life, and the same unless it should have been gone by then."""
        assert pod.removed is not None
        if pod.terminated is not None and self._sees(pod.terminated, pod.removed):
            return pod.terminated, pod.terminated
        last = self._last_sighting(pod) or 0
        due = pod.deletion + GRACE_S if pod.deletion is not None else last
        return last, min(last, due) if pod.deletion is not None and pod.deletion <= last else last

    def _is_declared(self, attempt: Attempt, end: int) -> bool:
        """Whether an object says when the attempt ended, for long enough that a look sees it."""
        job = attempt.job
        if attempt is job.attempts[-1] and job.ended is not None:
            return job.removed is None or self._sees(end, job.removed)
        if attempt.outcome == "preempted":
            again = job.attempts[attempt.number].bound
            return again is None or self._sees(end, again)
        return False

    def _sees(self, start: int, end: int) -> bool:
        """Whether a look fell into a span, or the change that it began with was seen."""
        if self._watches(start):
            return True
        after = bisect_left(self._sightings, start)
        return after < len(self._sightings) and self._sightings[after] < end
