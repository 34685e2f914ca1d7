"""Which nodes are lemons: the standard's own example, and how often simulated fleets err."""

import random

import pytest

# STANDARD 5.7: 50 nodes of equal exposure, 42 failures; the nodes with 9, 6 and 5 are lemons.
COUNTS = [0] * 30 + [1] * 12 + [2] * 5 + [5, 6, 9]


def put_nodes(con, counts, cluster="c", days=28):
    """Nodes that were in service for the last days of the window, with so many failures each."""
    con.execute(
        """
        insert into staged.nodes by name
        select
            cluster,
            node_uid,
            getvariable('window_end') - to_hours(?) as ready_at
        from (select unnest(?) as cluster, unnest(?) as node_uid)
        """,
        [round(24 * days), [cluster] * len(counts), [f"{cluster}-{i}" for i in range(len(counts))]],
    )
    failures = [f"{cluster}-{i}" for i, count in enumerate(counts) for _ in range(count)]
    con.execute(
        """
        insert into rollups.recent_failures by name
        select ? as cluster, unnest(?) as node_uid, 0 as occurred_ms
        """,
        [cluster, failures],
    )


def odds(model):
    """{node: (p, q, is_lemon)} of every node."""
    model.given_tables |= {"rollups.recent_failures"}
    model.rebuild("rollups.node_odds")
    rows = model.con.execute(
        "select node_uid, p_value, q_value, is_lemon from rollups.node_odds"
    ).fetchall()
    return {node: (p, q, lemon) for node, p, q, lemon in rows}


def test_the_standards_example(model):
    put_nodes(model.con, COUNTS)

    found = odds(model)

    assert sorted(node for node, odd in found.items() if odd[2]) == ["c-47", "c-48", "c-49"]
    assert found["c-49"][0] == pytest.approx(1.3e-07, abs=5e-9)
    assert found["c-48"][0] == pytest.approx(0.0001809, rel=1e-3)
    assert found["c-47"][0] == pytest.approx(0.00146997, rel=1e-5)
    assert found["c-46"][0] == pytest.approx(0.20504876, rel=1e-7)
    assert found["c-0"][0] == 1
    # Benjamini-Hochberg: p times nodes over rank, and never less than a smaller p gets.
    assert found["c-48"][1] == pytest.approx(0.0001809 * 50 / 2, rel=1e-3)
    assert found["c-42"][1] == pytest.approx(1)


def test_exposure_counts_and_a_node_of_less_than_a_day_is_not_judged(model):
    put_nodes(model.con, [3] * 9 + [4], "old")
    put_nodes(model.con, [3, 0], "new", days=0.5)
    model.con.execute("update staged.nodes set cluster = 'c'")
    model.con.execute("update rollups.recent_failures set cluster = 'c'")

    found = odds(model)

    assert len(found) == 10
    assert not any(lemon for _, _, lemon in found.values())


def test_many_failures_of_a_large_fleet_are_summed_exactly(model):
    from scipy.stats import binom

    put_nodes(model.con, [2] * 1000 + [14])

    found = odds(model)

    assert found["c-1000"][0] == pytest.approx(binom.sf(13, 2014, 1 / 1001), rel=1e-9)


def test_the_only_node_cannot_be_worse_than_the_others(model):
    put_nodes(model.con, [5])

    assert odds(model)["c-0"] == (1, 1, False)


def poisson(rng, mean):
    """A Poisson count: how many exponential waits fit."""
    count, left = 0, rng.expovariate(1)
    while left < mean:
        count, left = count + 1, left + rng.expovariate(1)
    return count


def test_planted_lemons_are_found_and_healthy_nodes_are_let_be(model):
    # 300 fleets of 100 nodes, one failure a node in 28 days; in every second fleet five nodes fail
    # ten times as often.
    rng = random.Random(20260302)
    planted = set()
    for fleet in range(300):
        rates = [10.0 if fleet % 2 and i < 5 else 1.0 for i in range(100)]
        planted |= {f"f{fleet}-{i}" for i, rate in enumerate(rates) if rate > 1}
        put_nodes(model.con, [poisson(rng, rate) for rate in rates], f"f{fleet}")

    named = {}
    for node, (_, _, lemon) in odds(model).items():
        if lemon:
            named.setdefault(node.split("-")[0], set()).add(node)

    false_shares = [len(nodes - planted) / len(nodes) for nodes in named.values()]
    found = sum(len(nodes & planted) for nodes in named.values())
    healthy = [fleet for fleet in named if int(fleet[1:]) % 2 == 0]
    # The false discovery rate; docs/advice.md tells what it is with this seed.
    assert round(sum(false_shares) / 300, 3) == 0.013
    # Fleets without lemons in which a node is named all the same.
    assert len(healthy) / 150 <= 0.05
    assert round(found / len(planted), 2) == 0.87
