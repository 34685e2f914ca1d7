"""The export of a made-up week, and promtool."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
from made_up_week import write_warehouse

from goodput.exposition import exposition
from goodput.warehouse.connection import connect
from goodput.warehouse.export import read_families


@pytest.fixture(scope="session")
def week(tmp_path_factory):
    """The warehouse of a made-up week."""
    return write_warehouse(tmp_path_factory.mktemp("week"))


@pytest.fixture(scope="session")
def families(week):
    with connect(week, read_only=True) as con:
        return read_families(con)


@pytest.fixture(scope="session")
def exported(families):
    return exposition(families)


@pytest.fixture
def promtool():
    """Runs promtool; its output and whether it was content."""
    if not shutil.which("promtool"):
        pytest.skip("no promtool here; on Debian: apt-get install prometheus")

    def run(*words, **more):
        done = subprocess.run(
            ["promtool", *map(str, words)], check=False, capture_output=True, text=True, **more
        )
        return done.returncode, done.stdout + done.stderr

    return run
