"""Samples to runs, where no Prometheus is needed."""

import json
from pathlib import Path

import msgspec
import pytest

from goodput._resources import catalog_dir
from goodput.errors import UsageError
from goodput.sources.prometheus_answer import BadAnswer, Series
from goodput.sources.prometheus_queries import Query, load_queries
from goodput.sources.prometheus_runs import ASSUMED_INTERVAL_MS, SLICE_MS, Run, RunCollector, fused

STATE = Query("q", ("m",), "state", {"node": ("exported_node", "node")})


def series(samples, **labels):
    return Series(labels, msgspec.Raw(json.dumps(samples).encode()))


def runs_of(samples, query=STATE, end_ms=SLICE_MS, **labels):
    collector = RunCollector(query)
    collector.take(series(samples, **labels), 0, end_ms)
    return [
        (run.value, run.first_ms, run.last_ms, run.samples, run.interval_ms)
        for _, run in collector.finish()
    ]


def test_up_to_two_and_a_half_intervals_are_no_hole():
    seconds = [0, 30, 60, 90, 165, 195]
    assert runs_of([[t, "1"] for t in seconds]) == [("1", 0, 195_000, 6, 30_000)]

    seconds = [0, 30, 60, 90, 165.001, 195.001]
    assert runs_of([[t, "1"] for t in seconds]) == [
        ("1", 0, 90_000, 4, 30_000),
        ("1", 165_001, 195_001, 2, 30_000),
    ]


def test_the_order_of_samples_and_copies_of_them_change_nothing():
    samples = [[t, "0" if t < 90 else "1"] for t in range(0, 180, 30)]
    runs = runs_of(samples)
    assert runs == [("0", 0, 60_000, 3, 30_000), ("1", 90_000, 150_000, 3, 30_000)]
    for other in (samples[::-1], samples[3:] + samples[:3], samples + samples):
        assert runs_of(other) == runs
    # Of two values at one instant one counts, the same whichever comes first.
    assert runs_of([[0, "0"], [0, "1"]]) == runs_of([[0, "1"], [0, "0"]])


def test_a_changed_value_ends_a_run_even_over_a_hole():
    samples = [[0, "0"], [30, "0"], [60, "7"], [90, "7"], [900, "0"], [930, "0"]]

    assert [run[:4] for run in runs_of(samples)] == [
        ("0", 0, 30_000, 2),
        ("7", 60_000, 90_000, 2),
        ("0", 900_000, 930_000, 2),
    ]


def test_the_interval_of_too_few_samples_is_assumed():
    assert runs_of([[5, "1"]]) == [("1", 5_000, 5_000, 1, ASSUMED_INTERVAL_MS)]


def test_samples_outside_the_asked_span_are_left_out():
    samples = [[-0.001, "1"], [0, "1"], [3600, "1"]]

    assert [run[:4] for run in runs_of(samples)] == [("1", 0, 0, 1)]


def test_a_run_is_cut_at_the_full_hour():
    samples = [[t, "1"] for t in range(3500, 3700, 50)]

    assert [run[:4] for run in runs_of(samples, end_ms=2 * SLICE_MS)] == [
        ("1", 3_500_000, 3_550_000, 2),
        ("1", 3_600_000, 3_650_000, 2),
    ]


def test_two_replicas_that_agree_are_one():
    collector = RunCollector(STATE)
    for offset, replica in ((0, "a"), (10, "b")):
        values = [[t + offset, "1"] for t in range(0, 300, 30)]
        collector.take(series(values, node="n", replica=replica), 0, SLICE_MS)

    [(labels, run)] = collector.finish()
    assert labels == '{"node":"n"}'
    assert (run.first_ms, run.last_ms, run.samples) == (0, 280_000, 20)


def test_runs_that_touch_are_put_together_and_others_are_not():
    def run(value, first, last):
        return Run(value, first, last, 1, 30_000)

    assert fused([run("1", 60_000, 90_000), run("1", 0, 30_000)]) == [
        Run("1", 0, 90_000, 2, 30_000)
    ]
    apart = [run("1", 0, 30_000), run("0", 60_000, 60_000), run("1", 90_000, 90_000)]
    assert fused(apart) == apart


@pytest.mark.parametrize("values", ["[[1,2]]", '[["x","1"]]', "[[1]]", "{}"])
def test_samples_of_another_form_are_a_bad_answer(values):
    with pytest.raises(BadAnswer, match="samples in it cannot be read"):
        RunCollector(STATE).take(Series({}, msgspec.Raw(values.encode())), 0, SLICE_MS)


