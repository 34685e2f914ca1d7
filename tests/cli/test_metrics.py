"""`goodput metrics` and `report`: of the last build, or of a window."""

import json

import pytest

from goodput.lake import Lake
from goodput.report.history import Earlier
from goodput.warehouse.build import build
from goodput.window import Window


def test_metrics_of_the_last_build(built):
    [row] = json.loads(built("metrics", "-o", "json").stdout)

    assert (row["metric"], row["value"], row["low"]) == ("goodput_paid", 0.5, None)
    assert row["window_start"] == "2026-03-02T00:00:00Z"


def test_metrics_of_another_window_leave_the_build_alone(built, tmp_path):
    before = (tmp_path / "lake/warehouse.duckdb").read_bytes()
    result = built("metrics", "--week", "2026-W09", "-o", "json")

    assert json.loads(result.stdout)[0]["window_start"] == "2026-02-23T00:00:00Z"
    assert (tmp_path / "lake/warehouse.duckdb").read_bytes() == before


@pytest.mark.parametrize(
    ("option", "value", "hint"),
    [("--metric", "godput_paid", "goodput_paid"), ("--scope", "fleets", "fleet")],
)
def test_an_unknown_metric_or_scope_gets_a_hint(built, option, value, hint):
    result = built("metrics", option, value)

    assert result.exit_code == 2
    assert f"did you mean {hint}" in result.stderr


def test_a_build_without_paid_time_that_was_kept_says_so(goodput, tables, models, tmp_path):
    ledger = models / "30_ledger/310_gpu_time.sql"
    ledger.write_text(ledger.read_text() + "\nwhere false\n")
    metric = models / "40_metrics/410_goodput.sql"
    metric.write_text(metric.read_text() + "\nfrom ledger.gpu_time\n")
    goodput("import", tables)
    build(Lake.open(tmp_path / "lake"), Window.of_week("2026-W10"))
    result = goodput("metrics", "--metric", "goodput_paid")

    assert result.exit_code == 4
    assert result.stderr == (
        "error: no GPU was paid for in this window; build one that has nodes\n"
    )


def test_the_table_of_all_metrics_leaves_out_single_jobs_and_says_so(built, models):
    path = models / "40_metrics/410_goodput.sql"
    text = path.read_text()
    of_a_job = text.replace("'fleet'", "'job'").removeprefix("-- Goodput.\n")
    path.write_text(text + "union all\n" + of_a_job)
    built("build", "--week", "2026-W10")

    short, all_rows = built("metrics"), json.loads(built("metrics", "-o", "json").stdout)
    assert [line.split()[1] for line in short.stdout.splitlines()] == ["scope", "fleet"]
    assert "1 row of single jobs and nodes left out" in short.stderr
    assert [row["scope"] for row in all_rows] == ["fleet", "job"]
    assert built("metrics", "--scope", "job").stdout.count("goodput_paid") == 1
    assert built("metrics", "--metric", "goodput_paid").stdout.count("goodput_paid") == 2


@pytest.fixture
def written(monkeypatch):
    """What the report's writer was asked for, instead of the pages."""
    asked = []
    monkeypatch.setattr("goodput.report.write_report", lambda *paths: asked.append(paths))
    return asked


def test_a_report_without_a_window_is_of_the_last_build(built, written, tmp_path):
    before = (tmp_path / "lake/warehouse.duckdb").stat().st_mtime_ns
    result = built("report", "--out", tmp_path / "out")

    assert result.stdout == f"{tmp_path / 'out' / 'report.html'}\n"
    assert written == [(tmp_path / "lake/warehouse.duckdb", tmp_path / "out", [], Earlier())]
    assert (tmp_path / "lake/warehouse.duckdb").stat().st_mtime_ns == before


def test_a_report_of_a_week_builds_it_first(built, written, tmp_path):
    result = built("report", "--week", "2026-W09", "--out", tmp_path / "out")
    window = "select window_start::date::varchar as day from meta.build"

    assert result.exit_code == 0
    assert len(written) == 1
    assert built("query", "-o", "csv", window).stdout == "day\n2026-02-23\n"


@pytest.mark.usefixtures("models")
def test_a_report_with_a_failed_check_is_written_and_exits_with_3(goodput, tables, written):
    (tables / "jobs.ndjson").write_text('{"job": "J2", "name": "bad"}\n')
    goodput("import", tables)
    result = goodput("report", "--week", "2026-W10")

    assert result.exit_code == 3
    assert len(written) == 1
