"""What a build need not compute where there is nothing to read; its tables are the same."""

import json
from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from goodput.lake import Lake
from goodput.warehouse import build as builds
from goodput.warehouse import checks, emptiness
from goodput.warehouse.build import build
from goodput.warehouse.checks import CheckResult, repeat_checks
from goodput.warehouse.connection import connect
from goodput.warehouse.emptiness import EmptyTables
from goodput.warehouse.models import find_models, parse_model
from goodput.window import Window

START = datetime(2026, 3, 2, tzinfo=UTC)
DAY = Window(START, START + timedelta(days=1))
MODELS = [model for model in find_models() if model.schema != "raw"]


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """The build of a lake that holds nothing, in which every model was computed."""
    lake = Lake.open(tmp_path_factory.mktemp("computed") / "lake", create=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EmptyTables, "imply", lambda *_: False)
        return build(lake, DAY, DAY.end).database


def test_what_is_implied_to_be_empty_is_so_where_it_is_computed(computed):
    with connect(computed, read_only=True) as con:
        tables = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables()"
            " union all select schema_name || '.' || view_name from duckdb_views()"
            " where not internal"
        ).fetchall()
        rows = {name: len(con.execute(f"from {name} limit 1").fetchall()) for (name,) in tables}
    empty = EmptyTables(MODELS, {})
    for name, some in rows.items():
        empty.note(name, is_empty=not some)

    implied = {model.table for model in MODELS if empty.imply(model)}
    read_nothing = {model.table for model in MODELS if model.reads and empty.hold(model.reads)}

    assert [name for name in sorted(implied) if rows[name]] == []
    assert read_nothing - implied == emptiness._ROWS_OF_THEIR_OWN
    assert {model.table for model in MODELS if model.schema == "observed"} <= implied


def test_tables_that_are_not_computed_have_the_same_columns(computed, warehouse):
    def columns(path):
        with connect(path, read_only=True) as con:
            return con.execute(
                "select schema_name, table_name, column_name, data_type, is_nullable"
                " from duckdb_columns() where not internal order by all"
            ).fetchall()

    assert columns(warehouse) == columns(computed)


def parts_of(tree):
    """Every part of a parsed statement that has fields."""
    if isinstance(tree, dict):
        yield tree
    for item in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(item, dict | list):
            yield from parts_of(item)


def test_a_model_knows_every_table_that_it_reads():
    for model in MODELS:
        [(text,)] = duckdb.execute("select json_serialize_sql(?)", [model.sql]).fetchall()
        parts = list(parts_of(json.loads(text)))
        steps = {entry["key"] for part in parts for entry in part.get("cte_map", {}).get("map", [])}
        named = {
            (part["schema_name"], part["table_name"])
            for part in parts
            if part.get("type") == "BASE_TABLE" and part["schema_name"] != "catalog"
        }
        assert named or not model.reads, model.table
        assert {name for schema, name in named if not schema} <= steps, model.table
        assert {f"{schema}.{name}" for schema, name in named if schema} <= model.reads, model.table


def test_a_model_with_one_filled_table_to_read_is_computed():
    model = next(model for model in MODELS if model.table == "observed.event_objects")
    assert len(model.reads) > 1
    empty = EmptyTables(MODELS, {})
    for name in model.reads:
        assert not empty.imply(model)
        empty.note(name, is_empty=True)
    assert empty.imply(model)

    empty.note(name, is_empty=False)
    assert not empty.imply(model)


def test_a_model_that_reads_no_table_is_computed():
    model = next(model for model in MODELS if model.table == "staged.exit_rules")
    assert model.reads == frozenset()
    assert not EmptyTables(MODELS, {}).imply(model)


def test_other_models_have_other_columns(tmp_path):
    path = tmp_path / "10_staged" / "100_things.sql"
    path.parent.mkdir()
    made = []
    with connect() as con:
        con.execute("create schema staged")
        for columns in ("1 as a, 'x' as b", "true as b", "1 as a, 'x' as b"):
            path.write_text(f"select {columns} from (values (1))\n")
            model = parse_model(path)
            EmptyTables([model], {}).make(con, model)
            made.append(con.execute("describe staged.things").fetchall())
            con.execute("drop table staged.things")

    types = [[(name, kind) for name, kind, *_ in columns] for columns in made]
    both = [("a", "INTEGER"), ("b", "VARCHAR")]
    assert types == [both, [("b", "BOOLEAN")], both]


def test_a_feed_that_is_empty_is_left_out_of_what_is_gathered(warehouse):
    with connect(warehouse, read_only=True) as con:
        [(sql,)] = con.execute(
            "select sql from duckdb_views() where schema_name = 'gathered' and view_name = 'pods'"
        ).fetchall()
    assert "raw.pods" in sql
    assert "observed" not in sql


@pytest.mark.parametrize(("rows_of_a_group", "threads"), [(0, 1), (-1, 2)])
def test_a_lake_of_a_few_rows_is_built_by_one_thread(
    tmp_path, monkeypatch, rows_of_a_group, threads
):
    seen = []

    def note(con, *_):
        con.execute("select current_setting('threads')")
        seen.extend(con.fetchall())
        return []

    def connect_with_two(path):
        con = connect(path)
        con.execute("set threads = 2")
        return con

    monkeypatch.setattr(builds, "_ROWS_OF_A_GROUP", rows_of_a_group)
    monkeypatch.setattr(builds, "connect", connect_with_two)
    monkeypatch.setattr(builds, "run_checks", note)

    build(Lake.open(tmp_path / "lake", create=True), DAY, DAY.end)

    assert seen == [(threads,)]


@pytest.mark.parametrize("together", [0, 2, 100])
def test_grains_are_checked_alike_together_and_one_by_one(tmp_path, monkeypatch, together):
    folder = tmp_path / "10_staged"
    folder.mkdir()
    contents = {"one": "(1)", "two": "(1), (2)", "twice": "(1), (1)", "often": "(1), (1), (2), (2)"}
    monkeypatch.setattr(checks, "_ROWS_TOGETHER", together)
    with connect() as con:
        con.execute("create schema staged")
        models = []
        for number, (name, rows) in enumerate(contents.items(), 100):
            path = folder / f"{number}_{name}.sql"
            path.write_text(
                f"-- Keys.\n--\n-- grain: k\n\nselect k from (values {rows}) as t (k)\n"
            )
            models.append(parse_model(path))
            con.execute(models[-1].definition)

        found = repeat_checks(con, models)

    assert found == [
        CheckResult(f"grain of staged.{name}", "error", rows, f"One row per k in staged.{name}.")
        for name, rows in (("one", 0), ("two", 0), ("twice", 1), ("often", 2))
    ]


def test_columns_are_asked_for_again_with_other_parameters():
    model = next(model for model in MODELS if model.table == "observed.event_objects")
    whole, fraction = (EmptyTables([model], {"hang_k": value}) for value in ("3", "3.5"))
    assert whole._columns is EmptyTables([model], {"hang_k": "3"})._columns
    assert whole._columns is not fraction._columns
