import gzip
import json
import os
from pathlib import Path

import pytest

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "n1",
        "uid": "u1",
        "resourceVersion": "7",
        "creationTimestamp": "2026-03-02T00:00:00Z",
    },
    "status": {"capacity": {"nvidia.com/gpu": "8"}},
}


def count(goodput, table):
    result = goodput("query", "-o", "json", f"select count(*)::bigint as n from raw.{table}")
    return json.loads(result.stdout)[0]["n"]


def test_a_dump_is_taken_once_and_known_from_now_on(goodput, tmp_path):
    (tmp_path / "node.json").write_text(json.dumps(NODE))
    first = goodput("collect", "dump", tmp_path / "node.json", "--cluster", "c1")
    again = goodput("collect", "dump", tmp_path / "node.json", "--cluster", "c1")

    assert first.exit_code == 0
    assert first.stdout == ""
    assert "kube_objects: 1 new row\n" in first.stderr
    assert "kube_objects: 0 new rows" in again.stderr
    [row] = json.loads(goodput("query", "-o", "json", "select * from raw.kube_objects").stdout)
    assert (row["cluster"], row["kind"], row["uid"]) == ("c1", "Node", "u1")
    assert row["ingested_from"] == str(tmp_path / "node.json")
    assert row["ingested_at"] is not None


def test_what_cannot_be_used_is_quarantined_and_the_rest_taken(goodput, tmp_path):
    (tmp_path / "node.json").write_text(json.dumps(NODE))
    (tmp_path / "broken.json").write_text('{"apiVersion": "v1", "kind": "Li')
    (tmp_path / "empty.log").write_text("")
    result = goodput("collect", "dump", tmp_path)

    assert result.exit_code == 0
    assert count(goodput, "kube_objects") == 1
    files = goodput("query", "-o", "csv", "select distinct file from quarantine order by 1").stdout
    assert files.splitlines() == [
        "file",
        str(tmp_path / "broken.json"),
        str(tmp_path / "empty.log"),
    ]


def test_strict_takes_the_rest_and_exits_with_3(goodput, tmp_path):
    (tmp_path / "node.json").write_text(json.dumps(NODE))
    (tmp_path / "empty.log").write_text("")
    result = goodput("collect", "dump", "--strict", tmp_path)

    assert result.exit_code == 3
    assert count(goodput, "kube_objects") == 1


def test_nothing_that_could_be_taken_exits_with_4(goodput, tmp_path):
    (tmp_path / "empty.log").write_text("")
    result = goodput("collect", "dump", tmp_path / "empty.log")

    assert result.exit_code == 4
    assert count(goodput, "quarantine") == 1


def test_a_path_that_is_not_there_is_named(goodput, tmp_path):
    result = goodput("collect", "dump", tmp_path / "none")

    assert result.exit_code == 4
    assert f"there is no file or folder {tmp_path / 'none'}" in result.stderr


def test_a_hint_without_a_value_is_a_usage_error(goodput, tmp_path):
    (tmp_path / "empty.log").write_text("")
    result = goodput("collect", "dump", tmp_path / "empty.log", "--hint", "node")

    assert result.exit_code == 2
    assert "--hint takes key=value, not 'node'" in result.stderr


def test_files_of_typed_tables_are_left_to_import(goodput, tmp_path):
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "steps.ndjson").write_text('{"job": "J", "attempt": 1, "step": 1, "loss": 2.5}\n')
    (tables / "nodes.parquet").write_bytes(b"PAR1\0\1\2\3" * 9)
    (tables / "jobs.csv.gz").write_bytes(gzip.compress(b"job,name\nJ,llama\n"))
    (tables / "nodes.json").write_text(json.dumps(NODE))
    result = goodput("collect", "dump", tables)

    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == (
        f"{tables} has files of typed tables, which this leaves out: goodput import {tables}"
    )
    refused = "select table_name, reason from quarantine order by 1"
    assert json.loads(goodput("query", "-o", "json", refused).stdout) == [
        {
            "table_name": table,
            "reason": f"a file of a typed table: `goodput import {tables}` takes it",
        }
        for table in ("jobs", "nodes", "steps")
    ]
    assert count(goodput, "kube_objects") == 1
    assert count(goodput, "log_steps") == 0


