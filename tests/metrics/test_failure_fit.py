"""The fit of interruptions over job sizes beside a general optimiser, and how often it covers."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

NODES = [1, 2, 8, 32, 128]


def put(model, cells, cluster="c"):
    """Attempts of eight GPUs a node: {nodes: (interruptions, hours)}."""
    model.con.execute("insert into rollups.clusters values (?, ?)", [cluster, cluster])
    model.con.execute(
        "insert into staged.nodes (cluster, node_uid, gpus) values (?, 'n', 8)", [cluster]
    )
    # One attempt of each size runs all the time, the others only fail.
    model.con.execute(
        """
        insert into rollups.attempts by name
        select
            $cluster as cluster,
            'j' || nodes as job,
            attempt,
            8 * nodes as gpus,
            case when attempt = 0 then hours * 3600000::bigint else 1 end as running_ms,
            attempt > 0 as is_ended,
            'interruption' as counts_as,
            'infra' as domain
        from (
            select unnest($nodes) as nodes, unnest($hours) as hours, unnest($events) as events
        ), unnest(range(events + 1)) as t (attempt)
        """,
        {
            "cluster": cluster,
            "nodes": list(cells),
            "hours": [hours for _, hours in cells.values()],
            "events": [events for events, _ in cells.values()],
        },
    )
    model.given_tables |= {"rollups.clusters", "rollups.attempts"}


def figures(model, metric):
    """{cluster or size: (value, low, high)}."""
    rows = model.con.execute(
        "select coalesce(nullif(scope_value, ''), cluster), value, low, high"
        " from metrics.job_failure_fit where metric = ?",
        [metric],
    ).fetchall()
    return {name: tuple(row) for name, *row in rows}


def test_the_fit_is_the_maximum_of_the_likelihood(model):
    cells = {1: (9, 900), 2: (4, 300), 8: (12, 700), 32: (20, 400), 128: (31, 150)}
    put(model, cells)
    model.rebuild("metrics.job_failure_fit")

    nodes, events, hours = (
        np.array(column, dtype=float)
        for column in zip(*((n, e, h) for n, (e, h) in cells.items()), strict=True)
    )

    def loss(logs):
        rate = math.exp(logs[0]) + math.exp(logs[1]) * nodes
        return float((rate * hours - events * np.log(rate * hours)).sum())

    best = minimize(loss, [-5, -8], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13})
    base, per_node = np.exp(best.x)
    [(found, low, high)] = figures(model, "interruption_rate_base").values()
    assert found == pytest.approx(1000 * base, rel=1e-5)
    assert low < found < high
    [(found, low, high)] = figures(model, "interruption_rate_per_node").values()
    assert found == pytest.approx(24000 * per_node, rel=1e-5)
    # 512 GPUs are 64 nodes; up to four times the largest that was seen.
    fitted = figures(model, "mttf_fitted_hours")
    assert set(fitted) == {"8", "64", "512", "4096"}
    assert fitted["512"][0] == pytest.approx(1 / (base + 64 * per_node), rel=1e-5)
    assert fitted["512"][1] < fitted["512"][0] < fitted["512"][2]


@pytest.mark.parametrize(
    ("cells", "base", "per_node"),
    [
        # More than ten times the interruptions of ten times the nodes; and fewer.
        ({1: (5, 1000), 10: (105, 1000)}, 0, 240),
        ({1: (30, 1000), 10: (20, 1000)}, 25, 0),
    ],
)
def test_at_the_edge_one_rate_is_nothing_and_has_no_interval(model, cells, base, per_node):
    put(model, cells)
    model.rebuild("metrics.job_failure_fit")

    [found] = figures(model, "interruption_rate_base").values()
    assert found == (pytest.approx(base, rel=1e-6), None, None)
    [found] = figures(model, "interruption_rate_per_node").values()
    assert found == (pytest.approx(per_node, rel=1e-6), None, None)


@pytest.mark.parametrize("cells", [{1: (2, 100), 10: (2, 100)}, {8: (50, 1000)}])
def test_few_interruptions_or_one_size_give_no_fit(model, cells):
    put(model, cells)
    model.rebuild("metrics.job_failure_fit")

    assert figures(model, "interruption_rate_base") == {}


def test_its_intervals_cover_the_truth(model):
    chance = np.random.default_rng(20261130)
    for study in range(300):
        cells = {
            nodes: (int(chance.poisson((0.02 + 0.0005 * nodes) * 1500)), 1500) for nodes in NODES
        }
        put(model, cells, f"s{study}")
    model.rebuild("metrics.job_failure_fit")

    for metric, truth in (
        ("interruption_rate_base", 20),
        ("interruption_rate_per_node", 12),
    ):
        found = figures(model, metric).values()
        covered = sum(low <= truth <= high for _, low, high in found) / 300
        assert 0.93 <= covered <= 0.97
