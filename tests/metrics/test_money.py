"""Money over hand-made ledgers: prices per pool and period, cents that add up."""

import pytest
from small_fleets import CLUSTER

NODES = """
    cluster  node_uid  pool   gpus  ready_at
    c        n1        train  1     00:00
    c        n2        spare  1     00:00
"""


def _columns(text):
    """Words with the two spaces between them that the bench parts cells by."""
    return text.replace(" ", "  ")


def test_a_price_holds_until_the_next_one_of_its_pool(model):
    model.con.execute("drop view gathered.prices; create table gathered.prices as from raw.prices")
    model.given(
        "gathered.prices",
        """
        cluster  pool   from   to     microdollars_per_gpu_hour  ingested_at
        c        train  00:00  -      2_000_000                  00:00
        c        train  10:00  20:00  3_000_000                  00:00
        c        spare  00:00  -      1_000_000                  00:00
        # corrected
        c        spare  00:00  -      500_000                    01:00
        """,
    )
    model.expect(
        "staged.prices",
        """
        cluster  pool   started_at  ended_at  microdollars_per_gpu_hour
        c        train  00:00       10:00     2_000_000
        c        train  10:00       20:00     3_000_000
        c        spare  00:00       -         500_000
        """,
    )


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        # The first has no end of its own: it holds until the second.
        ("c train 00:00 - 2 01:00\nc train 10:00 - 3 01:00", ""),
        ("c train 00:00 10:00 2 01:00\nc train 10:00 - 3 01:00", ""),
        ("c train 00:00 - 2 01:00\nc train 00:00 - 3 02:00", ""),
        ("c train 00:00 20:00 2 01:00\nc spare 10:00 - 3 01:00", ""),
        (
            "c train 00:00 20:00 2 01:00\nc train 10:00 12:00 3 02:00",
            "c train 00:00 20:00 2 10:00 3",
        ),
        # A corrected end does not overlap any more.
        (
            "c train 00:00 20:00 2 01:00\nc train 00:00 10:00 2 02:00\nc train 10:00 - 3 01:00",
            "",
        ),
        ("c train 00:00 - 2 01:00\nc train 00:00 - 3 01:00", "c train 00:00 - 2 00:00 3"),
    ],
)
def test_prices_that_contradict_each_other_are_told(model, rows, told):
    model.con.execute("drop view gathered.prices; create table gathered.prices as from raw.prices")
    model.given(
        "gathered.prices",
        _columns(f"cluster pool from to microdollars_per_gpu_hour ingested_at\n{rows}"),
    )
    model.expect(
        "checks.prices_agree",
        _columns(
            "cluster pool started_at ended_at microdollars_per_gpu_hour"
            f" next_started_at next_microdollars_per_gpu_hour\n{told}"
        ),
    )


def test_time_costs_what_its_pool_cost_then(model):
    model.window("08:00", "12:00")
    model.given("staged.nodes", NODES)
    model.given(
        "staged.jobs",
        """
        cluster  job  kind      team
        c        A    training  llm
        """,
    )
    model.given(
        "ledger.gpu_time",
        """
        cluster  node_uid  pool   gpu  started_at  ended_at  job  attempt  state                   cause     unit_ms
        c        n1        train  0    08:00       11:00     A    1        A.productive.committed  -         10800 gs
        c        n1        train  0    11:00       12:00     A    1        A.lost.recompute        gpu.lost  3600 gs
        c        n2        spare  0    08:00       12:00     -    -        I.no_demand             -         14400 gs
        """,  # noqa: E501
    )
    model.given(
        "staged.prices",
        """
        cluster  pool   started_at  ended_at  microdollars_per_gpu_hour
        c        train  00:00       10:00     2_000_000
        c        train  10:00       -         3_000_000
        """,
    )
    model.expect(
        "metrics.money",
        """
        metric             scope  scope_value             value  numerator  denominator
        cost_dollars       fleet  ''                      10     -          -
        cost_dollars       pool   train                   10     -          -
        cost_dollars       state  A.productive.committed  7      -          -
        cost_dollars       state  A.lost.recompute        3      -          -
        cost_dollars       class  gpu.lost                3      -          -
        cost_dollars       team   llm                     10     -          -
        cost_dollars       job    A                       10     -          -
        lost_cost_dollars  fleet  ''                      3      -          -
        lost_cost_dollars  pool   train                   3      -          -
        lost_cost_dollars  state  A.lost.recompute        3      -          -
        lost_cost_dollars  class  gpu.lost                3      -          -
        lost_cost_dollars  team   llm                     3      -          -
        lost_cost_dollars  job    A                       3      -          -
        priced_share       fleet  ''                      1/2    14400      28800
        """,
    )


def test_lines_add_up_to_the_cent(model):
    model.given("rollups.clusters", CLUSTER)
    # A third of a cent, three times, is one cent.
    model.given(
        "rollups.costs",
        """
        cluster  member  pool   state      is_lost  weighted_cost
        c        c       train  A.eval     false    60_480_000_000_001
        c        c       train  A.restore  false    60_480_000_000_000
        c        c       train  A.init     false    60_479_999_999_999
        """,
    )
    model.expect(
        "metrics.money",
        """
        scope  scope_value  value
        fleet  ''           0.01
        pool   train        0.01
        state  A.eval       0.01
        state  A.restore    0
        state  A.init       0
        """,
    )


def test_without_prices_there_is_no_money(model):
    model.given("rollups.clusters", CLUSTER)
    model.expect("metrics.money", "metric")
