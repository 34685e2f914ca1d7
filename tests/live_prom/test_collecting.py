"""What the collector makes of the samples in a real Prometheus."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import polars as pl
import pytest
from prometheus_samples import DAY

from goodput.sources.prometheus_queries import load_queries

NAMES = ["node_condition", "node_unschedulable", "gpu_xid", "gpu_throttle"]


def clock(at):
    """An instant as clock time of DAY, with its milliseconds if it has any."""
    ms = round((at - DAY).total_seconds() * 1000)
    seconds, rest = divmod(ms, 1000)
    text = f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"
    return f"{text}.{rest:03}" if rest else text


def states(lake):
    """The runs in the lake: value, first and last sample, number of samples."""
    frames = [pl.read_parquet(file) for file in lake.files("prom_states")]
    rows = pl.concat(frames).sort("query", "labels", "from", "value").iter_rows(named=True)
    return [(r["value"], clock(r["from"]), clock(r["last_at"]), r["samples"]) for r in rows]


def content(lake):
    """The identities of all rows of a lake, by table."""
    return {
        table: sorted(
            row_id
            for file in lake.files(table)
            for row_id in pl.read_parquet(file, columns=["row_id"])["row_id"]
        )
        for table in ("prom_states", "prom_slices")
    }


@pytest.fixture
def collect_cluster(collect, prometheus_url):
    def run(cluster, **more):
        return collect(
            prometheus_url, cluster=cluster, matchers=[f'cluster="{cluster}"'], names=NAMES, **more
        )

    return run


def test_three_series_of_a_condition_become_its_status_cut_at_full_hours(collect_cluster, lake):
    collected = collect_cluster("lost")

    assert collected.samples == 3 * 3 * 120
    assert states(lake) == [
        ("true", "00:00:12.345", "00:54:42.345", 110),
        ("unknown", "00:55:12.345", "00:59:42.345", 10),
        ("false", "01:00:12.345", "01:04:42.345", 10),
        ("true", "01:05:12.345", "01:59:42.345", 110),
        ("true", "02:00:12.345", "02:59:42.345", 120),
    ]
    [row] = pl.read_parquet(lake.files("prom_states")[0]).head(1).iter_rows(named=True)
    assert json.loads(row["labels"]) == {"condition": "Ready", "node": "n-1"}
    assert (row["query"], row["interval_ms"]) == ("node_condition", 30_000)


def test_holes_of_one_four_and_ten_minutes_are_seen_as_long_as_they_are(collect_cluster, lake):
    collect_cluster("holes")

    assert states(lake) == [
        ("true", "00:00:12.345", "00:09:42.345", 20),
        ("true", "00:11:12.345", "00:19:42.345", 18),
        ("true", "00:24:12.345", "00:59:42.345", 72),
        ("true", "01:00:12.345", "01:54:42.345", 110),
        ("true", "02:05:12.345", "02:59:42.345", 110),
    ]


def test_a_series_ends_at_its_last_sample_with_a_stale_marker(collect_cluster, lake):
    collect_cluster("gone")

    assert states(lake) == [
        ("true", "00:00:12.345", "00:29:42.345", 60),
        ("true", "00:00:12.345", "00:59:42.345", 120),
        ("true", "01:00:12.345", "01:59:42.345", 120),
        ("true", "02:00:12.345", "02:59:42.345", 120),
    ]


def test_an_exporter_that_moves_leaves_no_trace(collect_cluster, lake):
    collect_cluster("moved")

    assert states(lake) == [
        ("true", "00:00:12.345", "00:59:42.345", 120),
        ("true", "01:00:12.345", "01:59:42.345", 120),
        ("true", "02:00:12.345", "02:59:42.345", 120),
    ]


def test_a_sample_on_the_full_hour_belongs_to_the_hour_that_begins(collect_cluster, lake):
    collected = collect_cluster("borders")

    assert collected.samples == 360
    assert states(lake) == [
        ("0", "00:00:00", "00:59:30", 120),
        ("1", "01:00:00", "01:59:30", 120),
        ("0", "02:00:00", "02:59:30", 120),
    ]


def test_a_number_that_stands_for_no_value_is_none(collect_cluster, lake):
    collected = collect_cluster("xids")

    assert collected.samples == 360 + 340 + 360
    assert states(lake) == [
        ("0", "00:00:12.345", "00:39:42.345", 80),
        ("79", "00:40:12.345", "00:59:42.345", 40),
        ("79", "01:10:12.345", "01:59:42.345", 100),
        ("79", "02:00:12.345", "02:59:42.345", 120),
        ("31", "00:00:12.345", "00:59:42.345", 120),
        ("31", "01:00:12.345", "01:59:42.345", 120),
        ("94", "02:00:12.345", "02:59:42.345", 120),
    ]


def test_a_pod_counts_once_it_has_a_node(collect, prometheus_url, lake):
    """Both series of kube-state-metrics would be 16 GPUs where there are 8."""
    collect(prometheus_url, cluster="bound", matchers=['cluster="bound"'], names=["pod_gpus"])

    assert states(lake) == [("8", "00:01:12.345", "00:29:42.345", 58)]


@pytest.mark.parametrize("cluster", ["reasons-old", "reasons-new"])
def test_a_reason_is_the_same_from_either_kube_state_metrics(
    collect, prometheus_url, lake, cluster
):
    collect(
        prometheus_url, cluster=cluster, matchers=[f'cluster="{cluster}"'], names=["pod_reason"]
    )

    assert states(lake) == [("Evicted", "00:10:12.345", "00:59:42.345", 100)]


def test_only_the_bits_that_count_are_compared(collect_cluster, lake):
    collect_cluster("throttled")

    assert states(lake) == [
        ("0", "00:00:12.345", "00:29:42.345", 60),
        ("64", "00:30:12.345", "00:39:42.345", 20),
        ("0", "00:40:12.345", "00:59:42.345", 40),
        ("0", "01:00:12.345", "01:59:42.345", 120),
        ("0", "02:00:12.345", "02:59:42.345", 120),
    ]


@pytest.mark.parametrize("cluster", ["lost", "holes", "moved", "gone", "xids", "borders"])
@pytest.mark.parametrize("samples_at_once", [40, 250, 1000])
def test_how_much_is_asked_for_at_once_changes_no_row(
    collect_cluster, lake, cluster, samples_at_once
):
    collect_cluster(cluster)
    before = content(lake)

    again = collect_cluster(cluster, samples_at_once=samples_at_once)

    assert sum(again.rows_added.values()) == 0
    assert content(lake) == before


def test_an_hour_of_which_little_is_asked_comes_in_many_requests(collect_cluster, lake):
    collect_cluster("lost", samples_at_once=40)

    assert len(states(lake)) == 5


def test_a_server_that_refuses_too_many_samples_gets_smaller_questions(collect, prometheus_url):
    """All clusters together have more samples in two hours than this server loads at once."""
    collected = collect(prometheus_url, names=["node_condition"])

    assert collected.samples == 3 * (6 * 360 + 60 - 30)
    assert collected.absent == []


def test_the_next_run_goes_on_where_the_lake_ends_and_repeats_an_hour(collect_cluster, lake):
    collect_cluster("holes", end="01:00")
    second = collect_cluster("holes", start=None, end="03:00")

    assert second.samples == 3 * (110 + 110 + 110)
    assert second.rows_added == {"prom_states": 2, "prom_slices": 2 * len(NAMES)}
    assert [row[1] for row in states(lake)][-2:] == ["01:00:12.345", "02:05:12.345"]


def test_two_collectors_at_once_leave_the_rows_of_one(collect_cluster, lake):
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(collect_cluster, "holes") for _ in range(2)]
        assert [one.result().samples for one in both] == [3 * 330] * 2
    together = {table: sorted(set(ids)) for table, ids in content(lake).items()}

    assert collect_cluster("holes").rows_added == {"prom_states": 0, "prom_slices": 0}
    assert {table: len(ids) for table, ids in together.items()} == {
        "prom_states": 5,
        "prom_slices": 3 * len(NAMES),
    }


def test_an_hour_that_is_not_over_is_left_for_later(collect_cluster, lake):
    collect_cluster("lost", end="01:59")

    assert [row[1] for row in states(lake)] == ["00:00:12.345", "00:55:12.345"]


def test_nothing_is_asked_for_when_the_lake_is_ahead(collect_cluster):
    collect_cluster("lost")

    assert collect_cluster("lost", start="03:00").samples == 0


def test_a_first_run_that_got_nothing_leaves_no_trace_and_the_next_one_asks_again(
    collect, collect_cluster, prometheus_url, lake
):
    names = ["node_condition", "gpu_xid"]
    wrong = collect(
        prometheus_url, cluster="lost", matchers=['cluster="typo"'], names=names, start=None
    )
    assert (wrong.rows_added, wrong.absent) == ({}, names)
    assert lake.snapshot().entries == ()

    right = collect_cluster("lost", start=None)

    assert right.samples == 3 * 3 * 120
    assert right.rows_added == {"prom_slices": 24 * len(NAMES), "prom_states": 5}


def test_empty_hours_of_a_lake_that_never_had_a_sample_are_asked_for_again(collect_cluster, lake):
    """An earlier version recorded them."""
    hour = {"cluster": "lost", "query": "node_condition", "series": 0, "samples": 0}
    span = {"from": DAY + timedelta(hours=2), "to": DAY + timedelta(hours=3)}
    lake.publish(
        {"prom_slices": pl.DataFrame([hour | span])}, ingested_from="test", ingested_at=None
    )

    assert collect_cluster("lost", start=None).samples == 3 * 3 * 120


def test_once_there_was_a_sample_hours_without_any_are_a_hole_that_is_recorded(
    collect, collect_cluster, prometheus_url
):
    collect_cluster("lost", end="01:00")
    empty = collect(
        prometheus_url,
        cluster="lost",
        matchers=['cluster="typo"'],
        names=["node_condition"],
        start="01:00",
    )

    assert empty.rows_added == {"prom_slices": 2}
    assert collect_cluster("lost", start=None).samples == 3 * 120


def test_empty_hours_before_the_first_sample_are_recorded_with_it(collect, prometheus_url, lake):
    """What was asked for first has none, nor have the hours before midnight of the second one."""
    collect(
        prometheus_url,
        start=None,
        cluster="lost",
        matchers=['cluster="lost"'],
        queries=sorted(load_queries(None, ["gpu_xid", "node_condition"]), key=lambda q: q.name),
    )

    hours = pl.read_parquet(lake.files("prom_slices"), columns=["query", "samples"])
    assert hours.group_by("query").agg(pl.len(), pl.sum("samples")).sort("query").rows() == [
        ("gpu_xid", 24, 0),
        ("node_condition", 24, 3 * 3 * 120),
    ]


def test_what_was_not_there_is_named(collect_cluster):
    assert collect_cluster("lost").absent == ["node_unschedulable", "gpu_xid", "gpu_throttle"]
