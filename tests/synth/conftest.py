import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from goodput.synth.plan import Fleet, simulate
from goodput.window import Window


@pytest.fixture(scope="session")
def week() -> Window:
    return Window.of_week("2026-W48")


@pytest.fixture(scope="session")
def fleet(week) -> Fleet:
    return simulate(int(week.start.timestamp()), seed=1)