@pytest.mark.parametrize(
    ("query", "text", "value"),
    [
        ({"kind": "state"}, "8", "8"),
        ({"kind": "state"}, "0.5", "0.5"),
        ({"kind": "state"}, "1e+06", "1000000"),
        ({"kind": "state"}, "NaN", None),
        ({"kind": "state"}, "+Inf", None),
        ({"kind": "state"}, "9.223372036854776e+18", None),
        ({"kind": "presence"}, "0", "1"),
        ({"kind": "presence"}, "+Inf", "1"),
        ({"kind": "presence"}, "NaN", None),
        ({"kind": "state", "mask": 96}, "101", "96"),
        ({"kind": "gauge", "step": 10}, "67.9", "60"),
        ({"kind": "gauge", "step": 10}, "-0.1", "-10"),
        ({"kind": "one_hot", "hot_label": "phase"}, "1", "Running"),
        ({"kind": "one_hot", "hot_label": "phase"}, "0", None),
    ],
)
def test_what_a_sample_says(query, text, value):
    asked = Query("q", ("m",), labels={"node": ("node",)}, **query)

    assert asked.value_of({"phase": "Running"}, text) == value


def test_the_first_label_that_is_there_names_the_node():
    assert STATE.kept_labels({"exported_node": "a", "node": "b"}) == '{"node":"a"}'
    assert STATE.kept_labels({"exported_node": "", "node": "b"}) == '{"node":"b"}'
    assert STATE.kept_labels({"instance": "x"}) == "{}"


def test_selectors_name_all_metrics_and_matchers():
    assert STATE.selector() == "m"
    assert STATE.selector(['cluster="a"']) == 'm{cluster="a"}'
    two = Query("q", ("m", "n"), "state", {}, matchers=('x!=""',))
    assert two.selector(["y=~'b'"]) == '{__name__=~"m|n",x!="",y=~\'b\'}'


def test_the_shipped_queries_can_be_read_and_chosen():
    names = [query.name for query in load_queries()]

    assert len(names) == len(set(names)) > 10
    assert [query.name for query in load_queries(names=["gpu_xid"])] == ["gpu_xid"]
    with pytest.raises(UsageError, match=r"there is no query 'gpu_xids'; there are .*gpu_xid"):
        load_queries(names=["gpu_xids"])


def test_a_file_adds_queries_and_replaces_those_of_its_names(tmp_path):
    file = tmp_path / "more.toml"
    file.write_text(
        "[[query]]\nname = 'gpu_xid'\nmetrics = ['x']\nkind = 'state'\nlabels = {node = ['n']}\n"
    )

    assert [q.metrics for q in load_queries(file, ["gpu_xid"])] == [("x",)]
    assert len(load_queries(file)) == len(load_queries())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("kind = 'state'", "kind = 'odd'"), "has kind 'odd'"),
        (("kind = 'state'", "kind = 'one_hot'"), "hot_label belong together"),
        (("kind = 'state'", "kind = 'gauge'"), "step belong together"),
        (("kind = 'state'", "kind = 'state'\nmetric = 'x'"), "unknown key metric"),
        (("metrics = ['x']\n", ""), "lacks metrics"),
        (("[[query]]", "[query]"), "cannot be used"),
    ],
)
def test_a_wrong_file_of_queries_is_refused(tmp_path, change, reason):
    text = "[[query]]\nname = 'a'\nmetrics = ['x']\nkind = 'state'\nlabels = {node = ['n']}\n"
    file = tmp_path / "more.toml"
    file.write_text(text.replace(*change))

    with pytest.raises(UsageError, match=reason):
        load_queries(file)


def test_a_missing_file_of_queries_is_refused():
    with pytest.raises(UsageError, match="cannot be used"):
        load_queries(Path("/nowhere.toml"))


def test_the_catalogue_says_what_all_kinds_mean():
    text = (catalog_dir() / "prometheus_queries.toml").read_text()

    assert {query.kind for query in load_queries()} == {
        "one_hot",
        "presence",
        "state",
        "counter",
        "gauge",
    }
    assert text.startswith("# What `goodput collect prometheus` asks for")


@pytest.mark.parametrize("text", ["", " 7", "7_9", "\uff17", "0x4f", "abc", "1e", "--1"])
def test_a_sample_that_is_no_number_is_a_bad_answer(text):
    with pytest.raises(BadAnswer, match="which is no number"):
        runs_of([[0, text]])
