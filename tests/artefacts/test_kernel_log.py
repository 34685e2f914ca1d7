"""Kernel logs become events with code, time, host and PCI address; SQL finds node and GPU."""

import json
import tomllib
from datetime import UTC, datetime

import pytest
from artefact_account import account, at, merged, seconds, stream

from goodput._resources import catalog_dir
from goodput.sources import kernel_log

SHAPES = tomllib.loads((catalog_dir() / "kernel_lines.toml").read_text())["shape"]
XID = "NVRM: Xid (PCI:0000:4e:00): 79, pid=4711, GPU has fallen off the bus."
BOOT = "2026-03-02T00:00:00Z"


def read(text, **hints):
    return kernel_log.read(stream(text), {"file": "kern.log", **hints})


def only(text, **hints):
    (row,) = read(text, **hints)["kernel_events"]
    return row


@pytest.mark.parametrize("shape", [pytest.param(shape, id=shape["name"]) for shape in SHAPES])
def test_each_shape_gives_what_its_example_says(shape):
    line = shape["example"].encode()
    known = next(known for known in kernel_log.shapes() if known.regex.match(line))
    assert known.name == shape["name"]
    match, gives = known.regex.match(line), shape["gives"]
    groups = match.groupdict()
    assert line[match.end() :].decode() == gives["message"]
    assert (groups.get("host") or b"").decode() == gives.get("host", "")
    prefix = shape["example"].removesuffix(gives["message"])
    row = only(prefix + XID, boot_time=BOOT, year=str(shape.get("year", "")))
    if "t" in gives:
        assert row["t"] == datetime.fromisoformat(gives["t"])
    else:
        assert (row["t"] - datetime.fromisoformat(BOOT)).total_seconds() * 1000 == gives[
            "uptime_ms"
        ]


@pytest.mark.parametrize(
    ("message", "source", "value", "pci", "pid", "signature"),
    [
        (XID, "xid", "79", "0000:4e:00", 4711, "k.xid"),
        ("NVRM: Xid (0000:4e:00): 31, Ch 00000001", "xid", "31", None, None, "k.xid_old"),
        (
            "nvidia-nvswitch3: SXid (PCI:0000:0A:00.0): 12028, Non-fatal, Link 32",
            "sxid",
            "12028",
            "0000:0a:00.0",
            None,
            "k.sxid",
        ),
        (
            "pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received: 0000:4e:00.0",
            "kernel",
            "pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received: 0000:4e:00.0",
            "0000:40:01.1",
            None,
            "k.aer_fatal",
        ),
        (
            "EDAC MC3: 1 UE memory read error on DIMM#0",
            "kernel",
            "EDAC MC3: 1 UE memory read error on DIMM#0",
            None,
            None,
            "k.edac_ue",
        ),
    ],
)
def test_a_message_that_a_signature_knows_is_kept(message, source, value, pci, pid, signature):
    row = only(f"Jun 10 03:09:55 node-a kernel: [12.000001] {message}\n", year="2026")
    assert row["t"] == datetime(2026, 6, 10, 3, 9, 55, tzinfo=UTC)
    assert row["node_name"] == "node-a"
    columns = ("source", "value", "pci", "pid", "signature")
    assert tuple(row[column] for column in columns) == (source, value, pci, pid, signature)


def test_other_messages_are_not_kept_and_line_numbers_count_them():
    text = (
        f"[1.000000] usb 1-1: new device\n\n[2.000000] {XID}\n[3.000000] NVRM: Xid (invalid): x\n"
    )
    assert only(text, boot_time=BOOT)["origin_line"] == 3


def test_times_from_an_unknown_boot_or_year_are_told_with_the_remedy_and_rows_kept():
    tables = read(
        f"[171167.897562] {XID}\n[171168.000000] {XID}\nJun 10 03:09:55 n kernel: {XID}\n"
    )
    assert [row["t"] for row in tables["kernel_events"]] == [None, None, None]
    first, second = tables["quarantine"]
    assert (first["row_number"], first["column_name"]) == (1, "t")
    assert "dmesg --time-format iso" in first["reason"]
    assert "(2 such lines" in first["reason"]
    assert "give the year" in second["reason"]


def test_a_time_without_a_year_is_the_latest_before_now():
    line = f"Dec 30 03:00:00 n kernel: {XID}\n"
    assert only(line, now="2026-03-02T00:00:00Z")["t"] == datetime(2025, 12, 30, 3, tzinfo=UTC)


def test_a_log_may_run_into_the_next_year():
    text = f"Dec 31 23:59:59 n kernel: {XID}\nJan  1 00:00:01 n kernel: {XID}\n"
    times = [row["t"] for row in read(text, year="2025")["kernel_events"]]
    assert times == [
        datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC),
    ]


