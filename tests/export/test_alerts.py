"""Each alert fires on what it is for and on nothing else; promtool plays the time."""

import re

import yaml
from fenced import ROOT

from goodput._resources import catalog_dir
from goodput.exported import exported_names

RULES = ROOT / "dashboards" / "grafana" / "alerts.yml"
ALERTS = [
    rule["alert"]
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]

# A sample an hour for nine days; what is looked at lies at the end of the eighth.
NOW = "192h"
NOW_S = 192 * 3600


def steady(value):
    """The same value for all days."""
    return f"{value}x216"


def turned(before, after):
    """One value for seven days and twelve hours, another one since."""
    return f"{before}x179 {after}x36"


def pool(name):
    return f'{name}{{cluster="c",scope="pool",scope_value="train"}}'


def fleet(name, **labels):
    more = "".join(f',{key}="{text}"' for key, text in labels.items())
    return f'{name}{{cluster="c",scope="fleet"{more}}}'


def failures(name="gpu.lost"):
    return f'goodput_interruptions{{cluster="c",scope="class",scope_value="{name}"}}'


def node(name, more=""):
    return f'{name}{{cluster="c",scope="node",scope_value="u-1"{more}}}'


OBJECTIVE = {'goodput_objective_ratio{metric="job_success"}': steady(0.995)}
BUDGET = fleet("goodput_success_budget_burnt_ratio")
BOUND = fleet("goodput_job_success_ratio_bound", bound="high")
BURNT = pool("goodput_availability_budget_burnt_ratio")
PAID = fleet("goodput_paid_ratio")
BUILT = "goodput_build_timestamp_seconds"
NEWEST = 'goodput_input_newest_timestamp_seconds{table_name="pods"}'
OLD = 'goodput_input_newest_timestamp_seconds{table_name="nodes"}'
BEAT = 'goodput_pipeline_last_success_timestamp_seconds{job_name="collect"}'
LEMON = node("goodput_node_lemon")
INFO = {node("goodput_node_info", ',node_name="n-1"'): steady(1)}

FIRING = 'count(ALERTS{{alertname="{}",alertstate="firing"}}) or vector(0)'

# What happens, the alert, the series, and whether it fires.
CASES = [
    (
        "falls by more than a tenth",
        "GoodputDropped",
        {fleet("goodput_demand_ratio"): turned(0.8, 0.71)},
        1,
    ),
    ("falls by less", "GoodputDropped", {fleet("goodput_demand_ratio"): turned(0.8, 0.73)}, 0),
    ("rises", "GoodputDropped", {fleet("goodput_demand_ratio"): turned(0.7, 0.8)}, 0),
    ("no build a week ago", "GoodputDropped", {fleet("goodput_demand_ratio"): "_x179 0.1x36"}, 0),
    (
        "an empty queue",
        "GoodputDropped",
        {fleet("goodput_demand_ratio"): steady(0.8), PAID: turned(0.8, 0.2)},
        0,
    ),
    (
        "jobs fail beyond chance",
        "GoodputSuccessBudgetBurnt",
        OBJECTIVE | {BUDGET: steady(4), BOUND: steady(0.99)},
        1,
    ),
    (
        "one job of ten fails",
        "GoodputSuccessBudgetBurnt",
        OBJECTIVE | {BUDGET: steady(20), BOUND: steady(0.9975)},
        0,
    ),
    (
        "fewer jobs fail than may",
        "GoodputSuccessBudgetBurnt",
        OBJECTIVE | {BUDGET: steady(0.5), BOUND: steady(0.99)},
        0,
    ),
    ("nodes out too long", "GoodputAvailabilityBudgetBurnt", {BURNT: steady(1.01)}, 1),
    ("nodes out as long as they may", "GoodputAvailabilityBudgetBurnt", {BURNT: steady(1)}, 0),
    ("half a budget in a day", "GoodputAvailabilityBudgetBurnsFast", {BURNT: turned(0.2, 0.8)}, 1),
    ("a tenth in a day", "GoodputAvailabilityBudgetBurnsFast", {BURNT: turned(0.7, 0.8)}, 0),
    (
        "a class doubles",
        "GoodputFailureClassSurge",
        {failures(): turned(2, 5), PAID: steady(0.8)},
        1,
    ),
    (
        "few interruptions",
        "GoodputFailureClassSurge",
        {failures(): turned(1, 4), PAID: steady(0.8)},
        0,
    ),
    ("as many as ever", "GoodputFailureClassSurge", {failures(): steady(50), PAID: steady(0.8)}, 0),
    ("a new class", "GoodputFailureClassSurge", {failures(): "_x179 5x36", PAID: steady(0.8)}, 1),
    (
        "the first build",
        "GoodputFailureClassSurge",
        {failures(): "_x179 5x36", PAID: "_x179 0.8x36"},
        0,
    ),
    ("a lemon", "GoodputLemonNode", INFO | {LEMON: steady(1)}, 1),
    ("a node like any other", "GoodputLemonNode", INFO | {LEMON: steady(0)}, 0),
    ("suspected only today", "GoodputLemonNode", INFO | {LEMON: turned(0, 1)}, 0),
    ("no build for two days", "GoodputBuildStale", {BUILT: steady(NOW_S - 48 * 3600)}, 1),
    ("built last night", "GoodputBuildStale", {BUILT: steady(NOW_S - 12 * 3600)}, 0),
    ("no textfile", "GoodputExportMissing", {PAID: steady(0.8)}, 1),
    ("a textfile", "GoodputExportMissing", {BUILT: steady(NOW_S)}, 0),
    (
        "collectors stood still",
        "GoodputCollectionStale",
        {BUILT: steady(NOW_S), NEWEST: steady(NOW_S - 7 * 3600), OLD: steady(0)},
        1,
    ),
    (
        "one table is old",
        "GoodputCollectionStale",
        {BUILT: steady(NOW_S), NEWEST: steady(NOW_S - 600), OLD: steady(0)},
        0,
    ),
    (
        "only the build is old",
        "GoodputCollectionStale",
        {BUILT: steady(0), NEWEST: steady(-600)},
        0,
    ),
    ("no collect job for five hours", "GoodputCollectorSilent", {BEAT: steady(NOW_S - 18000)}, 1),
    ("a collect job half an hour ago", "GoodputCollectorSilent", {BEAT: steady(NOW_S - 1800)}, 0),
    (
        "another job is silent",
        "GoodputCollectorSilent",
        {BEAT.replace("collect", "weekly"): steady(0)},
        0,
    ),
    (
        "a check fails",
        "GoodputChecksBroken",
        {'goodput_checks_broken{severity="error"}': steady(1)},
        1,
    ),
    (
        "a check warns",
        "GoodputChecksBroken",
        {'goodput_checks_broken{severity="warn"}': steady(1)},
        0,
    ),
]


