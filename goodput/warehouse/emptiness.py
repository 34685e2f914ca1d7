"""Tables that hold nothing: what reads only such tables holds nothing either, and is not computed.

Most of a small build is the planning of statements, and a site has no rows of most sources. A model
is a function of the tables that it reads, of the catalogue and of variables. Tests hold what is
implied here against DuckDB's plans, and against a build of the empty lake that computes it all.

`-- nothing without: <tables>` in the header of a model says that it makes no row where one of these
is empty, whatever else it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import duckdb

from goodput.contract import quoted
from goodput.warehouse.models import Model

_ROWS_OF_THEIR_OWN = frozenset(
    ("intervals.charges", "report.failure_counts", "report.not_observed")
)
"""What these hold is not all read from tables of the build."""


class EmptyTables:
    """The tables of one build that are known to hold nothing, as far as it has come."""

    def __init__(self, models: Iterable[Model], params: Mapping[str, str]) -> None:
        """Begins with none.

        Args:
            params: overrides of the parameters, whose types show in columns.
        """
        self._names: set[str] = set()
        sources = tuple(model.sql for model in models)
        self._columns = _columns_of(sources, tuple(sorted(params.items())))

    def __contains__(self, table: str) -> bool:
        return table in self._names

    def note(self, table: str, *, is_empty: bool) -> None:
        """Remembers how a table was made last; those of the ledger are made for each half too."""
        if is_empty:
            self._names.add(table)
        else:
            self._names.discard(table)

    def hold(self, tables: Iterable[str]) -> bool:
        """Whether all of these tables are empty."""
        return self._names.issuperset(tables)

    def imply(self, model: Model) -> bool:
        """Whether a model has nothing to read, or not what its header needs: it makes no row."""
        if not self._names.isdisjoint(model.listed("nothing without")):
            return True
        return (
            bool(model.reads) and self.hold(model.reads) and model.table not in _ROWS_OF_THEIR_OWN
        )

    def make(self, con: duckdb.DuckDBPyConnection, model: Model) -> None:
        """Makes the table of a model without a row."""
        if model.table not in self._columns:
            columns = con.execute(f"describe {model.sql}").fetchall()
            self._columns[model.table] = ", ".join(
                f"{quoted(name)} {kind}" for name, kind, *_ in columns
            )
        con.execute(f"create table {model.table} ({self._columns[model.table]})")


@cache
def _columns_of(_models: tuple[str, ...], _params: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Columns with their types by table, as far as they were asked for: while a process has the
    same models and parameters, it need not ask DuckDB again.
    """
    return {}
