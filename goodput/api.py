"""The library: a warehouse to ask in notebooks and jobs.

    import goodput
    lake = goodput.open("lake")
    lake.metrics("goodput_paid")
    lake.ledger(job="llama-70b")
    lake.sql("select state, sum(unit_ms) from ledger.gpu_time group by 1")

Answers are Polars frames; instants are UTC. Notebooks show the objects as tables, in which every
text of a cluster is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from goodput.errors import NoData
from goodput.lake import Lake
from goodput.report.document import Report
from goodput.report.result import read_result
from goodput.texts import html, html_table
from goodput.warehouse.advice import SPARE_TARGET, advise
from goodput.warehouse.advice_rows import Advice
from goodput.warehouse.connection import connect
from goodput.warehouse.explain import Explanation, explain
from goodput.warehouse.query import open_session
from goodput.warehouse.results import select_ledger, select_metrics, select_survival
from goodput.warehouse.whatif import Change, replay

_BUILD = """
select
    window_start, window_end, as_of as known_until, built_at, goodput_version,
    (select count(*) from checks.summary where row_count > 0) as checks_with_rows
from meta.build
"""
_HEADLINE = (
    "scope = 'fleet' and metric in ('goodput_paid', 'goodput_demand', 'job_success',"
    " 'node_availability_closed', 'interruptions')"
)


class Warehouse:
    """What was last built from a lake, and the lake's raw rows as they are now; read-only."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake

    def sql(self, query: str, parameters: list[Any] | None = None) -> pl.DataFrame:
        """The rows of one SELECT.

        Args:
            parameters: values for `?` or `$1` in the query.

        Raises:
            UsageError: it is no single SELECT, or DuckDB refuses it.
            NoData: it reads a model, and nothing has been built.
        """
        with open_session(self.lake, query) as session:
            return session.ask(query, _frame, parameters)

    def ledger(
        self, *, job: str | None = None, node: str | None = None, cluster: str | None = None
    ) -> pl.DataFrame:
        """Rows of ledger.gpu_time, in the order of time; only those of a job or node, if named.

        Args:
            job: the job's key, or a name or namespace/name that several jobs may have.
            node: the node's uid or name.

        Returns:
            No row for what is known and had no time in the window.

        Raises:
            UsageError: the build knows no job, node or cluster of that name.
            NoData: nothing has been built.
        """
        with self._built() as con:
            return _frame(select_ledger(con, job, node, cluster))

    def metrics(self, metric: str | None = None, *, scope: str | None = None) -> pl.DataFrame:
        """The metrics of the last build in their common shape, all or one.

        Args:
            metric: its name, such as goodput_paid.
            scope: only rows of this scope, such as fleet, pool, class or job.

        Raises:
            UsageError: no metric has that name, or none of its rows that scope.
            NoData: nothing has been built, or a window without paid GPU time.
        """
        with self._built() as con:
            return _frame(select_metrics(con, metric, scope))

    def survival(self, measure: str = "attempt", *, scope: str = "fleet") -> pl.DataFrame:
        """Kaplan and Meier's estimate of the share of spans that last longer than so many hours.

        Spans that go on, or ended otherwise, are censored; those that began before the window enter
        at the age they had. `low` and `high` are the 95 % interval by Greenwood's variance on the
        log-log scale.

        Args:
            measure: attempt (until it fails), and others that `rollups.survival` has.
            scope: fleet, or another scope of the measure, such as job_size.

        Returns:
            cluster, scope_value, hours, survival, low, high, at_risk, events; by age.

        Raises:
            UsageError: there is no such measure or scope.
            NoData: nothing has been built.
        """
        with self._built() as con:
            return _frame(select_survival(con, measure, scope))

    def report(self) -> Report:
        """The weekly report of the last build; a notebook shows its first screen.

        Raises:
            NoData: nothing has been built, or its window holds no paid GPU time.
        """
        path = self.lake.built_warehouse()
        if path is None:
            raise NoData(f"nothing has been built from {self.lake.url}; run `goodput build` first")
        return Report(read_result(path) | {"trends": [], "history": []})

    def tables(self) -> pl.DataFrame:
        """Every table that `sql` can read: schema, name, and the number of its columns."""
        return self.sql(
            "select schema_name, table_name, count(*) as columns from duckdb_columns()"
            " where not internal and not (database_name = 'warehouse' and schema_name = 'raw')"
            " group by schema_name, table_name order by schema_name, table_name"
        )

    def explain(self, target: str) -> Explanation:
        """Why a job (or JOB/ATTEMPT, or a node) lost what it lost.

        Raises:
            UsageError: nothing in the build has that name, or several things have it.
            NoData: nothing has been built.
        """
        with self._built() as con:
            return explain(con, target)

    def advice(
        self, *, price: float | None = None, spare_target: float = SPARE_TARGET
    ) -> pl.DataFrame:
        """What to change and what it gains in a week, as `goodput advise` prints it.

        Args:
            price: money per GPU-hour; None takes the prices that the build knows.
            spare_target: the share of time in which no failed node shall lack a spare.

        Raises:
            UsageError: a price that is no amount, or a target that is no share between 0 and 1.
            NoData: nothing has been built, or only by an older version.
        """
        with self._built() as con:
            found = advise(con, price=price, target=spare_target)
        columns = [column.name for column in fields(Advice) if column.name != "details"]
        return pl.DataFrame(
            {name: [getattr(one, name) for one in found] for name in columns}, strict=False
        )

    def what_if(
        self,
        *,
        checkpoint_interval_s: float | None = None,
        restart_s: float | None = None,
        spares: int = 0,
        without_nodes: Sequence[str] = (),
        job: str | None = None,
    ) -> pl.DataFrame:
        """GPU-hours per state before and after a change, as `goodput what-if` prints them.

        Args:
            checkpoint_interval_s: working seconds between checkpoints.
            restart_s: seconds from the start of a restarted attempt to its first step.
            spares: hot spare nodes in every pool that lost one, at most 100,000.
            without_nodes: names or uids of nodes that never fail.
            job: name or key of the only job that the first two go for.

        Raises:
            UsageError: nothing is changed, a value cannot be, or a node or job is not in the build.
            NoData: nothing has been built, or only by an older version.
        """
        change = Change(checkpoint_interval_s, restart_s, spares, without_nodes, job)
        with self._built() as con:
            states = replay(con, change)
        columns = ("cluster", "state", "before_gpu_hours", "after_gpu_hours", "delta_gpu_hours")
        return pl.DataFrame({name: [getattr(row, name) for row in states] for name in columns})

    def __repr__(self) -> str:
        return f"Warehouse({self.lake.url!r})"

    def _repr_html_(self) -> str:
        """What was built, by which rules, and the goodput of it; never an error."""
        title = html("b", f"goodput lake {self.lake.url}")
        if self.lake.built_warehouse() is None:
            return str(html("div", title, html("p", "Nothing has been built: run goodput build.")))
        with self._built() as con:
            [build] = _frame(con.sql(_BUILD)).to_dicts()
            metrics = _frame(select_metrics(con).filter(_HEADLINE))
        facts = [{"what": name.replace("_", " "), "is": value} for name, value in build.items()]
        columns = ("cluster", "metric", "value", "low", "high", "numerator", "denominator", "unit")
        tables = html_table(facts, ("what", "is")), html_table(metrics.to_dicts(), columns)
        return str(html("div", title, *tables))

    def _built(self) -> duckdb.DuckDBPyConnection:
        path = self.lake.built_warehouse()
        if path is None:
            raise NoData(f"nothing has been built from {self.lake.url}; run `goodput build` first")
        return connect(path, read_only=True)


def open_warehouse(url: str | Path) -> Warehouse:
    """The warehouse of the lake at a folder or URL.

    Raises:
        NoData: there is no lake.
        SourceUnreachable: the place cannot be reached.
    """
    return Warehouse(Lake.open(url))


def _frame(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    frame: pl.DataFrame = relation.pl()
    return frame
