"""What stands in for Prometheus gives collectors the rows that Prometheus gives."""

from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from goodput.lake import Lake
from goodput.sources.prometheus import Plan, collect_prometheus
from goodput.sources.prometheus_http import Prometheus
from goodput.sources.prometheus_queries import load_queries
from goodput.sources.web import Access
from goodput.synth import metrics_server, prometheus_process, remote_write
from goodput.synth.loop.samples import all_series, scrapes


def collected(folder, url, start):
    """Rows of the states that three hours of samples give."""
    lake = Lake.open(folder, create=True)
    server = Prometheus(Access(url=url))
    hours = {"start": start, "end": start + timedelta(hours=3)}
    collect_prometheus(lake, server, Plan("c", load_queries(), **hours), now=start)
    server.close()
    columns = 'query, labels, value, epoch("from"), epoch(last_at), samples, interval_ms'
    with duckdb.connect() as con:
        query = f"select {columns} from read_parquet(?) order by all"
        return con.execute(query, [lake.files("prom_states")]).fetchall()


@pytest.fixture
def series(fleet):
    hole = (fleet.start + 3600, fleet.start + 4500)
    times = [t for t in scrapes(fleet.sim, [hole]) if -3600 <= t - fleet.start < 4 * 3600]
    return all_series(fleet.sim, times)


def test_it_gives_the_same_rows_as_the_real_one(fleet, series, tmp_path):
    if not prometheus_process.is_installed():
        pytest.skip("no prometheus here; on Debian: apt-get install prometheus")
    start = datetime.fromtimestamp(fleet.start, UTC)
    with prometheus_process.running(tmp_path / "prometheus") as url:
        remote_write.write(url, series)
        real = collected(tmp_path / "real", url, start)
    with metrics_server.running() as server:
        server.write(series)
        made_up = collected(tmp_path / "made-up", server.url, start)
    assert {row[0] for row in real} > {"node_condition", "node_unschedulable", "gpu_xid"}
    assert made_up == real


def test_what_it_cannot_answer_it_refuses():
    with metrics_server.running() as server, pytest.raises(ValueError, match="more than a selec"):
        server.answer("rate(up[5m])", 0)
