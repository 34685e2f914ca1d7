"""`goodput schema`, `compact` and `doctor`: what is there, and how fresh."""

import json

import pytest


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
    needed = {name for name, row in rows.items() if row["type"].endswith(" NOT NULL")}
    assert needed == {"job", "attempt", "end"}


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


@pytest.mark.parametrize(
    ("params", "code", "told"),
    [
        ("hang_mins = 300", 2, "there is no parameter 'hang_mins'; did you mean hang_min_s"),
        (
            "hang_min_s = -1",
            2,
            "parameter hang_min_s takes a number from 0 to 1000000000, not '-1'",
        ),
        ("hang_min_s = 300", 5, "there is no lake"),
    ],
)
def test_doctor_tells_parameters_that_no_build_would_take(goodput, tmp_path, params, code, told):
    config = tmp_path / "goodput.toml"
    config.write_text(f"[params]\n{params}\n")
    result = goodput("--config", config, "doctor")

    assert (result.exit_code, told in result.stderr) == (code, True)
