"""What the lake has and how new it is, and what was built from it last."""

from __future__ import annotations

from pathlib import Path

import duckdb

from goodput.contract import quoted, raw_table
from goodput.warehouse.checks import outcome_words
from goodput.warehouse.connection import connect, in_a_sentence


def freshness_sql(tables: list[str]) -> str:
    """SQL for one row per raw table and cluster: rows, sources, and what came last and when."""
    selects = []
    for table in tables:
        day = raw_table(table).day
        event = f"max({quoted(day)})" if day else "null::timestamptz"
        selects.append(
            f"select '{table}' as table_name, cluster, count(*) as row_count,"
            f" max(ingested_at) as newest_ingested_at, {event} as newest_event,"
            " count(distinct ingested_from) as source_count,"
            " coalesce(arg_max(ingested_from, ingested_at), max(ingested_from)) as newest_source"
            f" from raw.{table} group by cluster"
        )
    return " union all ".join(selects) + " order by table_name, cluster"


def last_build(warehouse: Path | None) -> str:
    """One sentence about the last build and its checks."""
    if warehouse is None:
        return "nothing has been built yet; run `goodput build`"
    try:
        with connect(warehouse, read_only=True) as con:
            [(built, start, end, version)] = con.execute(
                "select built_at, window_start, window_end, goodput_version from meta.build"
            ).fetchall()
            [(total, failed, warned)] = con.execute(
                "select count(*), count(*) filter (where severity = 'error' and row_count > 0),"
                " count(*) filter (where severity <> 'error' and row_count > 0)"
                " from checks.summary"
            ).fetchall()
    except duckdb.Error as error:
        return f"the last build cannot be read ({in_a_sentence(error)}); run `goodput build`"
    return (
        f"last build {built:%Y-%m-%d %H:%M} UTC with goodput {version}: "
        f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}, {outcome_words(total, failed, warned)}"
    )
