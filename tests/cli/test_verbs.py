import io
import json
import subprocess
import sys
from datetime import UTC, datetime

import click
import polars as pl
import pytest
from click.testing import CliRunner

import goodput as package
from goodput.cli import main
from goodput.lake import Lake
from goodput.report.history import Earlier
from goodput.warehouse.build import build
from goodput.window import Window


def subcommands(command, words=()):
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from subcommands(command.get_command(context, name), (*words, name))


ALL = dict(subcommands(main))


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_verb_explains_itself_with_an_example(goodput, words):
    result = goodput(*words, "--help", lake=False)

    assert result.exit_code == 0
    if not isinstance(ALL[words], click.Group):
        assert f"Example: goodput {' '.join(words)}" in result.stdout


def test_help_starts_quickly_and_loads_nothing_heavy():
    program = (
        "import sys, goodput.cli\n"
        "try: goodput.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'duckdb', 'polars', 'pyarrow', 'plotly', 'scipy', 'numpy', 'jinja2', 'yaml'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


# ---------------------------------------------------------------- import, query


def test_import_says_what_it_took_on_stderr(goodput, tables):
    first = goodput("import", tables)
    again = goodput("import", tables)

    assert first.stdout == ""
    assert first.stderr.splitlines() == [
        "jobs: 1 row, 1 of them new",
        "node_conditions: 1 row, 1 of them new",
        "nodes: 1 row, 1 of them new",
    ]
    assert again.stderr.splitlines()[0] == "jobs: 1 row, 0 of them new"


@pytest.mark.usefixtures("models")
def test_quarantine_is_there_before_any_build_and_fresh_after(goodput, tables):
    (tables / "steps.ndjson").write_text('{"job": "J1", "attempt": "one", "step": 1, "end": 1}\n')
    first = goodput("import", tables)
    before = goodput("query", "-o", "json", "select file, column_name, value from quarantine")
    goodput("build", "--week", "2026-W10")
    (tables / "pods.csv").write_text("pod_uid,gpus\np,8k\n")
    goodput("import", tables)
    after = goodput("query", "-o", "json", "select file, value from quarantine order by file")

    assert first.exit_code == 0
    assert "1 quarantined: goodput query 'from quarantine'" in first.stderr
    assert json.loads(before.stdout) == [
        {"file": "steps.ndjson", "column_name": "attempt", "value": "one"}
    ]
    assert json.loads(after.stdout) == [
        {"file": "pods.csv", "value": "8k"},
        {"file": "steps.ndjson", "value": "one"},
    ]


def test_strict_import_takes_the_rest_and_exits_with_3(goodput, tables):
    (tables / "pods.csv").write_text("pod_uid,gpus\np,8k\n")
    result = goodput("import", "--strict", tables)

    assert result.exit_code == 3
    assert result.stderr.endswith("error: --strict: 1 problem; the rest was taken\n")
    assert goodput("query", "-o", "csv", "select job from raw.jobs").stdout == "job\nJ1\n"


@pytest.mark.parametrize("content", ["", "nonsense\n"])
def test_an_import_of_nothing_at_all_exits_with_4(goodput, tmp_path, content):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "jobs.ndjson").write_text(content)
    result = goodput("import", tmp_path / "in")

    assert result.exit_code == 4
    assert "has no row that could be taken" in result.stderr


def test_an_import_of_a_folder_that_is_not_there_is_a_usage_error(goodput, tmp_path):
    assert goodput("import", tmp_path / "none").exit_code == 2


EXACT = """
    select 170141183460469231731687303715884105727::hugeint as huge, 1.50::decimal(9, 2) as price,
        3::decimal(9, 2) as whole, timestamptz '2026-03-02 01:00:00.5+01' as instant,
        [1, null] as list, {'a': [true]} as struct, 'NaN'::double as nan, null as nothing,
        date '2026-03-02' as day, '\x1b[31m"x",' as text
"""


