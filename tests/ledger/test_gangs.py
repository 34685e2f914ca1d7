"""Who belongs to a gang, and what its GPUs do until all of it runs."""

import pytest
from ledger_rows import LedgerBench


@pytest.mark.parametrize("released", ["00:00", "00:01"])
def test_a_pod_that_was_gone_at_once_is_missed_by_its_gang(model, released):
    bench = LedgerBench(model)
    bench.settings("window 00:00 01:00")
    bench.given("nodes", "node_uid  gpus  registered_at\nn1        2     00:00")
    bench.given("jobs", "job  state\nA    running")
    bench.given("attempts", "job  attempt  start  end  outcome\nA    1        00:00  -    running")
    bench.given(
        "pods",
        f"""
        pod_uid  job  attempt  node_uid  gpus  bound_at  running_at  released_at
        p1       A    1        n1        1     00:00     00:10       01:00
        p2       A    1        n1        1     00:00     -           {released}
    """,
    )

    ledger = bench.ledger()

    waited = sum(s for (state, _), s in ledger.items() if state in {"A.startup", "A.gang_wait"})
    assert waited == 3600 + (60 if released == "00:01" else 0)
    assert bench.broken_checks() == []


def test_a_pod_bound_after_its_node_was_gone_holds_nothing_and_tells_why(model):
    bench = LedgerBench(model)
    bench.settings("window 00:00 01:00")
    bench.given(
        "nodes",
        """
        node_uid  gpus  registered_at  deleted_at  paid_to
        n1        2     00:00          00:20       00:40
        """,
    )
    bench.given("jobs", "job  state   ended_at\nA    failed  00:31")
    bench.given(
        "attempts", "job  attempt  start  end    outcome\nA    1        00:30  00:31  failed"
    )
    bench.given(
        "pods",
        """
        pod_uid  job  attempt  node_uid  gpus  bound_at  terminated_at  exit_code
        p1       A    1        n1        2     00:30     00:31          139
        """,
    )

    ledger = bench.ledger()

    assert ledger == {("I.no_demand", None): 2400, ("U.deprovisioning", "base.overhead"): 2400}
    bench.model.expect("ledger.interruptions", "class    confidence\napp.lib  75")
    assert bench.broken_checks() == []
