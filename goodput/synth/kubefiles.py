"""Kubernetes artefacts on disk: watch streams by day, Lists every few hours, events by day."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from goodput.synth.files import instant, rfc3339, write_ndjson, write_text
from goodput.synth.kubeevents import events
from goodput.synth.kubemeta import Object, Timeline
from goodput.synth.kubeobjects import timelines
from goodput.synth.plan import LAST_LIST_S, Fleet

LIST_EVERY_S = 6 * 3600
DUPLICATED = 0.03


def write_kube(fleet: Fleet, out: Path) -> None:
    """Write all Kubernetes artefacts below `out`."""
    rng = random.Random(fleet.start)
    rows = timelines(fleet.sim)
    _write_watch(fleet, rows, out / "watch", rng)
    _write_lists(fleet, rows, out / "lists", rng)
    _write_events(fleet, out / "events", rng)


def _seen(fleet: Fleet, t: int) -> bool:
    return not fleet.hole.start <= t < fleet.hole.end and t < fleet.sim.stop


def _write_watch(fleet: Fleet, rows: list[Timeline], out: Path, rng: random.Random) -> None:
    """`kubectl get KIND -A -w --output-watch-events -o json`, one line an event, a file a day."""
    streams: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for row in rows:
        for t, change in _watched(row):
            if _seen(fleet, t):
                day = instant(t).strftime("%Y-%m-%d")
                streams[row.kind, day].append(change)
    for (kind, day), changes in sorted(streams.items()):
        doubled = changes + [c for c in changes if rng.random() < DUPLICATED]
        rng.shuffle(doubled)
        write_ndjson(out / f"{kind.lower()}s-{day}.ndjson", doubled)


def _watched(row: Timeline) -> Iterator[tuple[int, Object]]:
    for number, t in enumerate(row.changes):
        yield t, {"type": "MODIFIED" if number else "ADDED", "object": row.build(t)}
    if row.removed is not None:
        last = row.build(row.removed)
        last["metadata"].setdefault("deletionTimestamp", rfc3339(row.removed))
        yield row.removed, {"type": "DELETED", "object": last}


def list_times(fleet: Fleet) -> list[int]:
    """When somebody ran `kubectl get` on everything."""
    around = [fleet.hole.start - LAST_LIST_S, fleet.hole.end, fleet.sim.stop - 300]
    times = [*range(fleet.sim.start + 300, fleet.sim.stop, LIST_EVERY_S), *around]
    return sorted(t for t in times if _seen(fleet, t))


def _write_lists(fleet: Fleet, rows: list[Timeline], out: Path, rng: random.Random) -> None:
    """`kubectl get nodes,pods,... -A -o json` every six hours and around the collector's hole."""
    for t in list_times(fleet):
        items = [
            row.build(t)
            for row in rows
            if row.changes[0] <= t and (row.removed is None or t < row.removed)
        ]
        rng.shuffle(items)
        document = {
            "apiVersion": "v1",
            "kind": "List",
            "metadata": {"resourceVersion": ""},
            "items": items,
        }
        name = f"all-{instant(t).strftime('%Y%m%dT%H%M%SZ')}.json"
        write_text(out / name, json.dumps(document, separators=(",", ":")) + "\n")


def _write_events(fleet: Fleet, out: Path, rng: random.Random) -> None:
    """`kubectl get events -A -w -o json`: what the API server keeps for an hour, a file a day."""
    days: dict[str, list[Object]] = defaultdict(list)
    for t, event in events(fleet.sim):
        if _seen(fleet, t):
            days[instant(t).strftime("%Y-%m-%d")].append(event)
    for day, rows in sorted(days.items()):
        doubled = rows + [r for r in rows if rng.random() < DUPLICATED]
        rng.shuffle(doubled)
        write_ndjson(out / f"events-{day}.ndjson", doubled)
