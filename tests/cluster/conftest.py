"""The API server that the contract tests run on, and a lake for what is collected from it.

In the repository's own server, unless GOODPUT_TEST_KUBECONFIG names a real cluster.
"""

import os
import uuid

import duckdb
import pytest
from cluster_servers import InRepo, Real

from goodput._resources import catalog_dir, resource_dir
from goodput.contract import raw_table
from goodput.lake import Lake
from goodput.sources.kube_opening import open_api
from goodput.sources.kube_patience import Patience
from goodput.sources.kube_snapshot import Scope, take_kubernetes
from goodput.warehouse.connection import connect
from goodput.warehouse.models import find_models
from goodput.warehouse.rawviews import raw_view_sql

HASTE = Patience(read_s=20, attempts=2, first_wait_s=0.001, longest_wait_s=0.01, jitter_s=0)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(tmp_path):
    server = (Real if "GOODPUT_TEST_KUBECONFIG" in os.environ else InRepo)(tmp_path)
    yield server
    server.close()


@pytest.fixture
def own_plane(server):
    """A server of ours: it can be made to forget old versions, drops events soon, and has logs."""
    if server.is_real and "GOODPUT_TEST_ETCD" not in os.environ:
        pytest.skip("needs the control plane that `make test-cluster` starts")
    return server


@pytest.fixture
def ns(server):
    """A namespace of this test's own."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    server.namespace(name)
    return name


@pytest.fixture
def api(server):
    api = open_api(server.kubeconfig(), patience=HASTE)
    yield api
    api.close()


@pytest.fixture
def lake(tmp_path):
    return Lake.open(str(tmp_path / "lake"), create=True)


@pytest.fixture
def take(lake, api, ns):
    def run(**scope):
        chosen = Scope(**{"namespaces": (ns,), **scope})
        return take_kubernetes(lake, api, chosen, cluster="prod")

    return run


@pytest.fixture
def rows(lake):
    """Chosen columns of rows of a raw table, and a condition."""

    def fetch(table, columns, condition="true"):
        if not (files := lake.files(table)):
            return []
        with duckdb.connect() as con:
            con.execute("set timezone = 'UTC'")
            query = f"select {columns} from read_parquet(?) where {condition} order by all"
            return con.execute(query, [files]).fetchall()

    return fetch


@pytest.fixture
def observed(lake):
    """What the models of Kubernetes objects make of the lake."""

    def ask(table, columns, condition="true"):
        con = connect()
        for schema in ("catalog", "raw", "observed"):
            con.execute(f"create schema {schema}")
        for path in catalog_dir().glob("*.csv"):
            read = "read_csv(?, header = true, nullstr = '', auto_detect = true)"
            con.execute(f"create table catalog.{path.stem} as from {read}", [str(path)])
        con.execute((resource_dir("sql") / "macros.sql").read_text())
        for model in find_models():
            if model.schema == "raw":
                name = model.table.partition(".")[2]
                con.execute(raw_view_sql(raw_table(name), lake.files(name)))
            elif model.schema == "observed" and model.path.name < "2":
                con.execute(f"create table {model.table} as {model.sql}")
        query = f"select {columns} from observed.{table} where {condition} order by all"
        found = con.sql(query).fetchall()
        con.close()
        return found

    return ask
