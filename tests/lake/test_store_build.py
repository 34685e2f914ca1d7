"""A build over a lake in a bucket makes the tables that a build over one on disk makes."""

import json
from datetime import UTC, datetime

import duckdb
import pytest

from goodput.lake import Lake
from goodput.sources.typed import import_files
from goodput.warehouse.build import build
from goodput.window import Window

WINDOW = Window(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC))
TABLES = {
    "nodes": [
        {"node_uid": f"n{n}", "pool": "p", "gpus": 2, "registered_at": "2026-03-01T00:00:00Z"}
        for n in range(3)
    ],
    "jobs": [{"job": "J", "state": "failed", "ended_at": "2026-03-02T10:00:00Z"}],
    "attempts": [
        {"job": "J", "attempt": 1, "start": "2026-03-02T01:00:00Z", "end": "2026-03-02T10:00:00Z"}
    ],
    "pods": [
        {
            "pod_uid": f"pod{n}",
            "job": "J",
            "attempt": 1,
            "node_uid": f"n{n}",
            "gpus": 2,
            "bound_at": "2026-03-02T01:00:00Z",
            "ended_at": "2026-03-02T10:00:00Z",
        }
        for n in range(2)
    ],
    "steps": [
        {"job": "J", "attempt": 1, "step": n, "end": f"2026-03-02T{n:02d}:30:00Z"}
        for n in range(1, 10)
    ],
}


def tables_of(database):
    """Every row of every table but those of the build itself."""
    with duckdb.connect(str(database), read_only=True) as con:
        names = con.execute(
            "select distinct schema_name || '.' || table_name from duckdb_columns()"
            " where not internal and not list_contains($1, schema_name) order by 1",
            [["main", "raw", "meta", "catalog", "checks"]],
        ).fetchall()
        # What says when and by which run a row came differs between any two imports.
        kept = "columns(lambda name: name not in ('ingested_at', 'run_id'))"
        return {
            name: con.execute(f"select {kept} from {name} order by all").fetchall()
            for (name,) in names
        }


@pytest.mark.parametrize("compacted", [False, True])
def test_the_tables_are_the_same(s3, tmp_path, monkeypatch, compacted):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    s3.filesystem().create_dir("builds")
    typed = tmp_path / "typed"
    typed.mkdir()
    for table, rows in TABLES.items():
        (typed / f"{table}.ndjson").write_text("\n".join(map(json.dumps, rows)))
    built = []
    for place in (tmp_path / "lake", s3.url(f"builds/{compacted}")):
        lake = Lake.open(place, create=True)
        import_files(lake, typed, cluster="c")
        if compacted:
            lake.compact()
        result = build(lake, WINDOW, WINDOW.end)
        assert [check.name for check in result.checks if check.failed] == []
        assert lake.built_warehouse() == result.database
        built.append(tables_of(result.database))
    assert built[0] == built[1]
    assert {row[0] for row in built[0]["ledger.gpu_time"]} == {"c"}
    assert len(built[0]) > 100  # from what was observed to the report
