"""Secrets that stand in what a cluster writes reach neither the lake nor what goodput prints."""

import json

import polars as pl
import pytest
from click.testing import CliRunner
from planted import AT_THE_CUT, PASSWORD, planted_objects
from planted import PLANTED as IN_OBJECTS

from goodput.cli import main

SECRET = "Xq7Zk9Lm2Np4Rt6Vw8Yb"  # the part that must be nowhere
PLANTED = {
    "password": f"postgres://goodput:{SECRET}@db.example:5432/x",
    "password with @": f"postgres://goodput:p@{SECRET}@db.example:5432/x",
    "password with /": f"postgres://goodput:p/{SECRET}@db.example:5432/x",
    "token": f"hf_{SECRET}abcdefgh",
    "key": f"AWS_SECRET_ACCESS_KEY={SECRET}",
    "bearer": f"Authorization: Bearer {SECRET}",
    "option": f"--token {SECRET}",
    "mail": f"{SECRET}@mail.example",
    "user": f"https://{SECRET}@git.example/x",
    "signed": f"https://b.example/o?X-Amz-Signature={SECRET}&x=1",
}
LONG = "x" * 480


def _files(folder):
    lines = []
    for planted in PLANTED.values():
        lines += [
            f"2026-03-02 10:00:00 step=1 loss=2 {planted}",
            f"OSError: [Errno 30] Read-only file system: {planted}",
            f"{planted} OSError: [Errno 30] Read-only file system",
            f"OSError: [Errno 30] Read-only file system: {LONG} {planted}",  # at the cut
            f"{planted} {LONG} OSError: [Errno 30] Read-only file system {LONG}",
            f"--token {SECRET} {LONG} Stale file handle {LONG}",
        ]
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    (folder / "dmesg.log").write_text(
        "".join(
            f"2026-03-02T10:00:00,250000+01:00 NVRM: Xid (PCI:0000:4e:00): 79, pid=1, name={p}, x\n"
            f"[ 171.250000] NVRM: API mismatch {p}\n"  # no boot time: quarantined
            for p in PLANTED.values()
        )
    )
    events = [
        {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": f"e{i}", "namespace": "ml", "uid": f"u{i}"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p1"},
            "reason": "Failed",
            "message": f"Error: {planted}",
            "type": "Warning",
            "count": 1,
            "firstTimestamp": "2026-03-02T10:00:00Z",
            "lastTimestamp": "2026-03-02T10:00:00Z",
        }
        for i, planted in enumerate(PLANTED.values())
    ]
    events.append({**events[0], "lastTimestamp": f"never {PLANTED['key']}"})
    (folder / "events.json").write_text(json.dumps({"kind": "EventList", "items": events}))


@pytest.fixture
def told(tmp_path):
    """All that goodput printed while it took the files in, and all rows of its lake."""
    folder = tmp_path / "dump"
    folder.mkdir()
    _files(folder)
    lake = tmp_path / "lake"
    printed = []
    for words in (
        ["collect", "dump", str(folder)],
        ["classify", "-o", "json", str(folder / "train.log"), str(folder / "dmesg.log")],
        ["classify", str(folder / "train.log")],
        ["query", "from quarantine"],
    ):
        result = CliRunner().invoke(main, ["--lake", str(lake), *words])
        printed.append(result.output)
    rows: dict[str, str] = {}
    for path in lake.rglob("*.parquet"):
        table = path.relative_to(lake).parts[1]
        rows[table] = rows.get(table, "") + str(pl.read_parquet(path).rows())
    return "\n".join(printed), rows


def test_no_planted_secret_is_stored_or_printed(told):
    printed, rows = told
    assert SECRET not in printed
    assert [table for table, text in rows.items() if SECRET in text] == []
    for table in ("log_evidence", "kernel_events", "kube_events", "quarantine"):
        assert "[secret]" in rows[table], table


@pytest.mark.parametrize("planted", [IN_OBJECTS, AT_THE_CUT], ids=["short", "at the cut"])
def test_no_field_of_any_kind_of_object_brings_a_secret_into_the_lake(planted, tmp_path):
    objects = planted_objects(planted)
    (tmp_path / "dump.json").write_text(json.dumps({"kind": "List", "items": objects}))
    lake = tmp_path / "lake"
    words = ["--lake", str(lake), "collect", "dump", str(tmp_path / "dump.json")]
    assert PASSWORD not in CliRunner().invoke(main, words).output
    rows = {
        path.relative_to(lake).parts[1]: pl.read_parquet(path) for path in lake.rglob("*.parquet")
    }
    assert [table for table, found in rows.items() if PASSWORD in str(found.rows())] == []
    assert len(rows["kube_objects"]) + len(rows["kube_events"]) == len(objects)
    assert "quarantine" in rows


def test_what_is_beside_a_secret_is_kept(tmp_path):
    [node] = [item for item in planted_objects(IN_OBJECTS) if item["kind"] == "Node"]
    (tmp_path / "dump.json").write_text(json.dumps(node))
    lake = tmp_path / "lake"
    CliRunner().invoke(main, ["--lake", str(lake), "collect", "dump", str(tmp_path / "dump.json")])
    [path] = lake.rglob("kube_objects/**/*.parquet")
    [body] = pl.read_parquet(path)["body"]
    assert json.loads(body)["status"]["conditions"][0]["message"] == (
        "https://user:[password]@reg/x AWS_SECRET_ACCESS_KEY=[secret] password=[secret]"
        " https://user:[password]@reg/y"
    )
