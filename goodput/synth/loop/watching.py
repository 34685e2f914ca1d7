"""The collector in its long-running mode, led from change to change.

Real time has no say: the world stands still until every watch has taken what happened, and then its
clock goes to the next change. So what is seen when is the same in every run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from goodput.lake import Lake
from goodput.rows import DEFAULT_CLUSTER
from goodput.sources.kube_snapshot import Scope
from goodput.sources.kube_watch import Pace, watch_kubernetes
from goodput.sources.kubernetes_api import KubernetesApi
from goodput.synth.files import instant
from goodput.synth.loop.stage import Stage

# The world says when a look is due and when to publish, not the time that this takes.
_PACE = Pace(look_s=3600, publish_s=3600, pause_s=0.01)
_PATIENCE_S = 60
_POLL_S = 0.002


class Watching:
    """Watches the API server of a stage through some spans of time."""

    def __init__(self, lake: Lake, stage: Stage, api: KubernetesApi) -> None:
        """Nothing is asked yet; the API is the caller's to close."""
        self._stage = stage
        self._now = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=watch_kubernetes,
            args=(lake, api, Scope()),
            kwargs={
                "cluster": DEFAULT_CLUSTER,
                "stop": self._stop,
                "pace": _PACE,
                "clock": lambda: instant(self._now),
            },
        )

    def run(self, spans: Iterable[tuple[int, int]]) -> None:
        """Goes through the spans; before each the server forgets what it was to begin at.

        Args:
            spans: begins, at which a look is taken, and ends, up to which each change is seen.
        """
        try:
            for start, end in spans:
                self._now = start
                self._stage.show(start)
                self._stage.forget()
                if not self._thread.is_alive():
                    self._thread.start()
                self._next_turn()
                for at, lines in self._stage.changes(start, end):
                    self._now = at
                    self._stage.cluster.set_clock(at)
                    self._next_turn()  # watches show the time at which they begin
                    self._stage.cluster.changes = lines
                    self._next_turn()  # and what they said was taken when they end
        finally:
            self._stop.set()
            self._stage.cluster.turn += 1
            self._thread.join()

    def _next_turn(self) -> None:
        """Ends all watches, and waits until each has begun anew where it ended."""
        cluster = self._stage.cluster
        cluster.turn += 1
        awaited = {entry.plural for entry in cluster.served} - {"leases"}
        until = time.monotonic() + _PATIENCE_S
        while any(cluster.watched.get(plural) != cluster.turn for plural in awaited):
            if time.monotonic() > until or not self._thread.is_alive():
                raise RuntimeError(f"watches do not go on: {cluster.watched}, {cluster.turn}")
            time.sleep(_POLL_S)
