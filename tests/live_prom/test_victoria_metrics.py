"""VictoriaMetrics speaks Prometheus' API with habits of its own: the rows must be the same."""

import polars as pl
import pytest

from goodput.lake import Lake

CLUSTERS = ("lost", "holes", "gone", "moved", "borders", "xids", "throttled", "cordons", "alone")
COLUMNS = ["query", "labels", "value", "from", "last_at", "samples", "interval_ms"]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_rows_are_those_of_prometheus(prometheus_url, victoria_url, collect, tmp_path, cluster):
    """Among them a series that ends with a stale marker, which VictoriaMetrics shows as NaN."""
    found = []
    for name, url in (("prometheus", prometheus_url), ("victoria", victoria_url)):
        lake = Lake.open(tmp_path / name, create=True)
        collect(url, cluster=cluster, matchers=[f'cluster="{cluster}"'], into=lake)
        frames = [pl.read_parquet(file, columns=COLUMNS) for file in lake.files("prom_states")]
        found.append(pl.concat(frames).sort(COLUMNS).rows())

    assert found[0] == found[1] != []