def test_local_times_need_their_zone():
    line = f"[Mon Mar  2 10:00:00 2026] {XID}\n"
    assert only(line, tz="Asia/Tokyo")["t"] == datetime(2026, 3, 2, 1, tzinfo=UTC)


def test_the_journal_in_json_is_read():
    entry = {"__REALTIME_TIMESTAMP": "1772409600500000", "_HOSTNAME": "n1", "MESSAGE": XID}
    text = json.dumps(entry) + "\n"
    assert kernel_log.sniff(text.encode(), "journal.json")
    row = only(text)
    assert (row["t"], row["node_name"], row["value"]) == (
        datetime(2026, 3, 2, 0, 0, 0, 500000, tzinfo=UTC),
        "n1",
        "79",
    )


def test_a_storm_is_kept_in_part_and_the_rest_counted():
    tables = read(f"Jun 10 03:09:55 n kernel: {XID}\n" * 150, year="2026")
    assert len(tables["kernel_events"]) == 100
    assert tables["quarantine"][0]["reason"].startswith("50 lines repeat others")


@pytest.mark.parametrize(
    "data",
    [b"", b"\n\n", b"\0\0\xff\xfe", b"[1.0", XID.encode()[:20], b"z" * 3_000_000],
    ids=["empty", "blank", "binary", "cut", "truncated", "huge line"],
)
def test_bad_bytes_give_no_events_and_do_not_raise(data):
    assert kernel_log.read(stream(data), {})["kernel_events"] == []


def test_a_huge_or_binary_line_is_told_and_the_rest_is_taken():
    line = f"[2.000000] {XID}\n".encode()
    tables = read(line + b"\0" * 10 + b"x" * 2_000_000 + b"\n" + line, boot_time=BOOT)
    assert len(tables["kernel_events"]) == 2
    assert tables["quarantine"][0]["row_number"] == 2
    assert tables["quarantine"][0]["reason"].startswith("binary bytes")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\0kernel: NVRM",
        b"2026-03-02T10:00:00.000001Z stdout F step 5 loss 3\n" * 3,
        b"[2026-03-02 10:00:00,123] [INFO] [engine.py:1] step=5\n" * 3,
        f"step 1\nstep 2\nstep 3\n{XID}\n".encode(),
        b"{}",
    ],
)
def test_other_files_are_not_taken_for_kernel_logs(head):
    assert not kernel_log.sniff(head, "train.log")


@pytest.mark.parametrize(
    "line", [f"[2.000000] {XID}", XID, f"Jun 10 03:09:55 n kernel: {XID}", SHAPES[1]["example"]]
)
def test_kernel_logs_are_recognised(line):
    assert kernel_log.sniff(f"{line}\n".encode(), "some.txt")


def node(name, uid, registered, deleted=None, cluster="c"):
    life = {"registered_at": at(registered), "deleted_at": at(deleted) if deleted else None}
    return {"cluster": cluster, "node_uid": uid, "name": name, "gpus": 8, **life}


SLICE = {
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.nvidia.com",
        "nodeName": "gpu-1.example.com",
        "pool": {"name": "gpu-1", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {
                "name": "gpu-5",
                "attributes": {"resource.kubernetes.io/pciBusID": {"string": "00000000:4E:00.0"}},
            }
        ],
    },
}
NODES = {
    "nodes": [
        node("gpu-1.example.com", "old", 0, 1000),
        node("gpu-1.example.com", "new", 2000),
        node("gpu-10.example.com", "ten", 0),
    ],
    "kube_objects": [
        {
            "cluster": "c",
            "api_version": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "name": "s",
            "uid": "s-1",
            "observed_at": at(0),
            "is_deleted": False,
            "body": json.dumps(SLICE),
        }
    ],
}


def test_a_line_speaks_of_the_node_that_had_the_name_then_and_of_its_gpu(tmp_path):
    def log(file, *lines, **hints):
        return kernel_log.read(stream("\n".join(lines)), {"file": file, "cluster": "c", **hints})

    lines = [f"2026-03-02T00:{m:02}:00Z gpu-1 kernel: {XID}" for m in (10, 20, 50)]
    tables = merged(
        NODES,
        log("a.log", *lines),
        log("dumps/gpu-10.example.com/dmesg.txt", f"[60.000000] {XID}", boot_time=BOOT),
        log("b.log", f"2026-03-02T00:10:00Z unknown-host kernel: {XID}", f"[9.000000] {XID}"),
    )
    with account(tmp_path, tables) as con:
        found = con.execute(
            "select observed_at, node_uid, gpu, class from staged.evidence order by 1, 2"
        ).fetchall()
    assert [tuple(map(seconds, row)) for row in found] == [
        (60, "ten", None, "gpu.lost"),
        (600, "old", 5, "gpu.lost"),
        (600, None, None, "gpu.lost"),
        # Between two lives of a name: the one before.
        (1200, "old", 5, "gpu.lost"),
        (3000, "new", 5, "gpu.lost"),
    ]