def test_json_keeps_values_exact(goodput, tables):
    goodput("import", tables)
    result = goodput("query", "-o", "json", EXACT)

    assert json.loads(result.stdout) == [
        {
            "huge": 170141183460469231731687303715884105727,
            "price": "1.50",
            "whole": 3,
            "instant": "2026-03-02T00:00:00.500000Z",
            "list": [1, None],
            "struct": {"a": [True]},
            "nan": None,
            "nothing": None,
            "day": "2026-03-02",
            "text": '\x1b[31m"x",',
        }
    ]


def test_csv_and_tables_show_the_same_values(goodput, tables):
    goodput("import", tables)

    assert goodput("query", "-o", "csv", EXACT).stdout.splitlines()[1] == (
        "170141183460469231731687303715884105727,1.50,3,2026-03-02T00:00:00.500000Z,"
        '"[1, null]","{""a"": [true]}",,,2026-03-02,"\x1b[31m""x"","'
    )
    assert goodput("query", "select 1 as n, 'a\nb\x1b[2J' as text").stdout == (
        "n  text\n1  a\\nb\\x1b[2J\n"
    )


@pytest.mark.parametrize(
    ("sql", "cell"),
    [
        ("'=1+1'", "'=1+1"),
        ("'+cmd|x'", "'+cmd|x"),
        ("'-2+3'", "'-2+3"),
        ("'@sum(a)'", "'@sum(a)"),
        ("chr(9) || '=1'", "'\t=1"),
        ("chr(13) || '=1'", '"\'\r=1"'),
        ("'a' || chr(13) || '=1'", '"a\r=1"'),
        ("'a=1'", "a=1"),
        ("'-5'", "-5"),
        ("-5", "-5"),
        ("-0.5::decimal(3, 1)", "-0.5"),
        ("-1e300::double", "-1e+300"),
        ("['=1']", '"[""=1""]"'),
    ],
)
def test_a_text_in_csv_is_no_formula(goodput, tables, sql, cell):
    goodput("import", tables)

    result = goodput("query", "-o", "csv", f"select {sql} as x")
    assert result.stdout_bytes.decode() == f"x\n{cell}\n"


def test_parquet_can_be_read_back(goodput, tables):
    goodput("import", tables)
    result = goodput("query", "-o", "parquet", "select job, ended_at from raw.jobs")

    assert pl.read_parquet(io.BytesIO(result.stdout_bytes)).rows() == [
        ("J1", datetime(2026, 3, 4, 10, tzinfo=UTC))
    ]


def test_no_rows_are_an_empty_list_and_a_remark(goodput, tables):
    goodput("import", tables)
    none = "select job from raw.jobs where false"

    assert json.loads(goodput("query", "-o", "json", none).stdout) == []
    assert goodput("query", "-o", "csv", none).stdout == "job\n"
    assert (goodput("query", none).stdout, goodput("query", none).stderr) == ("", "no rows\n")


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '{lake}/raw/x.parquet'",
        "explain analyze copy (select 1) to '{lake}/raw/x.parquet'",
        "select 1; select 2",
        "set enable_external_access = true",
        "create table t (i int)",
        "delete from raw.jobs",
        "attach '{lake}/other.duckdb'",
        "pragma database_list",
        "install httpfs",
        "load httpfs",
        "call pragma_version()",
        "",
    ],
)
def test_query_refuses_what_is_not_one_select(built, tmp_path, sql):
    result = built("query", sql.format(lake=tmp_path / "lake"))

    assert result.exit_code == 2
    assert result.stdout == ""
    assert not list((tmp_path / "lake").rglob("x.parquet"))


@pytest.mark.parametrize(
    "source",
    [
        "read_text('/etc/passwd')",
        "read_csv('/etc/passwd')",
        "read_blob('{lake}/manifest/*')",
        "glob('/*')",
        "read_parquet('http://127.0.0.1:9/x.parquet')",
        "read_parquet('{lake}/raw/../../secret.parquet')",
        "'/etc/passwd'",
    ],
)
def test_query_reaches_nothing_but_the_lakes_rows(built, tmp_path, source):
    pl.DataFrame({"secret": [1]}).write_parquet(tmp_path / "secret.parquet")
    result = built("query", f"select * from {source.format(lake=tmp_path / 'lake')}")

    assert result.exit_code == 2
    assert result.stdout == ""


