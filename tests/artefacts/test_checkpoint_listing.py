"""Listings of storage become checkpoints: which steps, when, how large, whole or not."""

import json
import tomllib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from artefact_account import account, at, merged, seconds, stream

from goodput._resources import catalog_dir
from goodput.sources import checkpoint_listing
from goodput.sources.checkpoint_layouts import defect as defect_of
from goodput.sources.checkpoint_layouts import find_checkpoints
from goodput.sources.listing_lines import Entry, parse_lines, parse_size

LAYOUTS = tomllib.loads((catalog_dir() / "checkpoint_layouts.toml").read_text())["layout"]
EXAMPLES = [
    pytest.param(layout["name"], example, id=f"{layout['name']}-{number}")
    for layout in LAYOUTS
    for number, example in enumerate(layout["example"])
]


def read(text, **hints):
    return checkpoint_listing.read(stream(text), {"file": "listing.txt", **hints})


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_each_layout_knows_the_checkpoints_of_its_examples(name, example):
    rows = read(example["listing"].lstrip("\n"))["checkpoint_files"]
    assert sorted(row["step"] for row in rows) == example["steps"]
    assert sorted(row["step"] for row in rows if row["is_complete"]) == example["complete"]
    assert name in {row["layout"] for row in rows}
    assert checkpoint_listing.sniff(example["listing"].encode(), "listing.txt")


def test_a_defect_names_what_is_missing():
    rows = read(LAYOUTS[0]["example"][0]["listing"])["checkpoint_files"]
    assert {row["step"]: row["defect"] for row in rows} == {
        100: None,
        200: "1 of 2 shards of model are missing",
        300: "adapter_model.safetensors has 132 bytes: a Git LFS pointer, or cut off",
        400: "its writer had not finished it",
    }


PATH = "run/checkpoint-5/model.safetensors"
NOON = datetime(2026, 3, 2, 12, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "size", "written_at"),
    [
        (PATH, None, None),
        (f"{PATH}  >=4194304", 4194304, None),
        (f"-rw-r--r-- 1 u g 700 Mar  2 12:00 {PATH}", 700, NOON.replace(second=0)),
        (f"-rw-r--r-- 1 u g 700 Mar  2  2025 {PATH}", 700, datetime(2025, 3, 2, tzinfo=UTC)),
        (f"-rw-r--r--. 1 u g 1.5K 2026-03-02 12:00 {PATH}", 1536, NOON.replace(second=0)),
        (f"-rw-r--r-- 1 u g 700 2026-03-02 13:00:05.000000000 +0100 {PATH}", 700, NOON),
        (f"   12  4 -rw-r--r--  1 u  g   700 Mar  2 12:00 ./{PATH}", 700, NOON.replace(second=0)),
        (f"1772452805.0000000000 700 {PATH}", 700, NOON),
        (f"700 1772452805.0000000000 {PATH}", 700, NOON),
        (f"700 2026-03-02+12:00:05.0000000000 {PATH}", 700, NOON),
        (f"2026-03-02 12:00:05        700 {PATH}", 700, NOON),
        (f"      700  2026-03-02T12:00:05Z  {PATH}", 700, NOON),
        (f"      700 2026-03-02 12:00:05.000000000 {PATH}", 700, NOON),
        (f"700\t{PATH}", 700, None),
    ],
)
def test_a_line_of_each_tool_gives_path_size_and_time(line, size, written_at):
    assert list(parse_lines([(3, line)], UTC, 2026)) == [
        Entry(PATH, size, written_at, is_directory=False, line=3)
    ]


def test_ls_headers_and_object_store_urls_give_whole_paths():
    lines = ["/ckpt/run:", "total 8", "drwxr-xr-x 2 u g 6 2026-03-02 12:00 iter_0000005", "a.pt"]
    entries = list(parse_lines(enumerate(lines), UTC, None))
    assert [(e.path, e.is_directory) for e in entries] == [
        ("/ckpt/run/iter_0000005", True),
        ("/ckpt/run/a.pt", False),
    ]
    url = "      700  2026-03-02T12:00:05Z  gs://b/run/5/d/a"
    assert next(iter(parse_lines([(1, url)], UTC, None))).path == "gs://b/run/5/d/a"


