"""Verdicts and the sentence of the first screen."""

import pytest

from goodput.report.account import make_account
from goodput.report.headline import (
    judge_availability,
    judge_success,
    make_headline,
    make_sentence,
)


def success(numerator, denominator, low, high):
    return {
        "value": numerator / denominator if denominator else None,
        "numerator": numerator,
        "denominator": denominator,
        "low": low,
        "high": high,
    }


@pytest.mark.parametrize(
    ("metric", "verdict"),
    [
        (success(199, 200, 0.972, 0.9999), "undecided"),
        (success(90, 100, 0.824, 0.951), "missed"),
        (success(9990, 10000, 0.998, 0.9995), "met"),
        (success(3, 4, 0.19, 0.99), "too_few"),
        (success(0, 0, None, None), "none"),
        (None, "none"),
    ],
)
def test_success_is_judged_by_its_interval(metric, verdict):
    assert judge_success(metric, 0.995)["verdict"] == verdict


def test_nothing_is_judged_without_an_objective():
    assert judge_success(success(90, 100, 0.8, 0.95), None)["verdict"] == "none"


def test_availability_says_what_the_budget_was_and_what_was_used():
    row = {"scope": "pool", "scope_value": "a", "cluster": "x", "event_count": 100}
    metrics = [
        row
        | {
            "metric": "node_availability_closed",
            "value": 0.99,
            "numerator": 99 * 3600,
            "denominator": 100 * 3600,
        },
        row | {"metric": "node_availability_open", "value": 0.995},
        row | {"metric": "node_availability_closed", "cluster": "*", "value": 1.0},
    ]
    [pool] = judge_availability(metrics, 0.9995)
    assert pool == {
        "cluster": "x",
        "pool": "a",
        "node_count": 100,
        "closed": 0.99,
        "open": 0.995,
        "sched": None,
        "objective": 0.9995,
        "in_service_node_hours": 100.0,
        "not_ok_node_hours": 1.0,
        "budget_node_hours": pytest.approx(0.05),
        "verdict": "missed",
    }


def test_the_least_available_pool_is_first_and_one_without_a_value_last():
    values = {"a": 0.999, "b": None, "c": 0.5, "d": 0.999}
    metrics = [
        {
            "metric": "node_availability_closed",
            "scope": "pool",
            "scope_value": pool,
            "cluster": "x",
            "event_count": 1,
            "value": value,
            "numerator": None,
            "denominator": None,
        }
        for pool, value in values.items()
    ]
    assert [pool["pool"] for pool in judge_availability(metrics, 0.99)] == ["c", "a", "d", "b"]


def cause(label, hours, *, is_suspected=False):
    return {"class_label": label, "shown_gpu_hours": hours, "is_suspected": is_suspected}


def headline(**changes):
    return {
        "decimals": 0,
        "shown_gpu_hours": {"paid": 2000.0, "productive": 1500.0, "lost": 400.0},
        "top_causes": [cause("GPU lost from the bus", 300.0)],
        "goodput": {"low": 0.75, "high": 0.9, "is_interval": False},
        "coverage": {"unknown_share_of_allocated": 0.18},
    } | changes


def test_sentence_names_the_largest_loss():
    assert make_sentence(headline()) == (
        "Of 2,000 GPU-hours paid for, 1,500 became training progress that was kept. 400 were lost "
        "beyond normal overhead, the largest part, 300, to GPU lost from the bus."
    )


def test_sentence_says_so_when_one_cause_is_all():
    only = cause("Wrong configuration", 400.0, is_suspected=True)
    assert make_sentence(headline(top_causes=[only])).endswith(
        "400 were lost beyond normal overhead, all of it to wrong configuration (suspected)."
    )


def test_sentence_gives_an_interval_when_much_was_not_observed():
    wide = {"low": 0.75, "high": 0.9, "is_interval": True}
    assert make_sentence(headline(goodput=wide)).endswith(
        " 18% of held time was not observed, so goodput lies between 75.0% and 90.0%."
    )


def test_sentence_of_a_week_without_loss():
    assert make_sentence(headline(top_causes=[])).endswith(
        "Nothing was lost beyond normal overhead."
    )


def fleet(metric, value, unit="ratio", cluster="x"):
    return {
        "metric": metric,
        "scope": "fleet",
        "scope_value": "",
        "cluster": cluster,
        "value": value,
        "numerator": None,
        "denominator": None,
        "unit": unit,
    }


def first_screen(*metrics, classes=(), objectives=None):
    account = make_account([{"unit_ms": 10 * 5040 * 3_600_000} | STATE], [GROUP], classes, [])
    return make_headline(account, metrics, objectives or {}, [])


STATE = {
    "state": "I.no_demand",
    "state_label": "Free",
    "state_group": "no_demand",
    "gpu_hours": 10.0,
}
GROUP = {"state_group": "no_demand", "label": "Free", "kind": "no_demand"}


def test_demanded_time_that_was_not_observed_may_have_been_progress():
    demand = {"metric": "goodput_demand", "scope": "fleet", "scope_value": "", "cluster": "a"}
    amounts = {"value": 0.5, "numerator": 5 * 3600, "denominator": 10 * 3600, "unit": "ratio"}
    topic = {"topic": "unknown_time", "amount": 2, "whole": 8, "unit": "GPU-hours"}
    account = make_account([{"unit_ms": 10 * 5040 * 3_600_000} | STATE], [GROUP], (), [])
    goodput = make_headline(account, [demand | amounts], {}, [topic])["goodput"]
    assert goodput["is_interval"]
    assert (goodput["demand"], goodput["demand_high"]) == (0.5, 0.7)


def test_money_lost_leaves_out_normal_overhead():
    row = {"unit_ms": 0, "gpu_hours": 0.0}
    classes = [
        row | {"class": "gpu.lost", "lost_dollars": 12.5},
        row | {"class": "app.code", "lost_dollars": None},
        row | {"class": "base.overhead", "lost_dollars": 99.0},
    ]
    metrics = [fleet("cost_dollars", 400.0, "dollars"), fleet("priced_share", 0.8)]
    assert first_screen(*metrics, classes=classes)["money"] == {
        "cost_dollars": 400.0,
        "lost_dollars": 12.5,
        "priced_share": 0.8,
    }
    assert first_screen(classes=classes)["money"] is None


def test_budgets_are_those_of_the_objectives():
    metrics = [
        fleet("job_success", 0.9),
        fleet("success_budget_jobs", 0.5, "jobs"),
        fleet("success_budget_burnt", 20.0),
        fleet("availability_budget_hours", 2.0, "node-hours"),
    ]
    [budget] = first_screen(*metrics, objectives={"job_success": 0.995})["budgets"]
    assert budget == {
        "metric": "job_success",
        "objective": 0.995,
        "value": 0.9,
        "budget": 0.5,
        "unit": "jobs",
        "burnt": 20.0,
    }