def test_query_reads_raw_rows_and_models_together(built):
    sql = "select count(*) as n from raw.jobs join staged.jobs using (job)"

    assert built("query", "-o", "json", sql).stdout == '[\n{"n": 1}\n]\n'
    assert "gpu_time" in built("query", "select table_name from duckdb_tables()").stdout


def test_a_question_about_models_before_a_build_says_what_to_do(goodput, tables):
    goodput("import", tables)
    result = goodput("query", "select * from ledger.gpu_time")

    assert result.exit_code == 4
    assert "run `goodput build` first" in result.stderr


def test_a_build_that_cannot_be_read_says_what_to_do(built, tmp_path):
    (tmp_path / "lake/warehouse.duckdb").write_bytes(b"something else" * 1000)
    result = built("query", "select 1")

    assert result.exit_code == 1
    assert "run `goodput build`" in result.stderr
    assert "the last build cannot be read" in built("doctor").stderr
    assert built("doctor").exit_code == 0


def test_a_slip_in_sql_is_a_usage_error_without_a_traceback(built):
    for sql in ("selec 1", "select nope from raw.jobs", "select 'x'::integer"):
        result = built("query", sql)
        assert (result.exit_code, "Traceback" in result.stderr) == (2, False)


# ----------------------------------------------------------------- build, check


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


# ------------------------------------------------------------ metrics, explain


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


def test_explain_merges_the_gpus_of_a_job(built):
    found = json.loads(built("explain", "-o", "json", "llama").stdout)

    assert (found["kind"], found["key"], found["facts"]["namespace"]) == ("job", "J1", "ml")
    assert [
        (
            row["started_at"][11:16],
            row["ended_at"][11:16],
            row["attempt"],
            row["state"],
            row["gpus"],
        )
        for row in found["timeline"]
    ] == [
        ("00:00", "00:30", 1, "A.productive", 2),
        ("00:30", "00:59", 2, "A.lost.recompute", 1),
        ("00:30", "01:00", 2, "A.lost.recompute", 1),
    ]
    assert sum(row["gpu_hours"] for row in found["totals"]) == pytest.approx(119 / 60)
    [interruption] = found["interruptions"]
    assert interruption["lost_gpu_hours"] == 1.0
    assert [(item["source"], item["is_picked"]) for item in interruption["evidence"]] == [
        ("xid", True),
        ("exit", False),
    ]


def test_explain_one_attempt_in_words(built):
    lines = built("explain", "J1/1").stdout.splitlines()

    assert lines[0] == "job J1, attempt 1 in cluster default (name llama, namespace ml)"
    assert lines[-14:] == [
        "Interruptions",
        (
            "  2026-03-02T00:30:00Z  J1/1 failed: gpu.lost, confidence 90 % (proof), "
            "1.00 GPU-hours lost"
        ),
        "    confidence: +110 proof, -20 a rival",
        "    caused by: the restart of J0/2 after net.fabric",
        "    incident: gpu.lost 1",
        "    competing: net.link",
        "    * 2026-03-02T00:29:59Z xid: 79 on u1, root of gpu.lost  [kernel.log:12]",
        "    - 2026-03-02T00:29:59Z exit: exit code 1 on u1, either of app.code",
        "",
        "Incidents",
        ("  gpu.lost 1 on rack-1: 2 nodes, 1 interruption, 2 outages, 1.50 GPU-hours lost"),
        "",
        "Slow steps",
        (
            "  2026-03-02T00:00:00Z to 2026-03-02T00:20:00Z  J1/1: unk.slow, confidence 60 % (by "
            "elimination, u1 suspected), 200 records of 6000 ms a position where 5000 ms were "
            "possible: 200 s lost on each GPU (180 to 220)"
        ),
    ]