@pytest.mark.parametrize(
    ("text", "size"), [("7", 7), (">=7", 7), ("1.5K", 1536), ("2MiB", 2097152), ("", None)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


def test_times_of_ls_without_a_year_need_one():
    text = f"-rw-r--r-- 1 u g 7000 Mar  2 12:00 {PATH}\n"
    assert read(text)["checkpoint_files"][0]["last_written_at"] is None
    assert read(text, year="2026")["checkpoint_files"][0]["last_written_at"] == NOON.replace(
        second=0
    )
    paris = read(text, year="2026", tz="Europe/Paris")["checkpoint_files"][0]
    assert paris["last_written_at"] == datetime(2026, 3, 2, 11, tzinfo=UTC)


def test_steps_without_times_are_kept_and_the_remedy_is_told():
    tables = read(
        f"{PATH}\nrun/checkpoint-5/trainer_state.json\nrun/checkpoint-9/trainer_state.json"
    )
    assert [row["step"] for row in tables["checkpoint_files"]] == [5, 9]
    (row,) = tables["quarantine"]
    assert (row["column_name"], row["value"]) == ("last_written_at", "2 checkpoints, steps 5 to 9")
    assert "find DIR -printf" in row["reason"]


def test_sizes_and_times_cover_all_files():
    row = read(
        "2026-03-02 12:00:00 5000 b/checkpoint-5/model.safetensors\n"
        "2026-03-02 12:00:07 6000 b/checkpoint-5/optimizer.pt\n"
        "2026-03-02 12:00:09  900 b/checkpoint-5/trainer_state.json\n",
        root="s3://bucket/team/",
    )["checkpoint_files"][0]
    assert (row["files"], row["bytes"]) == (3, 11900)
    assert row["first_written_at"] == datetime(2026, 3, 2, 12, tzinfo=UTC)
    assert row["last_written_at"] == datetime(2026, 3, 2, 12, 0, 9, tzinfo=UTC)
    assert (row["root"], row["path"]) == ("s3://bucket/team/b", "b/checkpoint-5")


def test_the_name_of_a_directory_alone_says_nothing_about_its_files():
    row = read("drwxr-xr-x 2 u g 6 2026-03-02 12:00:05.0 +0000 checkpoint-5\n")["checkpoint_files"][
        0
    ]
    assert (row["is_complete"], row["files"], row["last_written_at"]) == (None, None, NOON)


ORBAX = (
    '{"init_timestamp_nsecs": 1772452800000000000, "commit_timestamp_nsecs": 1772452805000000000}'
)


def test_orbax_metadata_beside_a_listing_gives_start_and_commit():
    text = (
        "step directory: 700/   (8 processes)\n_CHECKPOINT_METADATA  269\nitems/_METADATA  5000\n"
        "items/d/aa00 .. aa03\nitems/manifest.ocdbt  120\n--- _CHECKPOINT_METADATA\n" + ORBAX
    )
    (row,) = read(text)["checkpoint_files"]
    assert (row["step"], row["is_complete"], row["files"]) == (700, True, 7)
    assert (row["committed_at"] - row["first_written_at"]).total_seconds() == 5


ITEM = ("_METADATA", "d/d6a2bd60", "manifest.ocdbt")
PROCESS = (
    "ocdbt.process_0/d/d6a2bd60",
    "ocdbt.process_0/manifest.ocdbt",
    "array_metadatas/process_0",
)


@pytest.mark.parametrize(
    ("names", "path", "defect"),
    [
        (("_CHECKPOINT_METADATA", *ITEM, *PROCESS), "a/final", None),
        ((*ITEM, *PROCESS), "a/final", None),
        ((*ITEM[1:], *PROCESS), "a/final", None),
        (PROCESS, "a/final", "manifest.ocdbt is not there"),
        ((*ITEM[:1], *ITEM[2:], *PROCESS), "a/final", "d/* is not there"),
        ((*ITEM[:2], *PROCESS), "a/final", "manifest.ocdbt is not there"),
        (
            ("metadata/metadata", *(f"state/{name}" for name in ITEM + PROCESS)),
            "a/final/state",
            None,
        ),
        (
            ("_CHECKPOINT_METADATA", "state/_METADATA"),
            "a/final",
            "state/manifest.ocdbt is not there",
        ),
        (tuple(f"state/{name}" for name in ITEM + PROCESS), "a/final/state", None),
    ],
)
def test_an_orbax_tree_without_a_step_in_its_name_is_one_checkpoint(names, path, defect):
    listing = "\n".join(f"2026-03-02 10:00:00 90000 a/final/{name}" for name in names)
    [row] = read(listing)["checkpoint_files"]
    assert (row["path"], row["step"], row["layout"]) == (path, None, "orbax")
    assert (row["is_complete"], row["defect"]) == (defect is None, defect)


def test_files_that_tell_a_checkpoint_make_none_of_the_folder_above_checkpoints():
    names = ("_METADATA", "100/_METADATA", "100/d/ff", "100/manifest.ocdbt")
    listing = "\n".join(f"2026-03-02 10:00:00 90000 run/{name}" for name in names)
    assert [row["step"] for row in read(listing)["checkpoint_files"]] == [100]


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (
            "run/checkpoint-500/trainer_state.json",
            json.dumps({"global_step": 500, "log_history": [], "max_steps": 525}, indent=2),
            ("hf-trainer", "run/checkpoint-500", 500, 525, None),
        ),
        ("b/run/700/_CHECKPOINT_METADATA", ORBAX, ("orbax", "b/run/700", 700, None, True)),
        (
            "ckpt/latest_checkpointed_iteration.txt",
            "1500",
            ("megatron", "ckpt/iter_0001500", 1500, None, True),
        ),
    ],
)
def test_trainers_notes_tell_one_checkpoint(file, text, expected):
    assert checkpoint_listing.sniff(text.encode(), file)
    (row,) = checkpoint_listing.read(stream(text), {"file": file})["checkpoint_files"]
    columns = ("layout", "path", "step", "planned_steps", "is_complete")
    assert tuple(row[column] for column in columns) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "holds no checkpoint"),
        (b"a/b/c.txt 7\n", "holds no checkpoint"),
        (b"run/checkpoint-5/a\0b 7\n", "holds no checkpoint"),
        (b"checkpoint-99999999999999999999999/x 7\n", "holds no checkpoint"),
        (b'{"global_step": 5, "log_history": [', "is no whole trainer_state.json"),
        (b'{"global_step": null, "log_history": []}', "names no step"),
        (b'{"global_step": ' + b"[" * 99_999, "is no whole trainer_state.json"),
    ],
)
def test_what_is_no_listing_is_refused_with_its_reason(data, reason):
    tables = read(data)
    assert tables["checkpoint_files"] == []
    assert tables["quarantine"][0]["reason"].startswith(reason)


