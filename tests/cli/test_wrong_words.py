"""Words and values that cannot be meant: one sentence and the exit code of the contract."""

import os
import time

import click
import duckdb
import pytest

from goodput.cli import main


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--week", "9999-W52"], 2, "'9999-W52' is no week of that year"),
        (
            ["--from", "0001-01-01T00:00:00+14:00", "--to", "2026-03-03T00:00:00Z"],
            2,
            "is no time between the years 1 and 9999",
        ),
        (["--week", "2999-W10"], 4, "nothing can be known yet of a window that begins at 2999"),
        (
            ["--week", "2026-W10", "--as-of", "2026-03-02T00:00:00Z"],
            4,
            "take an earlier window, or a later --as-of",
        ),
        (
            ["--week", "2026-W10", "--param", "credit=banana"],
            2,
            "credit takes checkpoint or success_only, not 'banana'",
        ),
        *[
            (
                ["--from", "2026-03-02T00:00:00Z", "--to", f"2026-03-02T00:00:00{part}Z"],
                2,
                "the window is empty: it starts and ends at 2026-03-02 00:00:00+00:00, in whole ",
            )
            for part in ("", ".0001")
        ],
        (
            ["--from", "2026-03-02T00:00:00Z", "--to", "2026-03-01T00:00:00Z"],
            2,
            "ends at 2026-03-01 00:00:00+00:00 but starts at 2026-03-02 00:00:00+00:00; swap them",
        ),
        *[
            (["--week", "2026-W10", "--param", f"hang_min_s={text}"], 2, f"not '{text}'")
            for text in ("nan", "inf", "-5", "1e300", "9" * 30)
        ],
    ],
)
def test_values_of_build_that_cannot_be_meant(goodput, tables, options, code, sentence):
    goodput("import", tables)
    result = goodput("build", *options)

    assert result.exit_code == code
    assert sentence in result.stderr


def options_of(command, words=()):
    """Every option of a command and of those below it, with the words that lead to it."""
    yield from ((words, option) for option in command.params if isinstance(option, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from options_of(command.get_command(context, name), (*words, name))


FRACTIONS = [
    (words, option.opts[0])
    for words, option in options_of(main)
    if isinstance(option.type, click.types.FloatParamType)
]


def test_the_options_with_fractions_are_these():
    assert {option for _, option in FRACTIONS} == {
        "--checkpoint-interval",
        "--price",
        "--restart",
        "--settle",
        "--spare-target",
        "--timeout",
    }


@pytest.mark.parametrize(("words", "option"), FRACTIONS)
def test_no_option_takes_what_is_no_finite_number(goodput, words, option):
    said = {value: goodput(*words, option, value) for value in ("nan", "inf", "-1")}

    assert [result.exit_code for result in said.values()] == [2, 2, 2]
    assert said["nan"].stderr.endswith(
        f"Error: Invalid value for '{option}': nan is not a number.\n"
    )
    for value, shown in (("inf", "inf"), ("-1", "-1.0")):
        start = f"Error: Invalid value for '{option}': {shown} is not in the range "
        assert said[value].stderr.splitlines()[-1].startswith(start)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["advise", "--spare-target", "0"], "'--spare-target': 0.0 is not in the range 0<x<1."),
        (["advise", "--spare-target", "1"], "'--spare-target': 1.0 is not in the range 0<x<1."),
        (
            ["compact", "--keep-hours", "99999999999999"],
            "'--keep-hours': 99999999999999 is not in the range 0<=x<=1000000.",
        ),
        (
            ["collect", "logs", "--attempt", "2147483648", "."],
            "'--attempt': 2147483648 is not in the range 0<=x<=2147483647.",
        ),
    ],
)
def test_numbers_out_of_their_range_are_usage_errors(goodput, words, sentence):
    result = goodput(*words)

    assert result.exit_code == 2
    assert result.stderr.endswith(f"Error: Invalid value for {sentence}\n")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("timeout = nan", "Expected `float` >= 1.0 - at `$.timeout`"),
        ("settle = inf", "Expected `float` <= 31622400.0 - at `$.settle`"),
        ("first_hours = 1e300", "Expected `float` <= 8784.0 - at `$.first_hours`"),
    ],
)
def test_numbers_of_a_source_are_bounded_like_options(goodput, tables, tmp_path, line, sentence):
    goodput("import", tables)
    config = tmp_path / "goodput.toml"
    config.write_text(f'[[source]]\nkind = "prometheus"\nurl = "http://127.0.0.1:9"\n{line}\n')
    result = goodput("--config", config, "doctor")

    assert result.exit_code == 2
    assert result.stderr == f"error: a source of kind 'prometheus' cannot be used: {sentence}\n"


