"""Picks the progress bar that is the training and makes its positions grow over epochs."""

from __future__ import annotations

import numpy as np

from goodput.logs.step_lines import NONE, Lines


def training_bar(updates: Lines) -> Lines:
    """The updates of the bar that took longest, with positions that go on where a bar ended.

    A loop per epoch draws a bar per epoch; its steps count on from epoch to epoch. Downloads and
    loading loops draw bars, too, but short ones, and those over a data set do not count iterations.
    """
    if not len(updates):
        return updates
    named = updates.copy()
    for name in ("position", "elapsed_ms", "total"):
        named[name][named[name] == NONE] = 0
    timed = named[named["has_rate"]] if named["has_rate"].any() else named
    totals, bar = np.unique(timed["total"], return_inverse=True)
    taken = np.zeros(len(totals), np.int64)
    np.maximum.at(taken, bar, timed["elapsed_ms"])
    total = int(totals[np.flatnonzero(taken == taken.max())[-1]])
    return _continued(updates[named["total"] == total], total)


def _continued(updates: Lines, total: int) -> Lines:
    base = last = 0
    label: str | None = None
    first = NONE  # of the next record, where the bar was seen at its beginning
    kept: list[int] = []
    positions: list[int] = []
    firsts: list[int] = []
    before_ms = None
    columns = (updates[name].tolist() for name in ("position", "elapsed_ms", "label"))
    for place, (position, elapsed, raw_label) in enumerate(zip(*columns, strict=True)):
        done, text = max(position, 0), raw_label.strip()
        if done < last and (last >= total or (text != label and "poch" in text)):
            base += total
        if not done:
            first = base + 1
        elif done != last:
            if done > last and kept and elapsed == before_ms:
                # The bar shows the same time: of such updates only the last says something.
                first = firsts.pop()
                kept.pop(), positions.pop()
            kept.append(place)
            positions.append(base + done)
            firsts.append(first)
            first, before_ms = NONE, elapsed
        last, label = done, text
    lines = updates[kept]
    lines["position"], lines["first"] = positions, firsts
    return lines
