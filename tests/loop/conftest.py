"""One day played to the collectors, for all tests that look at what came of it."""

from dataclasses import dataclass
from pathlib import Path

import dated_bucket
import duckdb
import pytest

from goodput.lake import Lake
from goodput.synth.loop.day import simulate_day
from goodput.synth.loop.play import Bucket, Played, play_day
from goodput.synth.loop.schedule import Run, schedule
from goodput.window import Window

LOOK_EVERY_S = 900


@pytest.fixture(autouse=True, scope="session")
def no_other_way_in(tmp_path_factory):
    """No proxy, no kubeconfig and no pod of the machine that the tests run on."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "KUBECONFIG"):
            patch.delenv(name, raising=False)
        patch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def tuesday():
    return Window.of_week("2026-W48").start.replace(day=24)


@pytest.fixture(scope="session")
def fleet(tuesday):
    return simulate_day(int(tuesday.timestamp()), seed=1)


@pytest.fixture(scope="session")
def dated(s3):
    with dated_bucket.running(s3, "ml-ckpt") as (store, address):
        yield Bucket(store, address)


@dataclass
class Day:
    folder: Path
    played: Played
    bucket: Bucket
    runs: list[Run]

    def rows(self, query, **tables):
        """Rows of a query over raw tables of the lake; a table of the query is named `raw`."""
        lake = Lake.open(self.folder / "lake")
        with duckdb.connect() as con:
            con.execute("set timezone = 'UTC'")
            (table,) = tables.values()
            return con.execute(
                f"with raw as (from read_parquet(?, union_by_name = true)) {query}",
                [lake.files(table)],
            ).fetchall()


@pytest.fixture(scope="session")
def day(tuesday, fleet, tmp_path_factory, dated):
    folder = tmp_path_factory.mktemp("day")
    played = play_day(tuesday, 1, folder, LOOK_EVERY_S, dated)
    return Day(folder, played, dated, schedule(fleet, LOOK_EVERY_S))
