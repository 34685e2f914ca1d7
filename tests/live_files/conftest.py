"""Makes the helpers of this folder importable; one lake a test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("collector_runs")

from collector_runs import Runs  # noqa: E402 - the line above makes it importable


@pytest.fixture
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("lake"))
