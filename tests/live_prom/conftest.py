"""A real Prometheus with a made-up fleet in it, and a fake one that misbehaves on demand."""

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta

import fake_prometheus
import prometheus_samples
import pytest
from tables import bench as table_bench
from tables import make_empty_warehouse, open_warehouse

from goodput.contract import raw_tables
from goodput.lake import Lake
from goodput.sources.prometheus import Plan, collect_prometheus
from goodput.sources.prometheus_http import Prometheus
from goodput.sources.prometheus_queries import load_queries
from goodput.sources.web import Access
from goodput.synth import prometheus_process, remote_write
from goodput.warehouse.models import find_models


@pytest.fixture(scope="session")
def prometheus_url(tmp_path_factory):
    """A Prometheus with the samples of prometheus_samples.py in it."""
    if not prometheus_process.is_installed():
        pytest.skip("no prometheus here; on Debian: apt-get install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus_process.running(folder, ["--query.max-samples=5000"]) as url:
        remote_write.write(url, prometheus_samples.all_series())
        yield url


@pytest.fixture(scope="session")
def victoria_url(tmp_path_factory):
    """A VictoriaMetrics with the same samples in it."""
    if not shutil.which("victoria-metrics"):
        pytest.skip("no victoria-metrics here; on Debian: apt-get install victoria-metrics")
    folder = tmp_path_factory.mktemp("victoria")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    words = [
        "victoria-metrics",
        f"-storageDataPath={folder}/data",
        f"-httpListenAddr={address}",
        "-retentionPeriod=100y",
    ]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        wait_until_ready(f"http://{address}/health", server)
        remote_write.write(f"http://{address}", prometheus_samples.all_series())
        # What was written just now is not shown yet.
        urllib.request.urlopen(f"http://{address}/internal/force_flush", timeout=30).close()
        yield f"http://{address}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def wait_until_ready(url, server):
    for _ in range(300):
        assert server.poll() is None, "the server ended; see its log"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"{url} does not answer")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    """Every table there is, the raw ones as tables that tests may fill."""
    con = open_warehouse(make_empty_warehouse(tmp_path_factory.mktemp("empty")))
    for table in raw_tables():
        con.execute(f"drop view raw.{table}")
    for model in find_models():
        if model.schema == "raw":
            con.execute(model.sql)
    yield con
    con.close()


@pytest.fixture
def bench(warehouse):
    with table_bench(warehouse, {"observed"}) as made:
        made.given(
            "raw.nodes",
            """
            cluster  node_uid  name  gpus  registered_at
            c        u-1       n-1   8     00:00
            """,
        )
        yield made


@pytest.fixture
def fake():
    with fake_prometheus.running() as server:
        yield server


@pytest.fixture
def lake(tmp_path):
    return Lake.open(tmp_path / "lake", create=True)


@pytest.fixture
def collect(lake):
    """Collects from a server into the lake of the test, or `into` another one."""

    def run(url, start="00:00", end="03:00", *, names=(), now=None, queries=None, **more):
        into = more.pop("into", None)
        access = {"first_wait_s": 0.01, "attempts": 3, "timeout_s": 10.0} | more.pop("access", {})
        plan = Plan(
            cluster=more.pop("cluster", "c"),
            queries=queries or load_queries(None, names),
            start=None if start is None else instant(start),
            end=instant(end),
            **more,
        )
        server = Prometheus(Access(url=url, **access))
        try:
            return collect_prometheus(into or lake, server, plan, now=now or datetime.now(UTC))
        finally:
            server.close()

    return run


def instant(text):
    hours, minutes = text.split(":")
    return prometheus_samples.DAY + timedelta(hours=int(hours), minutes=int(minutes))