def test_a_long_explanation_is_summed_up_first(built, monkeypatch):
    found = json.loads(built("explain", "-o", "json", "J1").stdout)
    monkeypatch.setattr("goodput.cli.explain._SHORT", 0)
    lines = built("explain", "J1").stdout.splitlines()

    summed = lines.index("Where its GPU-hours went")
    assert lines[summed + 1].split() == ["spent_on", "gpu_hours", "share"]
    assert len(lines[: lines.index("Timeline (UTC)")]) == summed + 2 + len(found["sums"]) + 1
    assert sum(row["gpu_hours"] for row in found["sums"]) == pytest.approx(119 / 60)
    assert sum(row["share"] for row in found["sums"]) == pytest.approx(1)
    assert lines.index("GPU-hours by state and cause") > lines.index("Slow steps")


def test_explain_a_node_with_its_outages(built):
    lines = built("explain", "n1").stdout.splitlines()

    assert lines[0] == "node u1 in cluster default (name n1, gpus 2)"
    assert lines[-13:-8] == [
        "Outages",
        "  2026-03-02T00:00:00Z to 2026-03-02T00:01:00Z  node: gpu.lost (not planned, reboot)",
        "    incident: gpu.lost 1",
        "    - Ready=False Gone, 2026-03-02T00:00:00Z to now",
        "",
    ]
    assert lines[-5:] == [
        "Slow steps",
        (
            "  2026-03-02T00:00:00Z to 2026-03-02T00:20:00Z  J1/1: unk.slow, confidence 60 % (by "
            "elimination, u1 suspected), 200 records of 6000 ms a position where 5000 ms were "
            "possible: 200 s lost on each GPU (180 to 220)"
        ),
        "",
        "Suspected to slow its gangs down",
        ("  slow without a known cause: 3 of 3 gangs with it, 0 of 4 without it (p = 0.0078)"),
    ]


def test_explain_something_unknown_offers_what_is_near(built):
    result = built("explain", "lama")

    assert result.exit_code == 2
    assert "did you mean llama" in result.stderr


@pytest.mark.parametrize("verb", [["explain", "x"], ["metrics"], ["check"], ["report"]])
def test_before_a_build_the_remedy_is_named(goodput, tables, verb):
    goodput("import", tables)
    result = goodput(*verb)

    assert result.exit_code == 4
    assert "run `goodput build` first" in result.stderr


def test_without_a_lake_the_remedy_is_named(goodput):
    result = goodput("build")

    assert result.exit_code == 4
    assert "make one: `goodput import`" in result.stderr


# ------------------------------------------------------------------------ report


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


# ----------------------------------------------------- schema, compact, doctor


def test_schema_lists_columns_with_unit_and_meaning(goodput):
    result = goodput("schema", "raw.steps", "-o", "json")

    rows = {row["column"]: row for row in json.loads(result.stdout)}
    assert rows["first"] == {
        "table": "raw.steps",
        "column": "first",
        "type": "BIGINT",
        "unit": "steps",
        "meaning": "First position of a record of several",
    }


def test_schema_lists_the_last_build_too(built):
    names = built("schema", "-o", "csv").stdout

    assert "\nledger.gpu_time,cluster,VARCHAR,," in names
    assert built("schema", "no.such").exit_code == 2


def test_compact_says_what_it_did(goodput, tmp_path):
    (tmp_path / "in").mkdir()
    for job in "AB":
        (tmp_path / "in/jobs.ndjson").write_text(json.dumps({"job": job}) + "\n")
        goodput("import", tmp_path / "in")
    result = goodput("compact", "--keep-hours", "0")

    assert result.stderr == ("2 files are now 1; 0 duplicate rows left out, 2 old files deleted\n")
    assert goodput("query", "-o", "csv", "select job from raw.jobs order by 1").stdout == (
        "job\nA\nB\n"
    )


