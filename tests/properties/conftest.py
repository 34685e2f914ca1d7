"""One empty warehouse for all properties; an example puts its rows in and takes them out again."""

import pytest
from tables import make_empty_warehouse, open_warehouse

from goodput.warehouse.models import find_models


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory):
    con = open_warehouse(make_empty_warehouse(tmp_path_factory.mktemp("empty")))
    # A build sees raw tables through views over Parquet; here rows are put into them.
    for table in (model for model in find_models() if model.schema == "raw"):
        con.execute(f"drop view {table.table}")
        con.execute(table.sql)
    yield con
    con.close()
