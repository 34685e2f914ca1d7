import pytest

from goodput import contract
from goodput.dictionary import describe
from goodput.errors import GoodputError


def test_every_typed_table_is_declared():
    assert set(contract.TYPED_TABLES) <= set(contract.raw_tables())


def test_columns_are_read_back_from_the_ddl():
    assert contract.columns("health_checks") == {
        "cluster": "VARCHAR",
        "node_uid": "VARCHAR",
        "check": "VARCHAR",
        "required": "BOOLEAN",
        "stale_after_s": "DOUBLE",
        "beats": (
            'STRUCT("from" TIMESTAMP WITH TIME ZONE, "to" TIMESTAMP WITH TIME ZONE, '
            "every_s DOUBLE)[]"
        ),
        "ingested_at": "TIMESTAMP WITH TIME ZONE",
        "ingested_from": "VARCHAR",
        "run_id": "VARCHAR",
        "row_id": "VARCHAR",
    }


def test_rules_are_read_back_from_the_ddl():
    commitments = contract.raw_table("commitments")

    assert commitments.required == ("cluster", "pool", "gpus", "from")
    assert commitments.day == "from"
    assert commitments.checks == (
        contract.Check("(gpus BETWEEN 0 AND 1000000)", ("gpus",)),
        contract.Check('(("to" IS NULL) OR ("to" >= "from"))', ("to", "from")),
    )


def test_the_order_of_files_is_read_back_from_the_header():
    assert contract.raw_table("steps").sorted_by == ("cluster", "job", "attempt", "end")
    assert contract.raw_table("commitments").sorted_by == ("from",)
    assert contract.raw_table("step_logs").sorted_by == ()


@pytest.mark.parametrize("table", contract.raw_tables())
def test_every_raw_table_has_the_same_provenance(table):
    columns = contract.columns(table)

    assert next(iter(columns)) == "cluster"
    assert {name: columns[name] for name in contract.PROVENANCE} == {
        "ingested_at": "TIMESTAMP WITH TIME ZONE",
        "ingested_from": "VARCHAR",
        "run_id": "VARCHAR",
        "row_id": "VARCHAR",
    }
    assert "cluster" in contract.raw_table(table).required


@pytest.mark.parametrize("table", contract.raw_tables())
def test_every_raw_table_is_partitioned_by_an_instant_or_not_at_all(table):
    spec = contract.raw_table(table)
    kind = spec.day and str(spec.columns[spec.day])

    assert kind in (None, "TIMESTAMP WITH TIME ZONE")


def test_an_unknown_table_is_named():
    with pytest.raises(GoodputError, match="there is no raw table 'stages'"):
        contract.raw_table("stages")


def test_a_table_may_give_a_general_name_its_own_meaning():
    assert describe("raw.nodes", "gpus", "INTEGER").meaning == "Devices expected on the node"
    assert describe("staged.nodes", "gpus", "INTEGER").unit == "GPUs"
    assert describe("report.nodes", "gpu_count", "BIGINT").meaning == "Devices of the node"


def test_what_goes_for_a_table_goes_for_the_sources_that_feed_it():
    assert describe("observed.nodes_kube", "gpus", "").meaning == "Devices expected on the node"
    assert describe("ledger.nodes_kube", "gpus", "").meaning == ""


def test_a_schema_may_give_a_name_its_own_meaning():
    assert describe("raw.evidence", "value", "").meaning == (
        "What was seen: a number, a signature or a reason"
    )
    assert describe("views.evidence", "value", "").meaning == "Numerator over denominator"
    assert describe("views.mpg", "numerator", "").unit == "GPU-seconds"
