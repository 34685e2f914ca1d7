"""The accounting agrees with the truth to the unit when it is given what happened, row by row."""

from collections import Counter
from datetime import UTC, datetime

import duckdb
import pytest
from typed_tables import write_typed_tables

from goodput.lake import Lake
from goodput.sources.typed import import_files
from goodput.synth.plan import simulate
from goodput.synth.truth import ledger
from goodput.warehouse.build import build


@pytest.mark.parametrize("seed", [1, 2])
def test_every_state_and_cause_is_the_injected_one(week, tmp_path, seed):
    fleet = simulate(int(week.start.timestamp()), seed)
    write_typed_tables(fleet, tmp_path / "typed")
    lake = Lake.open(tmp_path / "lake", create=True)
    assert import_files(lake, tmp_path / "typed").quarantined == 0
    result = build(lake, week, datetime.fromtimestamp(fleet.sim.stop, UTC))
    assert [c.name for c in result.checks if c.failed] == []
    with duckdb.connect(str(result.database), read_only=True) as con:
        rows = con.execute(
            "select state, coalesce(cause, ''), sum(unit_ms)::bigint"
            " from ledger.gpu_time group by all"
        ).fetchall()
    computed = Counter({(state, cause): amount for state, cause, amount in rows})
    truth = ledger(fleet).by_cause()
    different = {k: (truth[k], computed[k]) for k in truth | computed if truth[k] != computed[k]}
    assert different == {}