def plan(cases):
    """A file for `promtool test rules`, in which each case is a test of its own."""
    tests = [
        {
            "name": what,
            "interval": "1h",
            "input_series": [{"series": name, "values": text} for name, text in series.items()],
            "promql_expr_test": [
                {
                    "expr": FIRING.format(alert),
                    "eval_time": NOW,
                    "exp_samples": [{"labels": "{}", "value": fires}],
                }
            ],
        }
        for what, alert, series, fires in cases
    ]
    return {"rule_files": [str(RULES)], "evaluation_interval": "1h", "tests": tests}


def test_every_alert_is_seen_to_fire_and_not_to_fire():
    for alert in ALERTS:
        assert {fires for _, name, _, fires in CASES if name == alert} == {0, 1}, alert


def test_the_rules_are_well_formed(promtool):
    code, said = promtool("check", "rules", RULES)

    assert (code, f"{len(ALERTS)} rules found" in said) == (0, True)


def test_alerts_fire_on_what_they_are_for_and_on_nothing_else(promtool, tmp_path):
    (tmp_path / "plan.yml").write_text(yaml.safe_dump(plan(CASES)))

    assert promtool("test", "rules", tmp_path / "plan.yml") == (
        0,
        f"Unit Testing:  {tmp_path / 'plan.yml'}\n  SUCCESS\n\n",
    )


def test_an_alert_says_what_and_where(promtool, tmp_path):
    given = plan([("a lemon", "GoodputLemonNode", INFO | {LEMON: steady(1)}, 1)])
    description = "`goodput explain n-1` shows them; `goodput advise` what to do."
    given["tests"][0]["alert_rule_test"] = [
        {
            "eval_time": NOW,
            "alertname": "GoodputLemonNode",
            "exp_alerts": [
                {
                    "exp_labels": {
                        "severity": "ticket",
                        "cluster": "c",
                        "scope": "node",
                        "scope_value": "u-1",
                        "node_name": "n-1",
                    },
                    "exp_annotations": {
                        "summary": "Node n-1 was in more failures than chance allows.",
                        "description": description,
                    },
                }
            ],
        }
    ]
    (tmp_path / "plan.yml").write_text(yaml.safe_dump(given))

    code, said = promtool("test", "rules", tmp_path / "plan.yml")
    assert code == 0, said


def test_alerts_ask_for_metrics_that_exist():
    text = (catalog_dir() / "prometheus_export.toml").read_text() + (
        ROOT / "pipelines" / "job.py"
    ).read_text().replace('"last_success', '"goodput_pipeline_last_success')
    names = {exported.name for exported in exported_names().values()}
    asked = set(re.findall(r"\bgoodput_\w+", RULES.read_text(encoding="utf-8")))

    unknown = {name for name in asked if name.removesuffix("_bound") not in names}
    assert {name for name in unknown if f'"{name}"' not in text} == set()
