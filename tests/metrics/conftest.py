"""The bench for the tests of metrics and views."""

import pytest
from tables import bench, make_empty_warehouse, open_warehouse


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory):
    con = open_warehouse(make_empty_warehouse(tmp_path_factory.mktemp("empty")))
    yield con
    con.close()


@pytest.fixture
def model(warehouse):
    with bench(warehouse, rebuilds=("views", "rollups", "ledger.window_totals")) as tables:
        yield tables
