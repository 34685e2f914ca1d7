"""`goodput query`: read-only SQL, and the forms of its rows."""

import io
import json
from datetime import UTC, datetime

import polars as pl
import pytest

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
