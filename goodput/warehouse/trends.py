"""Week against week: what changed by more than chance, on the metrics of the first screen.

The window before, and with more weeks those before it, are built anew at the same age: with the
knowledge time as long after their end as that of the current window. The lake keeps when each row
was learnt, so nothing that was published has to be stored. Where the lake did not exist yet at that
time, they are taken as they are known now.

SQL gives the sums of each job and node (sql/trends); the estimates are in goodput.estimates.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from goodput._resources import catalog_dir, resource_dir
from goodput.errors import NoData
from goodput.estimates import holm, rate_ratio, standard_error_of_ratio, two_sided_p
from goodput.lake import Lake
from goodput.warehouse.build import build
from goodput.warehouse.connection import connect
from goodput.warehouse.estimates import overdispersions
from goodput.warehouse.known import UNPAID, KnownDays, LeftOut
from goodput.window import Window

_WEEK = timedelta(days=7)
_NORMAL = 1.959963984540054
_SIGNIFICANT = 0.05
_FEWEST = 5  # of events in both, of jobs or nodes in each: fewer are counts and no rate


@dataclass(frozen=True)
class Totals:
    """What one metric of one cluster is made of.

    Attributes:
        parts: numerator and denominator of each job or node.
        rest: numerator and denominator of what belongs to none of them: time that no job held, or
            all of a rate.
        dispersion: variance over mean of the events of a rate; 1 unless they come in clusters.
    """

    parts: tuple[tuple[float, float], ...] = ()
    rest: tuple[float, float] = (0.0, 0.0)
    dispersion: float = 1.0

    def value(self) -> float | None:
        """The metric; None where nothing is underneath."""
        part = math.fsum(part for part, _ in self.parts) + self.rest[0]
        whole = math.fsum(whole for _, whole in self.parts) + self.rest[1]
        return part / whole if whole else None

    def __add__(self, other: Totals) -> Totals:
        """Both together: a job that lasted through two windows counts as two."""
        rest = (self.rest[0] + other.rest[0], self.rest[1] + other.rest[1])
        return Totals(self.parts + other.parts, rest, max(self.dispersion, other.dispersion))


Key = tuple[str, str]
"""Metric and cluster."""


@dataclass(frozen=True)
class Trend:
    """How a metric compares with before.

    Attributes:
        kind: share, rate (events over exposure) or mean_time (exposure over events).
        previous_count: jobs, nodes or events underneath; `current_count` alike.
        verdict: better, worse, changed (neither), none (no detectable change) or too_few.
        change: current minus previous for a share, current over previous for a rate or mean time;
            None where it is infinite.
        low: of the 95 % interval of the change; `high` alike. None where it is open.
        p_value: of no change, for this metric alone; `adjusted_p` over all metrics (Holm).
        detectable: about the smallest change that could have been seen; a ratio for rates.
        dispersion: of the events of a rate, as it was before: with that of the current window a
            change would pass for unrest. Above 1 negative-binomial counts are compared.
    """

    metric: str
    cluster: str
    kind: str
    previous: float | None
    current: float | None
    previous_count: int
    current_count: int
    verdict: str = "too_few"
    change: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    detectable: float | None = None
    dispersion: float | None = None


@dataclass(frozen=True)
class Trends:
    """The comparison of a window with those before it.

    Attributes:
        left_out: of the windows that were asked for, those that the lake does not know whole.
        is_same_age: whether those before were taken at the age of the current window.
    """

    window: Window
    as_of: datetime
    compared_with: list[Window]
    left_out: list[LeftOut]
    is_same_age: bool
    rows: list[Trend]


def read_trends(
    lake: Lake, warehouse: Path, params: Mapping[str, str] | None = None, weeks: int = 1
) -> Trends:
    """Compares a build with the windows before it.

    Args:
        warehouse: the DuckDB file that `build` made of the current window.
        params: of that build.
        weeks: how many windows before it are taken together; at least 1.

    Raises:
        NoData: the lake knows the fleet through none of the windows before.
    """
    window, as_of = _read_build(warehouse)
    step = -(-(window.end - window.start) // _WEEK) * _WEEK
    known = KnownDays.of(lake)
    before: dict[Window, dict[Key, Totals]] = {}
    left_out: list[LeftOut] = []
    is_same_age = True
    with TemporaryDirectory(prefix="goodput-trends-") as folder:
        for n in range(1, weeks + 1):
            previous = Window(window.start - n * step, window.end - n * step)
            reason, totals = known.gap(previous), None
            if not reason:
                target = Path(folder) / f"{n}.duckdb"
                totals = _build_totals(lake, previous, as_of - n * step, params, target)
                if not totals:
                    totals = _build_totals(lake, previous, as_of, params, target)
                    is_same_age = is_same_age and not totals
            if totals:
                before[previous] = totals
            else:
                left_out.append(LeftOut(previous, reason or UNPAID))
    if not before:
        raise _nothing_before(left_out)
    rows = compare(_pooled(before.values()), _read_totals(warehouse))
    return Trends(window, as_of, list(before), left_out, is_same_age, rows)


def trend_rows(
    lake: Lake,
    warehouse: Path,
    params: Mapping[str, str] | None = None,
    say: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """The trends against the week before as rows for a report; none where nothing was before.

    Args:
        say: told why there are none.
    """
    try:
        return [asdict(row) for row in read_trends(lake, warehouse, params).rows]
    except NoData as error:
        if say:
            say(str(error))
        return []


def _nothing_before(left_out: list[LeftOut]) -> NoData:
    start, end = left_out[-1].window.start, left_out[0].window.end
    reasons = "; ".join(map(str, reversed(left_out)))
    return NoData(
        f"the lake holds too little from {start:%Y-%m-%d} to {end:%Y-%m-%d} to compare with"
        f" ({reasons}); import or collect it first"
    )


def compare(before: Mapping[Key, Totals], now: Mapping[Key, Totals]) -> list[Trend]:
    """The trend of each metric and cluster that both sides have, in the order of the catalogue."""
    with (catalog_dir() / "trends.csv").open(encoding="utf-8", newline="") as file:
        rules = {row["metric"]: row for row in csv.DictReader(file)}
    rows: list[Trend] = []
    for cluster in sorted({cluster for _, cluster in now}):
        keys = [(metric, cluster) for metric in rules]
        trends = [
            _compared(key, rules[key[0]]["kind"], before[key], now[key])
            for key in keys
            if key in before and key in now
        ]
        rows += _judged(trends, rules)
    return rows


def _compared(key: Key, kind: str, before: Totals, now: Totals) -> Trend:
    if kind == "share":
        counts = [sum(whole > 0 for _, whole in side.parts) for side in (before, now)]
    else:
        counts = [round(side.rest[kind == "mean_time"]) for side in (before, now)]
    trend = Trend(*key, kind, before.value(), now.value(), counts[0], counts[1])
    return _share_trend(trend, before, now) if kind == "share" else _rate_trend(trend, before, now)


def _share_trend(trend: Trend, before: Totals, now: Totals) -> Trend:
    if trend.previous is None or trend.current is None:
        return trend
    if min(trend.previous_count, trend.current_count) < _FEWEST:
        return trend
    error = math.hypot(*(standard_error_of_ratio(side.parts, side.rest) for side in (before, now)))
    change = trend.current - trend.previous
    return replace(
        trend,
        verdict="none",
        change=change,
        low=change - _NORMAL * error,
        high=change + _NORMAL * error,
        p_value=two_sided_p(change, error),
        detectable=_NORMAL * error,
    )


def _rate_trend(trend: Trend, before: Totals, now: Totals) -> Trend:
    is_rate = trend.kind == "rate"
    exposures = [side.rest[is_rate] for side in (before, now)]
    events = (trend.previous_count, trend.current_count)
    if sum(events) < _FEWEST or not min(exposures) > 0:
        return trend
    dispersion = before.dispersion
    found = rate_ratio(events[0], exposures[0], events[1], exposures[1], dispersion=dispersion)
    ends = (found.ratio, found.interval.low, found.interval.high)
    change, low, high = ends if is_rate else map(_inverse, (ends[0], ends[2], ends[1]))
    return replace(
        trend,
        verdict="none",
        change=_finite(change),
        low=low,
        high=_finite(high),
        p_value=found.p_value,
        detectable=math.exp(
            _NORMAL * math.sqrt(dispersion * sum(1 / max(count, 0.5) for count in events))
        ),
        dispersion=dispersion,
    )


def _judged(trends: list[Trend], rules: Mapping[str, Mapping[str, str]]) -> list[Trend]:
    """With p-values adjusted over all metrics that could be compared, and verdicts."""
    text = (catalog_dir() / "metrics.toml").read_text(encoding="utf-8")
    directions = {name: entry["direction"] for name, entry in tomllib.loads(text).items()}
    adjusted = iter(holm([trend.p_value for trend in trends if trend.p_value is not None]))
    return [
        trend
        if trend.p_value is None
        else _with_verdict(
            replace(trend, adjusted_p=next(adjusted)),
            float(rules[trend.metric]["materiality"]),
            directions[trend.metric],
        )
        for trend in trends
    ]


def _with_verdict(trend: Trend, material: float, direction: str) -> Trend:
    no_change = 0.0 if trend.kind == "share" else 1.0
    # A ratio that is infinite came from none to some.
    change = math.inf if trend.change is None else trend.change
    is_large = abs(change - no_change) > material
    if trend.adjusted_p is None or trend.adjusted_p > _SIGNIFICANT or not is_large:
        return trend
    if direction == "none":
        return replace(trend, verdict="changed")
    return replace(
        trend, verdict="better" if (change > no_change) == (direction == "up") else "worse"
    )


def _inverse(value: float) -> float:
    return 1 / value if value else math.inf


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _pooled(windows: Iterable[Mapping[Key, Totals]]) -> dict[Key, Totals]:
    pooled: dict[Key, Totals] = {}
    for window in windows:
        for key, totals in window.items():
            pooled[key] = pooled.get(key, Totals()) + totals
    return pooled


def _build_totals(
    lake: Lake, window: Window, as_of: datetime, params: Mapping[str, str] | None, target: Path
) -> dict[Key, Totals]:
    build(lake, window, as_of, params, target=target)
    return _read_totals(target)


def _read_totals(warehouse: Path) -> dict[Key, Totals]:
    """Empty where the window holds no paid time."""
    sql = (resource_dir("sql") / "trends" / "units.sql").read_text(encoding="utf-8")
    with connect(warehouse, read_only=True) as con:
        if not con.sql("select 1 from rollups.gpu_time limit 1").fetchall():
            return {}
        rows = con.sql(sql).fetchall()
        dispersions = overdispersions(con)
    parts: dict[Key, list[tuple[float, float]]] = {}
    rests: dict[Key, tuple[float, float]] = {}
    for metric, cluster, unit, part, whole in rows:
        if unit is None:
            rests[metric, cluster] = (part, whole)
        else:
            parts.setdefault((metric, cluster), []).append((part, whole))
    return {
        key: Totals(
            tuple(parts.get(key, ())), rests.get(key, (0.0, 0.0)), dispersions.get(key, 1.0)
        )
        for key in parts.keys() | rests.keys()
    }


def _read_build(warehouse: Path) -> tuple[Window, datetime]:
    with connect(warehouse, read_only=True) as con:
        [(start, end, as_of)] = con.sql(
            "select window_start, window_end, as_of from meta.build"
        ).fetchall()
    return Window(start.astimezone(UTC), end.astimezone(UTC)), as_of.astimezone(UTC)
