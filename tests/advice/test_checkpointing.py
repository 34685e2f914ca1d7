"""The formulas for checkpoint intervals, against tables that were worked out apart from them.

They are the validation tables young_daly and ettr_meta of the accounting standard; the failure
rates are those of Meta's clusters RSC-1 and RSC-2 (arXiv 2410.21680).
"""

import pytest

from goodput.checkpointing import (
    availability_interval,
    daly_interval,
    expected_ettr,
    first_order_ettr,
    optimal_interval,
    practical_interval,
    spares_needed,
    young_interval,
)

# save, mean time between failures, restart; Young, Daly, exact; ETTR at Young's, the exact, twice
# and half the exact interval. All times in seconds.
INTERVALS = [
    (10, 3600, 300, 268.3282, 261.7029, 261.7033, 0.855954, 0.855974, 0.840325, 0.840875),
    (30, 3600, 300, 464.7580, 444.9732, 444.9769, 0.808886, 0.808980, 0.783733, 0.785209),
    (60, 6490, 300, 882.4965, 842.9497, 842.9580, 0.831557, 0.831670, 0.804382, 0.806054),
    (120, 6646, 300, 1262.9489, 1184.2158, 1184.2483, 0.786025, 0.786316, 0.750792, 0.753715),
    (5, 103846, 300, 1019.0486, 1015.7180, 1015.7180, 0.987367, 0.987367, 0.984950, 0.984962),
    (300, 86400, 600, 7200.0, 7001.3889, 7001.4044, 0.912599, 0.912628, 0.894017, 0.894744),
    (600, 3600, 600, 2078.4610, 1697.7060, 1699.2309, 0.448102, 0.452564, 0.397340, 0.407994),
    (30, 1063, 120, 252.5470, 232.9430, 232.9557, 0.701139, 0.701644, 0.662541, 0.666429),
    (1, 10000, 60, 141.4214, 140.7555, 140.7555, 0.980044, 0.980044, 0.976591, 0.976616),
    (7200, 3600, 0, 7200.0, 3600.0, 3411.1112, 0.037315, 0.052469, 0.039350, 0.043597),
]

# GPUs in nodes of eight, failures per node-day, minutes: restart, interval, save; ETTR of first
# order without and with the save, exact.
ETTR = [
    (16000, 0.0065, 5, 60, 0, 0.684028, 0.684028, 0.720955),
    (16000, 0.0065, 5, 5, 0, 0.932292, 0.932292, 0.935378),
    (16384, 0.0065, 5, 60, 5, 0.676444, 0.624410, 0.643604),
    (4096, 0.0065, 5, 60, 0, 0.919111, 0.919111, 0.921619),
    (2048, 0.0065, 5, 60, 0, 0.959556, 0.959556, 0.960186),
    (100000, 0.00234, 2, 2, 0, 0.939063, 0.939063, 0.941574),
    (100000, 0.0065, 2, 2, 0, 0.830729, 0.830729, 0.848847),
    (8192, 0.00234, 5, 60, 0, 0.941760, 0.941760, 0.943064),
    (1024, 0.0065, 5, 60, 0, 0.979778, 0.979778, 0.979936),
]


# The availability-optimal period of arXiv 2410.18124, from save to save, of the same rows.
PERIODS = [
    289.4638, 514.6648, 964.6546, 1416.7035, 1025.5317, 7531.1825, 2923.7900, 298.1045, 142.8485,
    17382.3376,
]  # fmt: skip


@pytest.mark.parametrize(("row", "period"), [*zip(INTERVALS, PERIODS, strict=True)])
def test_the_availability_optimal_interval_leaves_out_the_save(row, period):
    save, mean_time, restart, *_ = row

    assert save + availability_interval(save, mean_time, restart) == pytest.approx(period, abs=5e-5)


