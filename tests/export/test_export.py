"""`goodput export prometheus`: every metric of a build, by stable names, in one step."""

import shutil
import tomllib

import pytest
from click.testing import CliRunner
from scraped import scraped

from goodput._resources import catalog_dir
from goodput.cli import main
from goodput.exported import exported_names
from goodput.exposition import exposition
from goodput.lake import Lake
from goodput.warehouse.connection import connect
from goodput.warehouse.export import of_scopes, read_families

METRICS = tomllib.loads((catalog_dir() / "metrics.toml").read_text(encoding="utf-8"))
EXPORT = tomllib.loads((catalog_dir() / "prometheus_export.toml").read_text(encoding="utf-8"))
HOSTILE = 'pool"} 1\nup 0\n\\ <script>'


@pytest.fixture
def goodput(week, tmp_path):
    """The command line over a lake whose last build is the made-up week."""
    lake = shutil.copytree(week.parent / "lake", tmp_path / "lake")
    shutil.copy(week, lake / "warehouse.duckdb")

    def run(*words):
        return CliRunner().invoke(main, ["--lake", str(lake), *map(str, words)])

    return run


def value(families, name, **labels):
    """The only value of a family with these labels."""
    [family] = [family for family in families if family.name == name]
    [found] = [value for given, value in family.samples if labels.items() <= given.items()]
    return found


def test_every_metric_has_one_name_that_no_other_has():
    names = [exported.name for exported in exported_names().values()]
    own = [family["name"] for family in EXPORT["family"]]
    derived = [name + ending for name in names for ending in ("", "_bound", "_events")]

    assert list(exported_names()) == list(METRICS)
    assert len(set(derived + own)) == len(derived) + len(own)
    assert set(EXPORT["renamed"]) <= set(METRICS)


def test_no_name_has_a_unit_that_prometheus_would_have_as_another():
    words = {word for one in exported_names().values() for word in one.name.split("_")}

    assert words & {"minutes", "hours", "days", "weeks", "percent", "ms"} == set()


def test_every_unit_of_the_metrics_has_its_base_unit():
    assert {entry["unit"] for entry in METRICS.values()} <= set(EXPORT["unit"])


@pytest.mark.parametrize(
    ("metric", "name", "factor"),
    [
        ("goodput_paid", "goodput_paid_ratio", 1),
        ("job_success", "goodput_job_success_ratio", 1),
        ("mtbf_hours", "goodput_mtbf_seconds", 3600),
        ("gpu_hours", "goodput_gpu_seconds", 3600),
        ("lost_gpu_hours", "goodput_lost_gpu_seconds", 3600),
        ("job_success_gpu_hours", "goodput_job_success_by_gpu_time_ratio", 1),
        ("availability_budget_hours", "goodput_availability_budget_node_seconds", 3600),
        ("failures_per_1000_node_days", "goodput_failures_per_node_second", 1 / 86_400_000),
        ("interruptions", "goodput_interruptions", 1),
        ("failure_dispersion", "goodput_failure_dispersion_ratio", 1),
    ],
)
def test_names_end_with_the_base_unit(metric, name, factor):
    exported = exported_names()[metric]

    assert (exported.name, exported.factor) == (name, pytest.approx(factor, rel=1e-15))


def test_values_bounds_and_events_are_those_of_the_metrics(week, families):
    with connect(week, read_only=True) as con:
        [(hours, low, high, events)] = con.sql(
            "select value, low, high, event_count from metrics.time_between_failures"
            " where metric = 'mtbf_hours' and scope = 'fleet'"
        ).fetchall()

    assert value(families, "goodput_mtbf_seconds", scope="fleet") == hours * 3600
    assert value(families, "goodput_mtbf_seconds_bound", scope="fleet", bound="low") == low * 3600
    assert value(families, "goodput_mtbf_seconds_bound", scope="fleet", bound="high") == high * 3600
    assert value(families, "goodput_mtbf_seconds_events", scope="fleet") == events


