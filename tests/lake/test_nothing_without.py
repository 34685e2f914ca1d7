"""What `-- nothing without: <tables>` in the header of a model says, proved from DuckDB's plans.

Where a table is replaced by no rows at all, the optimizer cuts what needs it. What is left must
give no row whatever the other tables hold, so plans are made without regard to what they hold.
"""

import json

import pytest
from tables import make_empty_warehouse, open_warehouse

from goodput import contract
from goodput.warehouse.build import restore_variables
from goodput.warehouse.emptiness import _ROWS_OF_THEIR_OWN
from goodput.warehouse.models import find_models

CLAIMS = [(model, table) for model in find_models() for table in model.listed("nothing without")]

# What such a join needs rows of: of both of its sides, of the left or of the right.
_NEEDS = {"INNER": any, "SEMI": any, "RIGHT_SEMI": any, "LEFT": lambda sides: sides[0]} | {
    "ANTI": lambda sides: sides[0],
    "RIGHT": lambda sides: sides[1],
    "RIGHT_ANTI": lambda sides: sides[1],
}


def gives_nothing(node, steps=frozenset()):
    """Whether a part of a plan gives no row.

    Args:
        steps: the numbers of the common table expressions that give none.
    """
    name, info = node["name"].strip(), node["extra_info"]
    if name == "CTE":
        step, rest = node["children"]
        return gives_nothing(
            rest, steps | {info["Table Index"]} if gives_nothing(step, steps) else steps
        )
    if name == "CTE_SCAN":
        return info["CTE Index"] in steps
    parts = [gives_nothing(child, steps) for child in node["children"]]
    if name.endswith("JOIN"):
        return _NEEDS.get(info.get("Join Type"), all)(parts)
    if name == "CROSS_PRODUCT":
        return any(parts)
    if name == "UNGROUPED_AGGREGATE":  # one row, of nothing
        return False
    return name == "EMPTY_RESULT" or (bool(parts) and all(parts))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    """Every table there is, also the raw ones, which are views of files else."""
    con = open_warehouse(make_empty_warehouse(tmp_path_factory.mktemp("empty")))
    restore_variables(con)
    con.execute("set disabled_optimizers = 'statistics_propagation'")
    for table in contract.raw_tables():
        columns = contract.columns(table).items()
        declared = ", ".join(f"{contract.quoted(name)} {kind}" for name, kind in columns)
        con.execute(f"drop view raw.{table}")
        con.execute(f"create table raw.{table} ({declared})")
    yield con
    con.close()


@pytest.fixture
def plan_without(warehouse):
    """The plan of a SELECT while some tables give no row."""

    def plan(sql, *tables):
        warehouse.execute("begin")
        try:
            for table in tables:
                _replace_by_nothing(warehouse, table, has_rowid="rowid" in sql)
            [(_, text)] = warehouse.execute(f"explain (format json) {sql}").fetchall()
        finally:
            warehouse.execute("rollback")
        [root] = json.loads(text)
        return root

    return plan


def _replace_by_nothing(con, table, *, has_rowid):
    columns = con.execute(f"describe {table}").fetchall()
    nulls = [f"null::{kind} as {contract.quoted(name)}" for name, kind, *_ in columns]
    if has_rowid:
        nulls.append("null::bigint as rowid")
    schema, name = table.split(".")
    views = "select view_name from duckdb_views() where schema_name = ? and view_name = ?"
    kind = "view" if con.execute(views, [schema, name]).fetchall() else "table"
    con.execute(f"drop {kind} {table}")
    con.execute(f"create view {table} as select {', '.join(nulls)} where false")


@pytest.mark.parametrize(
    ("model", "table"), CLAIMS, ids=[f"{model.table} {table}" for model, table in CLAIMS]
)
def test_a_model_makes_no_row_without_what_its_header_names(model, table, plan_without):
    assert table in model.reads
    assert not gives_nothing(plan_without(model.sql))
    assert gives_nothing(plan_without(model.sql, table))


def test_a_model_makes_no_row_where_it_has_nothing_to_read(plan_without):
    unproved = {
        model.table
        for model in find_models()
        if model.schema != "raw"
        and model.reads
        and not gives_nothing(plan_without(model.sql, *model.reads))
    }

    # Plans do not tell of a recursion, or of sums that a filter leaves out; that these make no row
    # of nothing, test_emptiness.py has seen.
    assert unproved - _ROWS_OF_THEIR_OWN == {
        "observed.admission_points",
        "intervals.change_candidates",
        "report.inputs",
    }


@pytest.mark.parametrize(
    ("sql", "is_proved"),
    [
        ("from staged.jobs", True),
        ("select job from staged.jobs group by job", True),
        ("select count(*) from staged.jobs", False),
        ("from staged.jobs union all from staged.jobs", True),
        ("select job from staged.jobs union all select job from staged.attempts", False),
        ("select 1 from staged.jobs join staged.attempts using (cluster, job)", True),
        ("select 1 from staged.attempts left join staged.jobs using (cluster, job)", False),
        ("select 1 from staged.jobs left join staged.attempts using (cluster, job)", True),
        ("select 1 from staged.jobs full join staged.attempts using (cluster, job)", False),
        ("from staged.attempts anti join staged.jobs using (cluster, job)", False),
        ("from staged.attempts semi join staged.jobs using (cluster, job)", True),
        ("from staged.attempts where job not in (select job from staged.jobs)", False),
        ("from staged.attempts where (select count(*) from staged.jobs) = 0", False),
    ],
)
def test_a_plan_proves_what_is_so_and_no_more(sql, is_proved, plan_without):
    assert gives_nothing(plan_without(sql, "staged.jobs")) == is_proved