@pytest.mark.parametrize("row", INTERVALS, ids=lambda row: f"{row[0]} s of {row[1]} s")
def test_intervals_are_those_of_the_table(row):
    save, mean_time, restart, young, daly, exact, *ettr = row

    assert young_interval(save, mean_time) == pytest.approx(young, abs=5e-5)
    assert daly_interval(save, mean_time) == pytest.approx(daly, abs=5e-5)
    assert optimal_interval(save, mean_time) == pytest.approx(exact, abs=5e-5)
    for interval, expected in zip((young, exact, 2 * exact, exact / 2), ettr, strict=True):
        assert expected_ettr(1 / mean_time, restart, interval, save) == pytest.approx(
            expected, abs=1e-6
        )


@pytest.mark.parametrize("row", ETTR, ids=lambda row: f"{row[0]} GPUs every {row[3]} min")
def test_ettr_is_that_of_the_table(row):
    gpus, per_node_day, restart, interval, save, bare, with_save, exact = row
    rate = gpus / 8 * per_node_day / 24 / 60

    assert first_order_ettr(rate, restart, interval).unclamped == pytest.approx(bare, abs=1e-6)
    assert first_order_ettr(rate, restart, interval, save).value == pytest.approx(
        with_save, abs=1e-6
    )
    assert expected_ettr(rate, restart, interval, save) == pytest.approx(exact, abs=1e-6)


def test_the_first_order_is_clamped_and_flagged_where_it_leaves_its_range():
    # 12,500 nodes at 6.5 failures per 1,000 node-days; 5 minutes to restart, hourly checkpoints.
    rate = 12_500 * 6.5 / 1000 / 24

    found = first_order_ettr(rate, 5 / 60, 1)

    assert found.unclamped == pytest.approx(-0.975, abs=5e-4)
    assert (found.value, found.is_valid) == (0, False)
    assert 0 < expected_ettr(rate, 5 / 60, 1) < 0.1


@pytest.mark.parametrize("row", ETTR, ids=lambda row: f"{row[0]} GPUs every {row[3]} min")
def test_where_the_first_order_is_called_valid_it_is_within_half_a_point(row):
    gpus, per_node_day, restart, interval, *_ = row
    rate = gpus / 8 * per_node_day / 24 / 60

    found = first_order_ettr(rate, restart, interval)

    is_close = abs(found.value - expected_ettr(rate, restart, interval)) <= 0.005
    assert found.is_valid <= is_close


def test_the_practical_interval_is_whole_steps_and_never_below_ten_saves():
    # The optimum is 842.96 s: 28 steps of 30 s.
    assert practical_interval(60, 6490, 30) == 840
    assert practical_interval(60, 6490) == pytest.approx(842.958, abs=1e-3)
    # Ten saves of 600 s are more than the optimum of 1699 s; 6000 s are 85.7 steps of 70 s.
    assert practical_interval(600, 3600) == 6000
    assert practical_interval(600, 3600, 70) == 86 * 70
    # A step that is longer than the optimum is the least there is.
    assert practical_interval(1, 100, 3600) == 3600


def test_extremes_stay_in_range():
    assert expected_ettr(0, 300, 90, 10) == 0.9
    assert expected_ettr(1e6, 300, 3600) == 0
    assert first_order_ettr(0, 300, 3600).value == 1
    for ettr in (expected_ettr, first_order_ettr):
        with pytest.raises(ValueError, match="an interval of 0 saves nothing"):
            ettr(0.1, 1, 0)


def test_spares_cover_the_nodes_that_are_out():
    # Poisson with mean 0.5: 0.6065, 0.9098, 0.9856, 0.9982.
    assert [spares_needed(0.5, target) for target in (0.6, 0.9, 0.98, 0.99)] == [0, 1, 2, 3]
    assert spares_needed(0, 0.999) == 0
    # scipy.stats.poisson.ppf(0.99, 1000); its first terms are no doubles.
    assert spares_needed(1000, 0.99) == 1074
    with pytest.raises(ValueError, match="no share of time below 1"):
        spares_needed(1, 1)