def test_the_window_and_the_build_are_metrics_too(week, families):
    with connect(week, read_only=True) as con:
        [(built,)] = con.sql("select epoch(built_at) from meta.build").fetchall()
        [(broken,)] = con.sql(
            "select count(*) from checks.summary where severity = 'error' and row_count > 0"
        ).fetchall()

    # 2026-11-23 and 2026-11-30, 00:00 UTC.
    assert value(families, "goodput_window_start_timestamp_seconds") == 1795392000
    assert value(families, "goodput_window_end_timestamp_seconds") == 1795996800
    assert value(families, "goodput_build_timestamp_seconds") == built
    assert value(families, "goodput_build_info") == 1
    assert value(families, "goodput_objective_ratio", metric="job_success") == 0.995
    assert value(families, "goodput_checks_broken", severity="error") == broken


def test_promtool_has_nothing_to_say(exported, promtool):
    assert promtool("check", "metrics", input=exported) == (0, "")


def test_a_real_prometheus_scrapes_the_file_and_answers(goodput, families, tmp_path):
    file = tmp_path / "goodput.prom"
    result = goodput("export", "prometheus", "--out", file)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("wrote ")

    with scraped(tmp_path / "data", file.read_text()) as prometheus:
        paid = prometheus.ask('goodput_paid_ratio{scope="fleet"}')
        series = prometheus.ask('count({__name__=~"goodput_.+"})')
        worst = prometheus.ask(
            "topk(1, goodput_node_lost_gpu_seconds"
            " * on (cluster, scope, scope_value) group_left (node_name) goodput_node_info)"
        )

    [(labels, text)] = paid
    assert labels == {"__name__": "goodput_paid_ratio", "cluster": "lab", "scope": "fleet"}
    assert float(text) == value(families, "goodput_paid_ratio", scope="fleet")
    assert series == [({}, str(sum(len(family.samples) for family in families)))]
    [lost] = [one.samples for one in families if one.name == "goodput_node_lost_gpu_seconds"]
    assert [(labels["node_name"], float(text)) for labels, text in worst] == [
        ("h100-00", max(seconds for _, seconds in lost))
    ]


def test_hostile_names_of_a_cluster_break_no_line(week, tmp_path):
    path = shutil.copy(week, tmp_path / "hostile.duckdb")
    with connect(path) as con:
        con.execute("update metrics.goodput set scope_value = ? where scope = 'pool'", [HOSTILE])
        con.execute("update report.nodes set node_name = ?", [HOSTILE])
        families = read_families(con)
    with scraped(tmp_path / "data", exposition(families)) as prometheus:
        pools = prometheus.ask('goodput_paid_ratio{scope="pool"}')
        nodes = prometheus.ask("count by (node_name) (goodput_node_info)")
        up = prometheus.ask("up")

    assert {labels["scope_value"] for labels, _ in pools} == {HOSTILE}
    assert [labels["node_name"] for labels, _ in nodes] == [HOSTILE]
    assert up == [({"__name__": "up"}, "1")]


def test_scopes_can_be_chosen(families, goodput):
    few = of_scopes(families, ["fleet", "pool"])
    scopes = {labels.get("scope") for family in few for labels, _ in family.samples}

    assert scopes == {None, "fleet", "pool"}
    wrong = goodput("export", "prometheus", "--scope", "galaxy")
    assert wrong.exit_code == 2
    assert "there is no scope 'galaxy' in this build; known are action, " in wrong.stderr


def test_without_a_file_the_text_is_on_stdout(goodput, exported):
    result = goodput("export", "prometheus")

    assert (result.exit_code, result.stdout, result.stderr) == (0, exported, "")


def test_a_file_that_cannot_be_written_is_one_sentence_and_leaves_nothing(goodput, tmp_path):
    (tmp_path / "full").mkdir()
    result = goodput("export", "prometheus", "--out", tmp_path / "full" / "no" / "goodput.prom")

    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert list((tmp_path / "full").iterdir()) == []


def test_before_a_build_there_are_no_data(tmp_path):
    Lake.open(tmp_path / "lake", create=True)
    result = CliRunner().invoke(main, ["--lake", str(tmp_path / "lake"), "export", "prometheus"])

    assert result.exit_code == 4
    assert "run `goodput build` first" in result.stderr
