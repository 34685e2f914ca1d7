"""`goodput build` and `check`: windows, parameters, failed checks."""

import json

import pytest
from click.testing import CliRunner

from goodput.cli import main


@pytest.mark.usefixtures("models")
def test_a_build_says_the_week_it_chose(goodput, tables):
    goodput("import", tables)
    result = goodput("build")

    assert result.exit_code == 0
    assert "window: 2026-W09, the last week that the data reach" in result.stderr


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--from", "2026-03-02T00:00:00Z"], 2),
        (["--from", "2026-03-02", "--to", "2026-03-03T00:00:00Z"], 2),
        (["--from", "2026-03-03T00:00:00Z", "--to", "2026-03-02T00:00:00Z"], 2),
        (["--week", "2026-10"], 2),
        (["--week", "2026-W10", "--from", "2026-03-02T00:00:00Z"], 2),
        (["--week", "2026-W10", "--param", "hang_min_s"], 2),
        (["--week", "2026-W10", "--param", "hang_min_s=long"], 2),
        (["--week", "2026-W10", "--param", "nothing=1"], 2),
        (["--week", "2026-W10", "--as-of", "2026-03-02T00:00:00"], 2),
        (["--week", "2026-W10", "--param", "hang_min_s=90"], 0),
    ],
)
def test_options_of_build_are_checked(goodput, tables, options, code):
    goodput("import", tables)
    result = goodput("build", *options)

    assert result.exit_code == code, result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.usefixtures("models")
def test_a_failed_check_exits_with_3_and_the_models_are_there(goodput, tables):
    (tables / "jobs.ndjson").write_text('{"job": "J2", "name": "bad"}\n')
    goodput("import", tables)
    result = goodput("build", "--week", "2026-W10")
    checked = goodput("check", "-o", "json")

    assert result.exit_code == 3
    assert "warn: loose: 1 row. Jobs without a team." in result.stderr
    assert "error: strict: 1 row. No job may be called bad." in result.stderr
    assert checked.exit_code == 3
    rows = json.loads(checked.stdout)
    assert [(row["result"], row["name"], row["severity"]) for row in rows[:3]] == [
        ("fails", "strict", "error"),
        ("warns", "loose", "warn"),
        ("holds", "grain of staged.jobs", "error"),
    ]
    table = goodput("check").stdout
    assert table.splitlines()[1].split()[:3] == ["fails", "strict", "1"]
    assert "error" not in table
    found = {row["name"]: row["row_count"] for row in rows}
    assert found == {
        "loose": 1,
        "strict": 1,
        "grain of staged.jobs": 0,
        "grain of staged.nodes": 0,
        "grain of ledger.gpu_time": 0,
    }
    shown = goodput("query", "-o", "csv", "select job from checks.strict")
    assert shown.stdout == "job\nJ2\n"


@pytest.mark.usefixtures("models")
def test_a_window_in_which_nothing_was_paid_for_is_no_data(goodput, tables, models):
    # The real ledger of a lake whose only node came on 2026-02-20.
    model = models / "30_ledger/310_gpu_time.sql"
    model.write_text(model.read_text() + "\nwhere getvariable('window_start') >= '2026-02-20'\n")
    nodes = models / "10_staged/111_nodes.sql"
    nodes.write_text(
        nodes.read_text().replace("gpus from", "gpus, registered_at as paid_from from")
    )
    goodput("import", tables)

    early = goodput("build", "--week", "2026-W02")
    assert early.exit_code == 4
    assert early.stderr.splitlines()[-1] == (
        "error: no GPU was paid for from 2026-01-05 00:00 to 2026-01-12 00:00 UTC, as far as the"
        " lake knows: its first node is from 2026-02-20 00:00; take another window"
    )
    metrics = goodput("metrics", "--week", "2026-W02", "--metric", "goodput_paid")
    assert (metrics.exit_code, metrics.stdout) == (4, "")
    assert metrics.stderr.splitlines()[-1] == early.stderr.splitlines()[-1]

    assert goodput("build", "--week", "2026-W10").exit_code == 0
    # What was built stays what is asked.
    assert goodput("build", "--week", "2026-W02").exit_code == 4
    kept = goodput("query", "-o", "csv", "select date(window_start) as day from meta.build")
    assert kept.stdout == "day\n2026-03-02\n"

    (tables / "nodes.ndjson").unlink()
    (tables / "new").mkdir()
    (tables / "jobs.ndjson").rename(tables / "new" / "jobs.ndjson")
    other = CliRunner().invoke(
        main, ["--lake", str(tables / "lake"), "import", str(tables / "new")]
    )
    assert other.exit_code == 0
    none = CliRunner().invoke(main, ["--lake", str(tables / "lake"), "build", "--week", "2026-W02"])
    assert (none.exit_code, "it knows of no node; import or collect some" in none.stderr) == (
        4,
        True,
    )

    bad = {"node_uid": "u1", "gpus": "two", "paid_from": "2026-03-02T00:00:00Z"}
    (tables / "new" / "nodes.ndjson").write_text(json.dumps(bad))
    CliRunner().invoke(main, ["--lake", str(tables / "lake"), "import", str(tables / "new")])
    none = CliRunner().invoke(main, ["--lake", str(tables / "lake"), "build", "--week", "2026-W02"])
    assert (
        "it knows of no node, and quarantine has 1 problem of the table nodes;"
        " see goodput query 'from quarantine', correct them and import again"
    ) in none.stderr


def test_a_doubled_key_breaks_the_grain(goodput, models, tables):
    (models / "10_staged/110_jobs.sql").write_text(
        "-- Jobs.\n--\n-- grain: job\nselect job, name, team from raw.jobs, range(2)\n"
    )
    goodput("import", tables)
    result = goodput("build", "--week", "2026-W10")

    assert result.exit_code == 3
    assert "grain of staged.jobs: 1 row. One row per job in staged.jobs." in result.stderr


def test_a_model_that_does_not_run_is_named(goodput, models, tables, tmp_path):
    goodput("import", tables)
    goodput("build", "--week", "2026-W10")
    (models / "10_staged/110_jobs.sql").write_text("-- Jobs.\nselect nothing from raw.jobs\n")
    result = goodput("build", "--week", "2026-W10")

    assert result.exit_code == 1
    assert result.stderr.startswith("error: the model staged.jobs failed: ")
    assert (
        goodput("query", "from staged.jobs").exit_code == 0
    )  # the last whole build is still there
    assert [path.name for path in (tmp_path / "lake").glob(".*")] == []


@pytest.mark.usefixtures("models")
def test_rows_that_were_ingested_later_are_not_used(goodput, tables):
    (tables / "jobs.ndjson").write_text(
        '{"job": "J1"}\n{"job": "J2", "ingested_at": "2026-03-05T00:00:00Z"}\n'
    )
    goodput("import", tables)
    seen = {}
    for day in (4, 5):
        goodput("build", "--week", "2026-W10", "--as-of", f"2026-03-0{day}T00:00:00Z")
        seen[day] = goodput("query", "-o", "csv", "select job from staged.jobs order by 1").stdout

    assert seen == {4: "job\nJ1\n", 5: "job\nJ1\nJ2\n"}