@pytest.mark.usefixtures("models")
def test_what_a_file_brings_no_more_is_closed_and_opens_again_with_it(goodput, tmp_path):
    whole = json.dumps(NODE)
    nameless = json.dumps({**NODE, "kind": None})
    dump, other = tmp_path / "node.json", tmp_path / "other.json"
    other.write_text(nameless)

    def taken(text):
        dump.write_text(text)
        goodput("collect", "dump", dump)
        shown = "select file[-10:] as file, column_name from quarantine order by all"
        return goodput("query", "-o", "csv", shown).stdout.split()[1:]

    goodput("collect", "dump", other)
    wrong = ["/node.json,kind", "other.json,kind"]
    assert taken(nameless) == wrong
    assert taken(whole) == wrong[1:]
    assert taken(nameless) == wrong
    # A file that was not read to its end may still be as it was.
    assert taken("") == [wrong[0], "/node.json,", wrong[1]]
    assert taken(whole) == wrong[1:]
    turns = "select count(cleared_at), count(again_at), count(*) from raw.quarantine"
    assert goodput("query", "-o", "csv", turns).stdout.split()[1] == "3,1,7"


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("cut", ["{", '{"apiVersion": "v1", "ki'])
def test_what_may_be_missing_from_a_file_is_not_closed(goodput, tmp_path, cut):
    dump = tmp_path / "node.json"
    nameless = json.dumps({**NODE, "kind": None})
    dump.write_text(f"{json.dumps(NODE)}\n{nameless}\n")
    goodput("collect", "dump", dump)
    dump.write_text(f"{json.dumps(NODE)}\n{cut}")
    goodput("collect", "dump", dump)

    shown = goodput("query", "-o", "csv", "select column_name from quarantine order by 1")
    assert shown.stdout.split()[1] == "kind"


@pytest.mark.usefixtures("models")
def test_a_file_of_that_name_in_another_folder_closes_nothing(goodput, tmp_path, monkeypatch):
    for folder, text in (("a", json.dumps({**NODE, "kind": None})), ("b", json.dumps(NODE))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "node.json").write_text(text)
        monkeypatch.chdir(tmp_path / folder)
        goodput("collect", "dump", "node.json")

    shown = goodput("query", "-o", "csv", "select file from quarantine")
    assert shown.stdout.splitlines()[1:] == [str(tmp_path / "a" / "node.json")]


def test_a_file_whose_name_is_no_text_is_taken_and_stops_no_other(goodput, tmp_path):
    line = "2026-03-02T00:00:10Z completed step: 1, seconds: 10.0\n"
    for name, text in ((b"bad\xff.log", line), (b"bad\xff.json", ""), (b"good.log", line)):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text(text)
    result = goodput("collect", "dump", tmp_path)

    assert result.exit_code == 0
    assert count(goodput, "log_files") == 2
    paths = goodput("query", "-o", "csv", "select path[-9:] from raw.log_files order by 1").stdout
    assert paths.splitlines()[1:] == ["/good.log", "d\\xff.log"]
    assert "bad\\xff.json" in goodput("query", "from quarantine").stdout


def test_a_kernel_log_that_names_no_node_is_told_what_to_do(goodput, tmp_path):
    xid = "NVRM: Xid (PCI:0000:4e:00): 79, pid=4711, GPU has fallen off the bus.\n"
    at = "2026-03-02T10:00:00,250000+00:00"
    bare, hosted = tmp_path / "dmesg.txt", tmp_path / "hosted.txt"
    bare.write_text(f"{at} {xid}" * 2)
    hosted.write_text(f"{at} gpu-1 kernel: {xid}")
    nameless = (
        f"{bare}: 2 lines name no node, so nothing is blamed on them: give --hint node=NAME, or let"
        " a folder or the file bear its name"
    )
    result = goodput("collect", "dump", tmp_path)
    assert (result.exit_code, result.stderr.splitlines()[:3]) == (
        0,
        [
            f"{bare}: kernel log: 2 kernel_events",
            nameless,
            f"{hosted}: kernel log: 1 kernel_events",
        ],
    )
    hinted = goodput("collect", "dump", bare, "--hint", "node=gpu-2")
    assert "name no node" not in hinted.stderr
    nodes = "select distinct node_name from raw.kernel_events order by 1 nulls last"
    assert goodput("query", "-o", "csv", nodes).stdout.splitlines()[1:] == ["gpu-1", "gpu-2", '""']


def test_a_folder_without_files_is_a_reason_above(goodput, tmp_path):
    (tmp_path / "inbox").mkdir()
    result = goodput("collect", "dump", tmp_path / "inbox")
    assert (result.exit_code, result.stderr.splitlines()) == (
        4,
        [
            f"{tmp_path}/inbox: empty folder: nothing",
            "error: none of these files has anything that could be taken; see the reasons above",
        ],
    )
