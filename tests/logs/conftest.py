"""A warehouse of sql/05_observed/2xx alone, filled with what read_log gives."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest

from goodput.contract import raw_table
from goodput.logs import LogHints, read_log
from goodput.rows import load
from goodput.warehouse.build import load_catalog, load_macros, set_variables
from goodput.warehouse.connection import connect
from goodput.warehouse.models import find_models
from goodput.window import Window

DAY = datetime(2026, 1, 5, tzinfo=UTC)


class Observed:
    """Raw tables to fill, then observed tables to look at."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        load_catalog(con)
        load_macros(con)
        set_variables(con, Window(DAY, DAY + timedelta(days=7)), DAY + timedelta(days=7), {})
        con.execute("create schema raw")
        con.execute("create schema observed")
        self.models = find_models()
        for model in self.models:
            if model.schema == "raw":
                con.execute(model.sql)

    def log(self, path: str, text: str, **hints: Any) -> None:
        """Reads a log and stores its rows."""
        known_at = hints.pop("known_at", None)
        result = read_log(io.BytesIO(text.encode()), LogHints(path=path, **hints))
        for table, rows in result.tables.items():
            self.put(table, [{**row, "ingested_at": known_at} for row in rows])

    def put(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Stores rows of a raw table."""
        if rows:
            names = dict.fromkeys(name for row in rows for name in row)
            columns = {name: [row.get(name) for row in rows] for name in names}
            load(self.con, "some rows", raw_table(table), columns)
            self.con.execute(f'insert into raw.{table} by name select * from "some rows"')

    def pod(self, uid: str, *, start: int, end: int | None, **columns: Any) -> None:
        """Stores a pod that was bound and released at seconds of the day."""
        row = {"cluster": "default", "pod_uid": uid, "bound_at": DAY + timedelta(seconds=start)}
        released = {"released_at": None if end is None else DAY + timedelta(seconds=end)}
        self.put("pods", [{**row, **released, **columns}])

    def job(self, job: str, *, name: str, starts: list[int], cluster: str = "default") -> None:
        """Stores a job with attempts that began at seconds of the day."""
        key = {"cluster": cluster, "job": job}
        self.put("jobs", [{**key, "name": name}])
        rows = [
            {**key, "attempt": number, "start": DAY + timedelta(seconds=second)}
            for number, second in enumerate(starts, 1)
        ]
        self.put("attempts", rows)

    def build(self) -> None:
        """Makes the observed tables of logs; no Kubernetes object has been seen."""
        for table in ("nodes", "pods", "jobs", "attempts"):
            self.con.execute(
                f"create table observed.{table}_kube as select * from raw.{table} where false"
            )
        self.con.execute(
            "create table observed.container_runs (cluster varchar, pod_uid varchar, run bigint,"
            " started_at timestamptz, finished_at timestamptz)"
        )
        for model in self.models:
            if model.schema == "observed" and model.path.name.startswith("2"):
                self.con.execute(f"create table {model.table} as\n{model.sql}")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query; instants as seconds of the first day."""
        return [tuple(_plain(value) for value in row) for row in self.con.sql(query).fetchall()]


def _plain(value: Any) -> Any:
    return (value - DAY).total_seconds() if isinstance(value, datetime) else value


@pytest.fixture
def observed() -> Iterator[Observed]:
    con = connect()
    yield Observed(con)
    con.close()
