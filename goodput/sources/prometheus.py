"""`collect prometheus`: hours of samples, as runs of equal values, from where the lake ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise, zip_longest

from goodput.errors import SourceUnreachable
from goodput.lake import Lake
from goodput.sources.prometheus_answer import Series
from goodput.sources.prometheus_http import Prometheus, Span, TooMuch
from goodput.sources.prometheus_queries import Query
from goodput.sources.prometheus_runs import SLICE_MS, RunCollector
from goodput.sources.publisher import Publisher
from goodput.texts import counted

STATES, SLICES = "prom_states", "prom_slices"

_NEWEST = f"""
    select query, epoch_ms(max("to")) as end_ms, sum(samples) > 0 as is_sampled
    from raw.{SLICES} where cluster = $cluster
    group by query
"""

_PUBLISH_ROWS = 10_000
_MOST_HOURS = 24
_MOST_PARTS = 60  # of an hour: minutes
_USUAL_SAMPLES_AN_HOUR = 120  # of one series, at the usual 30 s
_LONGEST_WARNING = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Plan:
    """What to collect.

    Attributes:
        start: None continues where the lake ends, with `overlap`; without anything there, `first`
            before the end.
        end: only whole hours before it are taken.
        matchers: PromQL label matchers added to every query, such as `cluster="prod-1"`.
        samples_at_once: about how many samples one request may ask for.
    """

    cluster: str
    queries: Sequence[Query]
    end: datetime
    start: datetime | None = None
    matchers: Sequence[str] = ()
    overlap: timedelta = timedelta(hours=1)
    first: timedelta = timedelta(hours=24)
    samples_at_once: int = 2_000_000


@dataclass
class Collected:
    """What was collected.

    Attributes:
        samples: samples read.
        rows_added: rows by table that the lake did not have; empty if nothing was recorded.
        warnings: what servers warned of, each once.
        absent: queries without a single sample.
    """

    samples: int = 0
    rows_added: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)


def collect_prometheus(
    lake: Lake,
    server: Prometheus,
    plan: Plan,
    *,
    now: datetime,
    say: Callable[[str], None] = lambda _: None,
) -> Collected:
    """Brings the samples of whole hours into the lake, known from `now` on.

    Hours are published in their order, whole ones only: whoever comes after a killed run begins
    where it ended. The same hours read again give the same rows, and the lake has them already.

    A lake without any sample of the cluster records nothing before the first one comes: as long as
    nothing ever fitted, who asked may have asked wrongly, and the next run is to ask again.

    Raises:
        SourceUnreachable: the server stopped answering; what was read until then is in the lake.
    """
    collected = Collected()
    publisher = Publisher(
        lake, server.url, lambda: now, cluster=plan.cluster, publish_rows=_PUBLISH_ROWS
    )
    # Each thread would hold buffers of its own, and there is little to do at once.
    publisher.con.execute("set threads = 1")
    newest = newest_slices(lake, plan.cluster, {query.name for query in plan.queries})
    gate = _Gate(publisher, plan.cluster, is_open=bool(newest))
    end_ms = _epoch_ms(plan.end) // SLICE_MS * SLICE_MS
    try:
        for query in plan.queries:
            start_ms = _start_ms(plan, newest.get(query.name), end_ms)
            samples = 0
            for stretch in _stretches(server, query, plan, start_ms, end_ms):
                samples += stretch.samples
                gate.take(query, stretch)
                _note(collected.warnings, stretch.warnings, say)
            collected.samples += samples
            if samples:
                hours = counted((end_ms - start_ms) // SLICE_MS, "hour")
                say(f"{query.name}: {counted(samples, 'sample')} in {hours}")
            elif start_ms < end_ms:
                collected.absent.append(query.name)
    finally:
        publisher.flush()
        publisher.close()
        collected.rows_added = publisher.rows_added
    if collected.absent:
        say(f"no samples of: {', '.join(collected.absent)}")
    elif not collected.samples:
        say("there is no whole hour to ask for")
    return collected


def newest_slices(lake: Lake, cluster: str, names: set[str]) -> dict[str, int]:
    """The end of the newest hour that the lake has of each query, in milliseconds.

    Nothing if no hour of the cluster has a sample: to have asked for them proves nothing.
    """
    newest: dict[str, int] = {}
    is_sampled = False
    snapshot = lake.snapshot()
    days = {entry.day for entry in snapshot.entries if entry.table == SLICES}
    for day in sorted(days, reverse=True):
        if is_sampled and names <= set(newest):
            break
        for row in snapshot.ask(SLICES, _NEWEST, {"cluster": cluster}, days=[day]):
            newest[row["query"]] = max(newest.get(row["query"], 0), row["end_ms"])
            is_sampled = is_sampled or row["is_sampled"]
    return newest if is_sampled else {}


@dataclass(frozen=True)
class _Stretch:
    """Whole hours of a query."""

    start_ms: int
    end_ms: int
    runs: RunCollector
    warnings: tuple[str, ...]

    @property
    def samples(self) -> int:
        return sum(self.runs.samples.values())

    @property
    def hours(self) -> range:
        return range(self.start_ms, self.end_ms, SLICE_MS)


class _Gate:
    """Hands stretches over to be published, from the first one with a sample on.

    What waits is without samples: only the borders of its hours take room.
    """

    def __init__(self, publisher: Publisher, cluster: str, *, is_open: bool) -> None:
        self._publisher = publisher
        self._cluster = cluster
        self._is_open = is_open
        self._waiting: list[tuple[Query, _Stretch]] = []

    def take(self, query: Query, stretch: _Stretch) -> None:
        self._waiting.append((query, stretch))
        self._is_open = self._is_open or stretch.samples > 0
        if self._is_open:
            for each in self._waiting:
                _publish(self._publisher, self._cluster, *each)
            self._waiting.clear()


def _stretches(
    server: Prometheus, query: Query, plan: Plan, start_ms: int, end_ms: int
) -> Iterator[_Stretch]:
    """The hours of a query, as many at once as keep an answer near the wanted size.

    What the server refuses is asked again by half: fewer hours, then parts of an hour.
    """
    selector = query.selector(plan.matchers)
    at, hours, most, parts, is_steady = start_ms, 1, _MOST_HOURS, 1, False
    before = server.count_series(selector, at) if at < end_ms else 0
    while at < end_ms:
        hours = min(hours, most, (end_ms - at) // SLICE_MS)
        after = server.count_series(selector, at + hours * SLICE_MS)
        rate = max(before, after, 1) * _USUAL_SAMPLES_AN_HOUR
        hours = max(min(hours, plan.samples_at_once // rate), 1)
        if hours == 1:
            parts = min(max(parts, -(-rate // plan.samples_at_once)), _MOST_PARTS)
        stop = at + hours * SLICE_MS
        spans = _parts(at, stop, parts)
        after_stop = min(stop + hours * SLICE_MS, end_ms)
        following = _parts(stop, after_stop, parts)[:1] if is_steady and stop < end_ms else []
        try:
            stretch = _read(server, query, selector, spans, following)
        except TooMuch as refusal:
            if hours == 1 and 2 * parts > _MOST_PARTS:
                raise SourceUnreachable(
                    f"{server.url} refuses even a minute of {query.name}: {refusal};"
                    " narrow it with --match, or raise the server's limits"
                ) from None
            most, parts = max(hours // 2, 1), parts * (2 if hours == 1 else 1)
            is_steady = False
            continue
        yield stretch
        at, before = stop, after
        fitting = max(plan.samples_at_once * hours // max(stretch.samples, 1), 1)
        # A size that about fits is kept: what comes next can then be asked for ahead.
        is_steady = parts > 1 or (fitting >= hours and (fitting < 2 * hours or hours == most))
        if not is_steady:
            hours = min(4 * hours, fitting)


def _parts(start_ms: int, end_ms: int, parts: int) -> list[Span]:
    length_ms = end_ms - start_ms
    edges = [start_ms + length_ms * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


def _read(
    server: Prometheus, query: Query, selector: str, spans: list[Span], following: list[Span]
) -> _Stretch:
    """Whole hours, in one answer for each span; after them, those that follow will be read."""
    runs = RunCollector(query)
    warnings: dict[str, None] = {}
    for span, then in zip_longest(spans, [*spans[1:], *following]):
        part, answer = server.read_range(selector, span, _taker(query, span), then=then)
        runs.absorb(part)
        warnings |= dict.fromkeys(text[:_LONGEST_WARNING] for text in answer.warnings)
    return _Stretch(spans[0][0], spans[-1][1], runs, tuple(warnings))


def _taker(query: Query, span: Span) -> Callable[[Iterator[Series]], RunCollector]:
    def take(all_series: Iterator[Series]) -> RunCollector:
        collector = RunCollector(query)  # a new one for each try
        for series in all_series:
            collector.take(series, *span)
        return collector

    return take


def _publish(publisher: Publisher, cluster: str, query: Query, stretch: _Stretch) -> None:
    """Hands over the rows, states first: an hour with a slice is there whole."""
    states = list(stretch.runs.finish())
    series = Counter(
        hour
        for hour, _ in {(run.first_ms // SLICE_MS * SLICE_MS, labels) for labels, run in states}
    )
    publisher.take_columns(
        STATES,
        {
            "cluster": [cluster] * len(states),
            "query": [query.name] * len(states),
            "labels": [labels for labels, _ in states],
            "value": [run.value for _, run in states],
            "from": [_instant(run.first_ms) for _, run in states],
            "last_at": [_instant(run.last_ms) for _, run in states],
            "samples": [run.samples for _, run in states],
            "interval_ms": [run.interval_ms for _, run in states],
        },
    )
    hours = stretch.hours
    publisher.take_columns(
        SLICES,
        {
            "cluster": [cluster] * len(hours),
            "query": [query.name] * len(hours),
            "from": [_instant(hour) for hour in hours],
            "to": [_instant(hour + SLICE_MS) for hour in hours],
            "series": [series.get(hour, 0) for hour in hours],
            "samples": [stretch.runs.samples.get(hour, 0) for hour in hours],
            "warnings": ["; ".join(stretch.warnings) or None] * len(hours),
        },
    )


def _start_ms(plan: Plan, newest_ms: int | None, end_ms: int) -> int:
    if plan.start is not None:
        start_ms = _epoch_ms(plan.start)
    elif newest_ms is not None:
        start_ms = newest_ms - _span_ms(plan.overlap)
    else:
        start_ms = end_ms - _span_ms(plan.first)
    return start_ms // SLICE_MS * SLICE_MS


def _note(known: list[str], warnings: Iterable[str], say: Callable[[str], None]) -> None:
    for text in warnings:
        if text not in known:
            known.append(text)
            say(f"the server warns: {text}")


def _epoch_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _instant(epoch_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=epoch_ms)


def _span_ms(span: timedelta) -> int:
    return round(span.total_seconds() * 1000)