def test_doctor_lists_what_is_there_and_how_fresh(built, tables):
    result = built("doctor", "-o", "json")

    assert result.exit_code == 0
    assert result.stderr.splitlines()[0].endswith("reachable, writable")
    assert "2026-03-02 00:00 to 2026-03-09 00:00, 4 of 5 checks hold, 1 warn" in result.stderr
    assert json.loads(result.stdout)[0] == {
        "table_name": "jobs",
        "cluster": "default",
        "row_count": 1,
        "newest_ingested_at": None,
        "newest_event": "2026-03-04T10:00:00Z",
        "source_count": 1,
        "newest_source": str(tables),
    }


def test_doctor_has_one_row_for_all_files_of_a_table(goodput, tables, tmp_path):
    goodput("import", tables)
    more = tmp_path / "more"
    more.mkdir()
    (more / "jobs.csv").write_text("job,ingested_at\nJ2,2026-03-09T00:00:00Z\n")
    goodput("import", more)

    [jobs, *_] = json.loads(goodput("doctor", "-o", "json").stdout)
    assert (jobs["row_count"], jobs["source_count"]) == (2, 2)
    assert jobs["newest_source"] == str(more)


def test_doctor_exits_with_5_when_the_lake_is_not_reachable(goodput, tmp_path):
    (tmp_path / "lake").write_text("a file")
    result = goodput("doctor")

    assert result.exit_code == 5
    assert "not reachable" in result.stderr


# --------------------------------------------------------------------- settings


def test_flags_beat_the_environment_which_beats_the_file(goodput, tmp_path, tables, monkeypatch):
    lakes = {name: tmp_path / name for name in ("flag", "environment", "file")}
    for lake in lakes.values():
        Lake.open(lake, create=True)
    config = tmp_path / "goodput.toml"
    config.write_text(f'lake = "{lakes["file"]}"\ncluster = "c7"\n')

    goodput("--config", config, "import", tables, lake=False)
    monkeypatch.setenv("GOODPUT_LAKE", str(lakes["environment"]))
    goodput("--config", config, "import", tables, lake=False)
    goodput("--lake", lakes["flag"], "--config", config, "import", tables, lake=False)

    for lake in lakes.values():
        assert Lake.open(lake).snapshot().tables == ["jobs", "node_conditions", "nodes"]
    assert goodput("query", "-o", "csv", "select cluster from raw.jobs", lake=False).stdout == (
        "cluster\nc7\n"
    )


def test_an_unknown_setting_gets_a_hint(goodput, tmp_path):
    config = tmp_path / "goodput.toml"
    config.write_text('lakes = "x"\n')
    result = goodput("--config", config, "build", lake=False)

    assert result.exit_code == 2
    assert "has an unknown setting 'lakes'; did you mean 'lake'?" in result.stderr


def test_an_unexpected_error_is_one_line_and_debug_shows_all(goodput, tables, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr("goodput.sources.typed.import_files", broken)
    result = goodput("import", tables)
    debugged = goodput("--debug", "import", tables)

    assert result.exit_code == 1
    assert result.stderr == (
        "error: ZeroDivisionError: a (run `goodput --debug …` for the details)\n"
    )
    assert isinstance(debugged.exception, ZeroDivisionError)


# ---------------------------------------------------------------------- library


def test_the_public_names_are_there():
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.usefixtures("built")
def test_the_warehouse_answers_in_frames(tmp_path):
    warehouse = package.open(tmp_path / "lake")

    assert warehouse.metrics("goodput_paid")["value"].to_list() == [0.5]
    assert warehouse.ledger(node="n1")["unit_ms"].sum() == 5040 * 120 * 60_000
    assert warehouse.ledger(job="J1").height == 5
    assert warehouse.sql("select ? + 1 as n", [41])["n"].to_list() == [42]
    assert warehouse.explain("J1").totals[0]["state"] == "A.productive"
    assert ("raw", "steps") in warehouse.tables().select("schema_name", "table_name").rows()
