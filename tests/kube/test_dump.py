import gzip
import io
import json
import os
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
import zstandard

from goodput.errors import NoData
from goodput.sources.dump import collect_dump, collect_files

NOW = datetime(2026, 3, 31, tzinfo=UTC)
STEP = "2026-03-02 10:00:00 iteration 1/ 100 | elapsed time per iteration (ms): 812.4 |\n"


@pytest.fixture
def take(tmp_path: Path):
    """Writes files and collects their folder."""

    def write_and_collect(**files: bytes | str):
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (tmp_path / name.replace("__", ".")).write_bytes(data)
        return collect_dump([tmp_path], now=NOW)

    return write_and_collect


def formats(collected):
    return [report.format for report in collected.files]


def reasons(collected):
    return [row["reason"] for row in collected.tables.get("quarantine", [])]


@pytest.fixture
def a_list(make):
    return make.listed(make.node("n1"), make.pod("p1"), make.pod("p2"))


def test_each_file_goes_to_the_reader_that_knows_it(take, a_list):
    collected = take(
        a__json=a_list,
        b__jsonl=json.dumps(json.loads(a_list)["items"][0]),
        c__log=STEP,
        d__log="[ 100.5] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n" * 3,
    )
    assert formats(collected)[:2] == ["kubernetes", "kubernetes"]
    assert formats(collected)[2:] == ["log", "kernel log"]
    assert len(collected.tables["kube_objects"]) == 4


def test_a_mark_of_utf8_changes_nothing_of_any_kind_of_file(take, a_list):
    xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."
    files = {
        "a__json": a_list,
        "b__log": STEP,
        "c__log": f"2026-03-02T10:00:00,250000+01:00 {xid}\n",
        "d__txt": "2026-03-02 10:00:00 2048 ckpt/iter_0000100/.metadata\n",
    }
    plain = take(**files)
    marked = take(**{name: text.encode("utf-8-sig") for name, text in files.items()})

    assert formats(marked) == ["kubernetes", "log", "kernel log", "checkpoint listing"]
    assert marked.tables == plain.tables


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_packed_files_are_unpacked_whatever_their_name(take, a_list, pack):
    collected = take(a__json=pack(a_list.encode()))
    assert collected.files[0].rows == {"kube_objects": 3, "kube_lists": 1 + 1}


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_what_is_whole_in_a_packed_file_that_is_cut_off_is_taken(take, make, pack):
    items = [make.pod(f"p{n}", labels={"x": f"{n * 7919:064x}"}) for n in range(400)]
    packed = pack(make.listed(*items).encode())
    collected = take(a__json__gz=packed[: len(packed) * 3 // 4])
    assert 50 < len(collected.tables["kube_objects"]) < 400
    assert any("compressed data are cut off" in reason for reason in reasons(collected))
    assert any("the JSON is cut off" in reason for reason in reasons(collected))

    assert "kube_lists" not in collected.files[0].rows


def test_yaml_that_may_end_anywhere_does_not_say_that_it_lists_all(take, make):
    """What stands above the items is there however early the file was cut off."""
    pods = [make.pod(f"p{n}") for n in range(3)]
    head = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "7"}}
    above = yaml.safe_dump({**head, "items": pods}, sort_keys=False)
    below = yaml.safe_dump({"items": pods, **head}, sort_keys=False)
    assert take(a__yaml=above).files[0].rows == {"kube_objects": 3}
    assert take(b__yaml=below).files[-1].rows == {"kube_objects": 3, "kube_lists": 1}


def test_truncated_json_gives_its_whole_items_and_a_reason(take, a_list):
    collected = take(a__json=a_list[: a_list.index('"uid-p2"')])
    assert [row["name"] for row in collected.tables["kube_objects"]] == ["n1", "p1"]
    assert reasons(collected) == [
        "the JSON is cut off or damaged after 2 whole items; dump it again"
    ]


def test_an_empty_file_is_refused(take):
    collected = take(a__json=b"", b__yaml=b"\n \n", c__gz=gzip.compress(b""))
    assert formats(collected) == ["empty"] * 3
    assert reasons(collected) == ["the file is empty; dump it again"] * 3


def test_binary_bytes_are_refused(take):
    collected = take(a__bin=bytes(range(256)) * 100)
    assert formats(collected) == ["binary"]
    assert reasons(collected) == ["binary bytes; only text, gzip and zstd are read"]


def test_a_log_with_a_run_of_nul_is_still_a_log(take):
    line = (
        b"2026-03-02 10:00:00 iteration        1/ 100 | elapsed time per iteration (ms): 812.4 |\n"
    )
    collected = take(a__log=line + b"\0" * 10 + b"\n" + line * 20)
    assert formats(collected) == ["log"]


