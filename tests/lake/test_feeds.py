"""The models of sql/05_observed that translate what was observed into the typed tables."""

import re

import duckdb
import pytest

from goodput import contract
from goodput.warehouse.models import find_models

OBSERVED = [model for model in find_models() if model.schema == "observed"]
TYPED = {
    model.name: model.name.rpartition("_")[0]
    for model in OBSERVED
    if model.name.rpartition("_")[0] in contract.raw_tables()
}


@pytest.mark.parametrize("feed", TYPED)
def test_a_feed_has_columns_of_its_typed_table_only(feed, warehouse):
    with duckdb.connect(str(warehouse), read_only=True) as con:
        columns = dict(
            con.execute(
                "select column_name, data_type from duckdb_columns()"
                " where schema_name = 'observed' and table_name = ?",
                [feed],
            ).fetchall()
        )
    typed = contract.columns(TYPED[feed])

    assert columns == {name: typed[name] for name in columns if name in typed}
    assert set(contract.raw_table(TYPED[feed]).required) <= set(columns)


def test_every_model_feeds_a_typed_table_or_is_read_by_another():
    texts = {model.table: model.sql for model in find_models()}
    idle = {
        model.table
        for model in OBSERVED
        if model.name not in TYPED
        and not any(
            re.search(rf"\b{model.table}\b", text)
            for table, text in texts.items()
            if table != model.table
        )
    }

    assert idle == set()
