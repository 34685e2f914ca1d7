"""Turns samples into runs of equal values, hour by hour, with the holes between them left open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median_low

import msgspec

from goodput.sources.prometheus_answer import BadAnswer, Series
from goodput.sources.prometheus_queries import Query

SLICE_MS = 3_600_000
"""Runs are cut where a UTC hour begins."""

GAP_FACTOR = 2.5
"""Samples farther apart than this many scrape intervals have a hole between them."""

ASSUMED_INTERVAL_MS = 60_000
"""Scrape interval where there are too few samples to measure it."""

_MEASURABLE = 3
_samples = msgspec.json.Decoder(list[tuple[float, str]])


class Run(msgspec.Struct, gc=False):
    """Equal samples without a hole; instants in milliseconds since the epoch."""

    value: str
    first_ms: int
    last_ms: int
    samples: int
    interval_ms: int


@dataclass(frozen=True)
class TextRun:
    """Samples of equal text in one hour without a hole."""

    text: str
    first_ms: int
    last_ms: int
    samples: int
    interval_ms: int


class RunCollector:
    """Takes the series of a stretch of whole hours, possibly in several answers.

    Attributes:
        samples: samples by hour, whatever they say.
    """

    def __init__(self, query: Query) -> None:
        self.samples: dict[int, int] = {}
        self._query = query
        self._runs: dict[tuple[int, str], list[Run]] = {}

    def take(self, series: Series, start_ms: int, end_ms: int) -> int:
        """Adds the samples in [start_ms, end_ms) of a series; returns how many there were."""
        taken = 0
        labels: str | None = None
        for hour, text_runs in _text_runs(bytes(series.values), start_ms, end_ms):
            count = sum(run.samples for run in text_runs)
            taken += count
            self.samples[hour] = self.samples.get(hour, 0) + count
            runs = list(self._meant(series, text_runs))
            if runs:
                labels = labels or self._query.kept_labels(series.metric)
                self._runs.setdefault((hour, labels), []).extend(runs)
        return taken

    def absorb(self, part: RunCollector) -> None:
        """Adds what another one collected in another part of the same stretch."""
        for hour, count in part.samples.items():
            self.samples[hour] = self.samples.get(hour, 0) + count
        for key, runs in part._runs.items():
            self._runs.setdefault(key, []).extend(runs)

    def _meant(self, series: Series, runs: Iterable[TextRun]) -> Iterator[Run]:
        for run in runs:
            value = self._query.value_of(series.metric, run.text)
            if value is not None:
                yield Run(value, run.first_ms, run.last_ms, run.samples, run.interval_ms)

    def finish(self) -> Iterator[tuple[str, Run]]:
        """The runs with their labels, by hour and labels; the collector is empty then."""
        for (_, labels), runs in sorted(self._runs.items()):
            for run in fused(runs):
                yield labels, run
        self._runs = {}


def fused(runs: list[Run]) -> list[Run]:
    """Runs of the same series put together where they touch or overlap and say the same."""
    whole: list[Run] = []
    for run in sorted(runs, key=lambda r: (r.first_ms, r.last_ms, r.value)):
        last = whole[-1] if whole else None
        if last is None or last.value != run.value or _is_hole(last, run):
            whole.append(run)
            continue
        weight = max((last, run), key=lambda r: r.samples)
        whole[-1] = Run(
            run.value,
            last.first_ms,
            max(last.last_ms, run.last_ms),
            last.samples + run.samples,
            weight.interval_ms,
        )
    return whole


def _is_hole(run: Run, after: Run) -> bool:
    return after.first_ms - run.last_ms > GAP_FACTOR * max(run.interval_ms, after.interval_ms)


@lru_cache(maxsize=32)
def _text_runs(
    values: bytes, start_ms: int, end_ms: int
) -> tuple[tuple[int, tuple[TextRun, ...]], ...]:
    """Hours with their runs of equal text.

    Remembered, since the series of one target are sampled at the same instants: thousands of them
    have the very same bytes, and only those in which something happened differ.
    """
    try:
        samples = _samples.decode(values)
    except msgspec.MsgspecError as error:
        raise BadAnswer(f"samples in it cannot be read: {error}") from None
    hours: dict[int, list[tuple[int, str]]] = {}
    for seconds, text in samples:
        at = round(seconds * 1000)
        if start_ms <= at < end_ms:
            hours.setdefault(at // SLICE_MS * SLICE_MS, []).append((at, text))
    return tuple((hour, _cut(_in_order(inside))) for hour, inside in sorted(hours.items()))


def _in_order(samples: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """One sample an instant, in the order of time, as nearly every server gives them anyway."""
    if all(before[0] < after[0] for before, after in pairwise(samples)):
        return samples
    return list(dict(sorted(samples)).items())


def _cut(samples: list[tuple[int, str]]) -> tuple[TextRun, ...]:
    """Runs of the samples of an hour."""
    interval = _interval(samples)
    longest = GAP_FACTOR * interval
    runs: list[TextRun] = []
    begin = 0
    for index in range(1, len(samples) + 1):
        if index < len(samples):
            at, text = samples[index]
            before, text_before = samples[index - 1]
            if text == text_before and at - before <= longest:
                continue
        first, last = samples[begin], samples[index - 1]
        runs.append(TextRun(first[1], first[0], last[0], index - begin, interval))
        begin = index
    return tuple(runs)


def _interval(samples: list[tuple[int, str]]) -> int:
    """The scrape interval: what lies between most samples."""
    steps = [after[0] - before[0] for before, after in pairwise(samples)]
    steps = [step for step in steps if step > 0]
    return median_low(steps) if len(steps) >= _MEASURABLE else ASSUMED_INTERVAL_MS
