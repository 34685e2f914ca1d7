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
import remote_write

from goodput.lake import Lake
from goodput.sources.prometheus import Plan, collect_prometheus
from goodput.sources.prometheus_http import Access, Prometheus
from goodput.sources.prometheus_queries import load_queries


@pytest.fixture(scope="session")
def prometheus_url(tmp_path_factory):
    """A Prometheus with the samples of prometheus_samples.py in it."""
    if not shutil.which("prometheus"):
        pytest.skip("no prometheus here; on Debian: apt-get install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "prometheus.yml").write_text("global: {}\n")
    url = f"http://127.0.0.1:{free_port()}"
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                "--storage.tsdb.retention.time=100y",
                f"--web.listen-address={url.removeprefix('http://')}",
                "--web.enable-remote-write-receiver",
                "--query.max-samples=5000",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        wait_until_ready(url, server)
        remote_write.write(url, prometheus_samples.all_series())
        yield url
    finally:
        server.terminate()
        server.wait(timeout=30)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_ready(url, server):
    for _ in range(300):
        assert server.poll() is None, "prometheus ended; see its log"
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail("prometheus did not become ready")


@pytest.fixture
def fake():
    with fake_prometheus.running() as server:
        yield server


@pytest.fixture
def lake(tmp_path):
    return Lake.open(tmp_path / "lake", create=True)


@pytest.fixture
def collect(lake):
    """Collects from a server into the lake of the test."""

    def run(url, start="00:00", end="03:00", *, names=(), now=None, queries=None, **more):
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
            return collect_prometheus(lake, server, plan, now=now or datetime.now(UTC))
        finally:
            server.close()

    return run


def instant(text):
    hours, minutes = text.split(":")
    return prometheus_samples.DAY + timedelta(hours=int(hours), minutes=int(minutes))
