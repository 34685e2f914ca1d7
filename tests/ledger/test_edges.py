"""What began before its node was paid for, and what ended without a word of how."""

import pytest
from ledger_rows import LedgerBench


@pytest.fixture
def bench(model):
    """Two GPUs of n1, paid for from 00:10 on, between 00:00 and 01:00."""
    bench = LedgerBench(model)
    bench.settings("window 00:00 01:00")
    bench.given("nodes", "node_uid  gpus  registered_at\nn1        2     00:10")
    return bench


def test_an_outage_begins_with_the_node_if_its_condition_is_older(bench):
    # Eleven minutes apart, but six after the node began: the more specific class is the cause.
    bench.given(
        "node_conditions",
        """
        node_uid  type        status  from   to
        n1        Ready       False   00:05  00:30
        n1        IbLinkDown  True    00:16  00:30
        """,
    )

    ledger = bench.ledger()

    assert ledger == {("U.not_ready", "net.fabric"): 2400, ("I.no_demand", None): 3600}
    assert bench.broken_checks() == []


@pytest.mark.parametrize(
    ("state", "end", "lost"),
    [
        ("running", "00:40:10", {("A.lost.recompute", "unk.none"): 2420}),
        ("failed", "00:40:10", {("A.lost.abandoned", "unk.none"): 2420}),
        (
            "running",
            "00:50:00",
            {("A.lost.recompute", "unk.none"): 2400, ("A.hang", "unk.none"): 1200},
        ),
    ],
)
def test_an_attempt_that_ended_without_an_outcome_has_no_known_cause(bench, state, end, lost):
    bench.given("jobs", f"job  state\nA    {state}")
    bench.given("attempts", f"job  attempt  start  end\nA    1        00:20  {end}")
    bench.given(
        "pods",
        f"""
        pod_uid  job  attempt  node_uid  gpus  bound_at  running_at  released_at
        p1       A    1        n1        2     00:20     00:20       {end}
        """,
    )
    bench.given(
        "steps",
        """
        job  attempt  first  last  start  end
        A    1        1      120   00:20  00:40
        """,
    )

    ledger = bench.ledger()

    assert {key: s for key, s in ledger.items() if key[0].startswith(("A.lost", "A.hang"))} == lost
    assert bench.broken_checks() == []