def test_lines_that_are_no_entries_are_told_and_do_not_flood():
    tables = read(f"{PATH} 7000\n" + "what is this?\n" * 50 + "y" * 2_000_000)
    assert len(tables["checkpoint_files"]) == 1
    assert len(tables["quarantine"]) == 22
    assert tables["quarantine"][20]["reason"] == "31 more lines are no lines of a listing"


@pytest.mark.parametrize(
    "head",
    [
        b"\0\0",
        b"NAME READY STATUS\npod-1 1/1 Running\n",
        b" iteration 5/ 100 | elapsed time 3\nsaving checkpoint at iteration 5 to /ckpt\n",
        b"up 1\nsteps_total 5\n",
        b'{"kind": "List"}',
    ],
)
def test_other_files_are_not_taken_for_a_listing(head):
    assert not checkpoint_listing.sniff(head, "file")


MANY = "9" * 5000


@pytest.mark.parametrize(
    ("files", "step", "defect"),
    [
        (
            [
                "checkpoint-5/trainer_state.json",
                "checkpoint-5/model-00001-of-99999999999999.safetensors",
            ],
            5,
            "99999999999998 of 99999999999999 shards of model are missing",
        ),
        (
            [
                "iter_0000005/common.pt",
                "iter_0000005/.metadata",
                f"iter_0000005/__{MANY}_0.distcp",
            ],
            5,
            f"{2**63} of {2**63 + 1} ranks are missing",
        ),
        ([f"run-{MANY}/_CHECKPOINT_METADATA"], None, None),
    ],
)
def test_numbers_in_names_may_be_of_any_size(files, step, defect):
    entries = [Entry(file, 5000, at(0), is_directory=False, line=1) for file in files]
    [found] = find_checkpoints(entries)
    assert (found.step, defect_of(found)) == (step, defect)


def test_each_part_of_an_orbax_tree_is_judged_by_its_own_files():
    files = ["_METADATA", "manifest.ocdbt", "d/1", "a/_METADATA", "a/manifest.ocdbt", "a/b/d/2"]
    entries = [Entry(f"r/best/{file}", 5000, at(0), is_directory=False, line=1) for file in files]
    [found] = find_checkpoints(entries)
    assert defect_of(found) == "a/d/* is not there"
    [found] = find_checkpoints([*entries, replace(entries[2], path="r/best/a/d/3")])
    assert defect_of(found) is None


LISTING = """\
2026-03-02 00:10:00 5000 llm/run-7/checkpoint-5/model.safetensors
2026-03-02 00:10:30  900 llm/run-7/checkpoint-5/trainer_state.json
2026-03-02 00:20:00 5000 llm/run-7/checkpoint-9/model.safetensors
2026-03-02 00:20:00 5000 llm/run-70/checkpoint-3/model.safetensors
"""
JOBS = {
    "jobs": [
        {"cluster": "c", "job": "uid-a", "name": "a", "lineage": "gs://ckpt/llm/run-7/"},
        {"cluster": "c", "job": "uid-b", "name": "b", "lineage": "llm"},
    ],
    "attempts": [
        {"cluster": "c", "job": "uid-a", "attempt": 1, "start": at(0), "end": at(900)},
        {"cluster": "c", "job": "uid-a", "attempt": 2, "start": at(1000)},
    ],
}


def test_a_checkpoint_belongs_to_the_job_with_the_longest_matching_lineage(tmp_path):
    listing = read(LISTING, cluster="c", root="gs://ckpt")
    given = read(LISTING.splitlines()[3], cluster="c", job="uid-x")
    with account(tmp_path, merged(JOBS, listing)) as con:
        found = con.execute(
            "select job, attempt, step, write_started_at, committed_at from staged.checkpoints"
            " order by job, step"
        ).fetchall()
    assert [tuple(map(seconds, row)) for row in found] == [
        ("uid-a", 1, 5, 600, 630),
        # Without its trainer state it was written and never committed.
        ("uid-a", 2, 9, 1200, None),
        ("uid-b", None, 3, 1200, None),
    ]
    assert given["checkpoint_files"][0]["job"] == "uid-x"
