"""`goodput import`: what was taken, what was set aside."""

import json

import pytest


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


def test_problems_are_shown_in_the_order_of_files_and_rows(goodput, tables):
    rows = "".join(f"p{number},{number}k\n" for number in range(12))
    for name in ("queue.csv", "pods.csv"):
        (tables / name).write_text(f"pod_uid,gpus\n{rows}")
        goodput("import", tables / name)
    shown = goodput("query", "-o", "csv", "from quarantine").stdout.splitlines()[1:]
    numbers = [tuple(line.split(",")[1:3]) for line in shown]

    assert [pair for pair in numbers if pair[0] == "pods.csv"] == [
        ("pods.csv", str(number)) for number in range(2, 14)
    ]
    assert [name for name, _ in numbers] == sorted(name for name, _ in numbers)


@pytest.mark.usefixtures("models")
def test_a_problem_that_was_corrected_is_open_no_more(goodput, tables, tmp_path):
    pods, steps = tables / "pods.csv", tables / "steps.ndjson"
    steps.write_text('{"job": "J1", "attempt": "one", "step": 1, "end": 1}\n')

    def taken(text):
        pods.write_text(f"pod_uid,gpus\n{text}")
        done = goodput("import", tables)
        shown = "select file, row_number, value from quarantine order by all"
        return done, goodput("query", "-o", "csv", shown).stdout.split()[1:]

    wrong = ["pods.csv,2,8k", "steps.ndjson,1,one"]
    assert taken("p,8k\n")[1] == wrong
    done, shown = taken("p,8k\nq,9k\n")
    assert shown == ["pods.csv,2,8k", "pods.csv,3,9k", "steps.ndjson,1,one"]
    done, shown = taken("p,8\nq,9k\n")
    assert shown == ["pods.csv,3,9k", "steps.ndjson,1,one"]
    assert "2 quarantined" in done.stderr
    # The history is kept: what was wrong once, and came back.
    assert taken("p,8k\n")[1] == wrong
    assert taken("p,8k\n")[1] == wrong
    turns = "select count(cleared_at), count(again_at), count(*) from raw.quarantine"
    assert goodput("query", "-o", "csv", turns).stdout.split()[1] == "2,1,6"
    # A file that cannot be read, in part or at all, and one of another place clear nothing.
    for unread in (b"", b"pod_uid,pod_uid\np,8\n"):
        pods.write_bytes(unread)
        goodput("import", tables)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "steps.ndjson").write_text('{"job": "J1", "attempt": 1, "step": 1, "end": 1}\n')
    goodput("import", elsewhere)
    shown = goodput("query", "-o", "csv", "select file, value from quarantine order by all").stdout
    unread = ['pods.csv,"pod_uid,pod_uid"', "pods.csv,"]
    assert shown.split()[1:] == ["pods.csv,8k", *unread, "steps.ndjson,one"]


@pytest.mark.usefixtures("models")
def test_a_problem_that_two_folders_have_is_open_until_it_is_in_neither(goodput, tmp_path):
    def taken(folder, text):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "pods.csv").write_text(f"pod_uid,gpus\n{text}\n")
        goodput("import", tmp_path / folder)
        shown = "select string_agg(ingested_from[-1:], ' ' order by ingested_from) from quarantine"
        return goodput("query", "-o", "csv", shown).stdout.splitlines()[1]

    assert taken("a", "p,8k") == "a"
    assert taken("b", "p,8k") == "a b"
    assert taken("b", "p,8k") == "a b"
    assert taken("a", "p,8") == "b"
    assert taken("c", "p,8k") == "b c"
    assert taken("b", "p,8") == "c"
    assert taken("a", "p,8k") == "a c"
    count = goodput("query", "-o", "csv", "select count(*) from raw.quarantine").stdout
    assert count.split()[1] == "6"


@pytest.mark.usefixtures("models")
def test_a_folder_is_one_place_by_whatever_path_it_is_named(goodput, tmp_path, monkeypatch):
    folder = tmp_path / "in"
    folder.mkdir()
    pods = folder / "pods.csv"
    monkeypatch.chdir(folder)

    def taken(text, *paths):
        pods.write_text(f"pod_uid,gpus\n{text}\n")
        for path in paths:
            goodput("import", path)
        return goodput("query", "-o", "csv", "select value from quarantine").stdout.split()[1:]

    assert taken("p,8k", folder, ".", "pods.csv", "../in") == ["8k"]
    assert taken("p,8", "pods.csv") == []


def test_a_build_shows_what_was_open_at_its_knowledge_time(goodput, tables):
    (tables / "pods.csv").write_text("pod_uid,gpus\np,8k\n")
    goodput("import", tables)
    (tables / "pods.csv").write_text("pod_uid,gpus\np,8\n")
    goodput("import", tables)

    def shown(*words):
        goodput("build", "--week", "2026-W10", *words)
        return goodput("query", "-o", "csv", "select count(*) from report.quarantine").stdout

    assert shown("--as-of", "2026-03-10T00:00:00Z").split()[1] == "1"
    assert shown().split()[1] == "0"


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


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("name", "whole", "cut"),
    [
        ("pods.csv", "pod_uid,gpus\np,1\nq,8k\n", 'pod_uid,gpus\n"p,1\nq,8\n'),
        ("pods.csv", "pod_uid,gpus\np,1\nq,8k\n", "pod_uid,gpus\np"),
        ("pods.ndjson", '{"pod_uid": "p"}\n{"pod_uid": "q", "gpus": "8k"}\n', '{"pod_uid": "p"'),
    ],
    ids=["quote", "cell", "line"],
)
def test_what_may_be_missing_from_a_table_is_not_closed(goodput, tmp_path, name, whole, cut):
    (tmp_path / name).write_text(whole)
    goodput("import", tmp_path)
    (tmp_path / name).write_text(cut)
    goodput("import", tmp_path)

    shown = goodput("query", "-o", "csv", "select value from quarantine where column_name = 'gpus'")
    assert shown.stdout.split()[1:] == ["8k"]