@pytest.mark.parametrize(
    ("beginning", "label"),
    [(b'{"apiVersion": "v1", "kind": "Pod", "x": "', "kubernetes"), (b"", "log")],
)
def test_one_line_of_a_hundred_megabytes_needs_bounded_memory(tmp_path, beginning, label):
    path = tmp_path / "line"
    with path.open("wb") as out:
        out.write(beginning)
        for _ in range(100):
            out.write(b"x" * (1 << 20))
    tracemalloc.start()
    collected = collect_dump([path], now=NOW)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert formats(collected) == [label]
    assert len(reasons(collected)) >= 1
    assert peak < 150 << 20


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (
            "Name:         p1\nNamespace:    team\nPriority:     0\nNode:         n1/10.0.0.1\n",
            "kubectl get nodes,pods -A -o json",
        ),
        (
            "Events:\n  Type     Reason     Age   From     Message\n  ----     ------\n",
            "kubectl get events -A -o json",
        ),
        (
            "NAME   READY   STATUS    RESTARTS   AGE\np1     1/1     Running   0    3d\n",
            "`-o json`",
        ),
        ("NAMESPACE   NAME   STATUS   AGE\nteam   x   Active   3d\n", "`-o json`"),
        (
            "LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n5m   Normal   Pulled   pod/p1   x\n",
            "events -A",
        ),
    ],
)
def test_text_for_human_eyes_is_refused_with_the_command_to_run(take, text, remedy):
    collected = take(a__txt=text)
    assert formats(collected) == ["kubectl text"]
    [reason] = reasons(collected)
    assert remedy in reason


def test_words_of_describe_inside_an_object_do_not_matter(take, make):
    talkative = make.pod("p1", status={"message": "Name: x\nNamespace: y\nType  Reason  Age  From"})
    assert formats(take(a__json=json.dumps(talkative, indent=1))) == ["kubernetes"]


def test_text_without_any_known_line_is_refused(take):
    [reason] = reasons(take(a__txt="hello\nworld\n"))
    assert reason.startswith("no known step, checkpoint, phase or failure line")


def test_folders_are_walked_in_order_and_hidden_files_left_alone(tmp_path, make):
    for name in ("b/2.json", "a/1.json", "a/.hidden", ".git/x.json"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(make.pod("p1")))
    collected = collect_dump([tmp_path], now=NOW)
    names = [str(Path(report.file).relative_to(tmp_path)) for report in collected.files]
    assert names == ["a/1.json", "b/2.json"]


def test_a_path_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(NoData, match="check the path"):
        collect_dump([tmp_path / "nothing"])


def test_files_come_one_by_one(tmp_path, a_list):
    for name in ("1.json", "2.json"):
        (tmp_path / name).write_text(a_list)
    found = list(collect_files([tmp_path], cluster="west", now=NOW))
    assert [report.rows["kube_objects"] for report, _ in found] == [3, 3]
    assert {row["cluster"] for _, tables in found for row in tables["kube_objects"]} == {"west"}
    assert found[0][1] == found[1][1]


def test_unreadable_files_do_not_stop_the_others(tmp_path, a_list, monkeypatch):
    (tmp_path / "1.json").write_text(a_list)
    (tmp_path / "2.json").write_text(a_list)
    real = io.open

    def denied(file, *args, **kwargs):
        if str(file).endswith("1.json"):
            raise PermissionError(13, "Permission denied")
        return real(file, *args, **kwargs)

    monkeypatch.setattr(io, "open", denied)
    collected = collect_dump([tmp_path], now=NOW)
    assert formats(collected) == ["unreadable", "kubernetes"]
    assert reasons(collected) == ["the file cannot be read: Permission denied"]


def test_bad_counts_null_times_and_pods_without_node_leave_the_rest_taken(take, make):
    items = [
        make.node("n1", gpus="eight"),
        make.node("n2", gpus="8k"),
        make.node("n3", gpus=8),
        make.pod("p1", bound=None, started=None),
        make.pod("p2", metadata={"creationTimestamp": None}),
        {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g", "uid": "g"}},
    ]
    collected = take(a__json=make.listed(*items))
    assert len(collected.tables["kube_objects"]) == 5
    refused = {(row["column_name"], row["value"]) for row in collected.tables["quarantine"]}
    assert refused == {
        ("status.capacity[nvidia.com/gpu]", "eight"),
        ("status.allocatable[nvidia.com/gpu]", "eight"),
        ("kind", "Gadget (example.com/v1)"),
    }


def test_a_folder_that_cannot_be_listed_is_told(take, tmp_path, a_list, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir()
    list_folder = os.scandir

    def refuse(path):
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", refuse)
    collected = take(a__json=a_list)

    assert [report.file for report in collected.files] == [str(tmp_path / "a.json"), str(closed)]
    assert [reason.split(":")[0] for reason in reasons(collected)] == ["the file cannot be read"]
