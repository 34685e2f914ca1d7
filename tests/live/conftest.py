"""A made-up cluster behind a real socket, its kubeconfig, and the lake that it is taken into."""

import threading

import duckdb
import pytest
import yaml
from fake_kubernetes import FakeKubernetes, Server

from goodput.contract import raw_table
from goodput.lake import Lake
from goodput.sources.kube_access import ClusterAccess
from goodput.sources.kube_patience import Patience
from goodput.sources.kube_snapshot import Scope, take_kubernetes
from goodput.sources.kubernetes_api import KubernetesApi
from goodput.warehouse.models import find_models
from goodput.warehouse.rawviews import raw_view_sql

HASTE = Patience(read_s=5, attempts=4, first_wait_s=0.001, longest_wait_s=0.01, jitter_s=0)


@pytest.fixture(autouse=True)
def no_other_way_in(monkeypatch, tmp_path):
    """No proxy, no kubeconfig and no pod of the machine that the tests run on."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def cluster():
    return FakeKubernetes()


@pytest.fixture
def server(cluster):
    server = Server(cluster)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def kubeconfig(server, tmp_path):
    """A kubeconfig whose token lies in a file of its own, as a projected one does."""
    (tmp_path / "token").write_text("good")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server.url}}],
        "users": [{"name": "test", "user": {"tokenFile": str(tmp_path / "token")}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def api(server, kubeconfig):
    """What `open_api` gives for the kubeconfig, without the time that signing in takes."""

    def sign_in():
        token = kubeconfig.with_name("token").read_text().strip()
        return ClusterAccess(server.url, f"Bearer {token}", None)

    api = KubernetesApi(sign_in(), sign_in, HASTE)
    yield api
    api.close()


@pytest.fixture
def lake(tmp_path):
    return Lake.open(str(tmp_path / "lake"), create=True)


@pytest.fixture
def rows(lake):
    """Chosen columns of all rows of a raw table in the lake, instants as "10:00:00"."""

    def fetch(table, columns):
        files = lake.files(table)
        if not files:
            return []
        with duckdb.connect() as con:
            con.execute("set timezone = 'UTC'")
            query = f"select {columns} from read_parquet(?) order by all"
            found = con.execute(query, [files]).fetchall()
        return [tuple(map(_short, row)) for row in found]

    return fetch


def _short(value):
    return f"{value:%H:%M:%S}" if hasattr(value, "strftime") else value


@pytest.fixture
def take(lake, api):
    def run(**scope):
        said = []
        look = take_kubernetes(lake, api, Scope(**scope), cluster="prod", say=said.append)
        return look, said

    return run


@pytest.fixture
def observed(lake):
    """What one model of 05_observed makes of the lake, instants as "10:00:00"."""

    def ask(table, columns):
        models = {model.table: model for model in find_models()}
        model, looks = models[f"observed.{table}"], models["observed.cluster_looks"]
        with duckdb.connect() as con:
            con.execute("set timezone = 'UTC'; create schema raw; create schema observed")
            for name in ("kube_objects", "kube_lists", "collector_gaps"):
                con.execute(raw_view_sql(raw_table(name), lake.files(name)))
            con.execute(f"create view {looks.table} as {looks.sql}")
            found = con.execute(f"select {columns} from ({model.sql}) order by all").fetchall()
        return [tuple(map(_clock_text, row)) for row in found]

    return ask


@pytest.fixture
def presence(observed):
    """When an object was last seen, and by when it was missing."""

    def ask(uid):
        found = observed("object_presence", "uid, last_seen_at, missing_at")
        return {key: tuple(instants) for key, *instants in found}[uid]

    return ask


def _clock_text(value):
    return f"{value:%H:%M:%S}" if hasattr(value, "strftime") else value
