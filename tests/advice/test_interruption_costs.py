"""What `explain` says that an interruption cost adds up to what the ledger charges it with."""

import pytest

from goodput.warehouse.explain import explain


def test_costs_of_a_failure_are_those_of_its_own_gpus_and_of_idle_ones(small):
    [failure] = explain(small, "llama").interruptions

    # For an hour gpu-2 waits for a second node; ten minutes of start, and 47 steps done again.
    assert [(row["whose"], row["state"], row["gpu_hours"]) for row in failure["costs"]] == [
        ("idle", "I.shortfall", 8),
        ("its own", "A.lost.recompute", pytest.approx(16 * 47 / 60)),
        ("its own", "A.init", pytest.approx(16 * 10 / 60)),
    ]
    assert failure["lost_gpu_hours"] == pytest.approx(8 + 16 * 57 / 60)
    waited = small.sql("select waited_gpu_hours from report.interruptions where job = 'j-1'")
    assert waited.fetchall() == [(8,)]
