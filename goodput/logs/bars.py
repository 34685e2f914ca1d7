"""Picks the progress bar that is the training and makes its positions grow over epochs."""

from __future__ import annotations

import numpy as np

from goodput.logs.step_lines import ASIDE, MAX_POSITION, NONE, Lines


def training_bar(updates: Lines) -> Lines:
    """The updates of the bar that took longest, with positions that go on where a bar ended.

    A loop per epoch draws a bar per epoch; its steps count on from epoch to epoch. Downloads and
    loading loops draw bars, too, but short ones, and those over a data set do not count iterations.
    """
    is_aside = updates["label"] == ASIDE
    if is_aside.any():
        updates = np.compress(~is_aside, updates)
    if not len(updates):
        return updates
    total = np.maximum(updates["total"], 0)
    if (total == total[0]).all():
        return _continued(updates, int(total[0]))
    timed = updates["has_rate"]
    timed = timed if timed.any() else ~timed
    totals, bar = np.unique(total[timed], return_inverse=True)
    taken = np.zeros(len(totals), np.int64)
    np.maximum.at(taken, bar, updates["elapsed_ms"][timed])
    longest = int(totals[np.flatnonzero(taken == taken.max())[-1]])
    return _continued(np.compress(total == longest, updates), longest)


def _continued(updates: Lines, total: int) -> Lines:
    done, label = np.maximum(updates["position"], 0), updates["label"]
    before = np.append(0, done[:-1])
    is_new = np.append(True, label[1:] != label[:-1])
    begins_anew = (done < before) & ((before >= total) | (is_new & updates["is_epoch"]))
    rounds = np.minimum(np.cumsum(begins_anew), MAX_POSITION // max(total, 1))
    base = rounds * total
    kept = np.flatnonzero((done != 0) & (done != before))
    # What a record begins with is known where the bar was seen at its beginning since the last one.
    zero = np.maximum.accumulate(np.where(done == 0, np.arange(len(done)), -1))[kept]
    first = np.where(zero > np.append(-1, kept[:-1]), base[zero] + 1, NONE)
    # The bar shows the same time: of such updates only the last says something.
    elapsed = updates["elapsed_ms"][kept]
    is_later = np.zeros(len(kept), np.bool_)
    is_later[1:] = (done > before)[kept[1:]] & (elapsed[1:] == elapsed[:-1])
    begin = np.maximum.accumulate(np.where(is_later, 0, np.arange(len(kept))))
    is_last = np.append(~is_later[1:], True)[: len(kept)]
    lines: Lines = np.take(updates, kept[is_last])
    lines["position"] = (base + done)[kept[is_last]]
    lines["first"] = first[begin[is_last]]
    return lines