@pytest.mark.parametrize(
    ("hint", "sentence"),
    [
        ("year=abc", "year takes a number from 1971 to 9998, not 'abc'"),
        ("gpus=0", "gpus takes a number from 1 to 16384, not '0'"),
        ("attempt=-1", "attempt takes a number from 0 to 2147483647, not '-1'"),
        ("boot_time=noon", "'noon' is not a time"),
        ("yaer=2026", "there is no hint 'yaer'; known are attempt, boot_time,"),
    ],
)
def test_hints_that_cannot_be_used_are_usage_errors(goodput, tmp_path, hint, sentence):
    (tmp_path / "job.log").write_text("step 1 loss 2\n")
    result = goodput("collect", "dump", "--hint", hint, tmp_path / "job.log")

    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.parametrize("attempt", ["99", "-1", "99999999999999999999"])
def test_an_attempt_that_is_not_there_is_a_usage_error(built, attempt):
    result = built("explain", f"J1/{attempt}")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")


def test_a_place_that_cannot_be_written_is_named(goodput, tables, tmp_path):
    lake = tmp_path / "lake"
    (lake / "manifest").mkdir(parents=True)
    (lake / "raw").write_text("")
    result = goodput("import", tables)

    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {lake / 'raw'}")
    assert result.stderr.endswith("check the path, its permissions and the space left\n")


def test_what_a_killed_build_left_is_swept_a_day_later(built, tmp_path):
    lake = next(path.parent for path in tmp_path.rglob("warehouse.duckdb"))
    old, new = lake / ".warehouse.duckdb.old", lake / ".warehouse.duckdb.new"
    for left in (old, new):
        left.write_bytes(b"")
    os.utime(old, (0, time.time() - 90_000))
    built("build", "--week", "2026-W10")

    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.parametrize(
    ("form", "sql", "remedy"),
    [
        ("json", "select 1 as a, 2 as a", "two columns are named a; name one of them with `as`"),
        ("parquet", "select interval 1 day", "make it a text: column::varchar"),
    ],
)
def test_rows_that_a_form_cannot_hold_are_refused(goodput, tables, form, sql, remedy):
    goodput("import", tables)
    result = goodput("query", "-o", form, sql)

    assert (result.exit_code, result.stdout) == (2, "")
    assert remedy in result.stderr


def test_a_build_that_cannot_be_written_says_where(built, tmp_path, monkeypatch):
    def refuse(scratch):
        return duckdb.connect(tmp_path / "not there" / scratch.name)

    monkeypatch.setattr("goodput.warehouse.build.connect", refuse)
    result = built("build", "--week", "2026-W10")

    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {tmp_path / 'lake'} cannot be written (IO Error: ")
    assert result.stderr.endswith("check permissions and free space\n")


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("selct 1", 'syntax error at or near "selct"'),
        (
            "select foo from metrics.goodput",
            'referenced column "foo" not found; there is',
        ),
        (
            "from metrics.godput",
            "table godput does not exist; did you mean",
        ),
        ("select", "SELECT clause without selection list"),
        ("select 1 / 'a'", "could not convert string 'a' to DOUBLE"),
    ],
)
def test_what_is_wrong_with_a_query_is_said_in_a_sentence(built, sql, sentence):
    result = built("query", sql)

    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {sentence}")
    assert result.stderr.count("\n") == 1
    asks_for_names = "`goodput schema` lists tables and columns" in result.stderr
    assert asks_for_names == ("there is" in sentence or "did you mean" in sentence)


def test_an_interrupt_that_comes_while_duckdb_works_is_one(goodput, tables, monkeypatch):
    def interrupted(*_, **__):
        raise RuntimeError("Query interrupted")

    goodput("import", tables)
    monkeypatch.setattr("goodput.warehouse.build.build", interrupted)
    result = goodput("build", "--week", "2026-W10")

    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
