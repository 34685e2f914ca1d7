"""What is exported of a built warehouse: its metrics, and the families beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from goodput.exported import metric_families, own_families
from goodput.exposition import Family, exposition
from goodput.warehouse.connection import connect
from goodput.warehouse.named import unknown
from goodput.warehouse.results import select_metrics


def export_text(warehouse: Path, scopes: Collection[str] = ()) -> str:
    """The exposition text of a built warehouse.

    Args:
        warehouse: the DuckDB file that `build` made.
        scopes: only series of these scopes; none means all.

    Raises:
        UsageError: no series has one of the scopes.
        NoData: the build made no metrics.
    """
    with connect(warehouse, read_only=True) as con:
        return exposition(of_scopes(read_families(con), scopes))


def read_families(con: duckdb.DuckDBPyConnection) -> list[Family]:
    """Everything that is exported of a built warehouse, in a stable order.

    Raises:
        NoData: the build made no metrics.
    """
    own = [
        Family(entry["name"], entry["help"], list(_samples(_rows(con.sql(entry["sql"])))))
        for entry in own_families()
    ]
    return own + metric_families(_rows(select_metrics(con)))


def of_scopes(families: Iterable[Family], scopes: Collection[str]) -> list[Family]:
    """The families with only the series of some scopes, and those that have no scope.

    Args:
        scopes: none means all.

    Raises:
        UsageError: no series has one of the scopes.
    """
    families = list(families)
    known = {
        labels["scope"] for family in families for labels, _ in family.samples if "scope" in labels
    }
    for scope in scopes:
        if scope not in known:
            raise unknown("scope", scope, known)
    return [
        replace(
            family,
            samples=[
                (labels, value)
                for labels, value in family.samples
                if not scopes or labels.get("scope") in (None, *scopes)
            ],
        )
        for family in families
    ]


def _samples(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[dict[str, str], float]]:
    for row in rows:
        labels = {name: text or "" for name, text in row.items() if name != "value"}
        if row["value"] is not None:
            yield labels, row["value"]


def _rows(relation: duckdb.DuckDBPyRelation) -> Iterator[dict[str, Any]]:
    columns = relation.columns
    for values in relation.fetchall():
        yield dict(zip(columns, values, strict=True))
