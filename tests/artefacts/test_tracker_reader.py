"""Entries of foreign recorders become one row an instant; what cannot be used says why."""

import json
from datetime import UTC, datetime

import pytest
from artefact_account import stream

from goodput.sources import trackers

START = '{"node_rank": 3.0, "event_type": "job_started", "job_name": "j", "timestamp": %s}'
LOADED = '{"event_type": "checkpoint_loaded", "job_name": "j", "step": 40.0, "timestamp": %s}'
NAIVE = '"2026-03-02T06:08:24.318726"'


def read(text, **hints):
    return trackers.read(stream(text), {"file": "events.jsonl", **hints})


def test_a_naive_time_is_utc_unless_a_zone_is_given():
    row = read(START % NAIVE)["tracker_events"][0]
    assert row["t"] == datetime(2026, 3, 2, 6, 8, 24, 318726, UTC)
    assert row["t_us"] == 1772431704318726
    berlin = read(START % NAIVE, tz="Europe/Berlin")["tracker_events"][0]
    assert berlin["t"] == datetime(2026, 3, 2, 5, 8, 24, 318726, UTC)


def test_a_resiliency_event_keeps_rank_and_step_as_whole_numbers():
    rows = read(f"{START % NAIVE}\n{LOADED % NAIVE}\n", gpus="4", cluster="c")["tracker_events"]
    assert [
        (r["cluster"], r["recorder"], r["job"], r["event"], r["node_rank"], r["step"], r["gpus"])
        for r in rows
    ] == [
        ("c", "resiliency", "j", "job_started", 3, None, 4),
        ("c", "resiliency", "j", "checkpoint_loaded", None, 40, 4),
    ]
    assert [r["origin_line"] for r in rows] == [1, 2]


def test_a_node_has_eight_gpus_unless_told():
    assert read(START % NAIVE)["tracker_events"][0]["gpus"] == 8


def test_the_key_of_an_ml_goodput_entry_names_its_event():
    entries = [
        {"job_name": "j", "job_start_time": 1772409600.0},
        {"job_name": "j", "step_count": 7, "step_start_time": 1772409605.25},
        {
            "job_name": "j",
            "custom_badput_event_type": "eval_step",
            "custom_badput_event_start_time": 1772409610,
        },
    ]
    rows = read("\n".join(map(json.dumps, entries)))["tracker_events"]
    assert [(r["event"], r["step"], r["detail"]) for r in rows] == [
        ("job_start", None, None),
        ("step_start", 7, None),
        ("custom_start", None, "eval_step"),
    ]
    assert rows[1]["t"] == datetime(2026, 3, 2, 0, 0, 5, 250000, UTC)


SAVE = {
    "step": 5,
    "event_type": "save",
    "directory": "gs://b/run",
    "synchronous": False,
    "wait_for_prev_start_time": 1772409651.0,
    "wait_for_prev_duration_secs": 1.5,
    "checkpoint_manager_blocking_start_time": 1772409652.0,
    "checkpoint_manager_blocking_duration_secs": 4.0,
}


def test_orbax_statistics_belong_to_the_job_of_the_log_they_are_in():
    start = {"job_name": "j", "job_start_time": 1772409600.0}
    row = read(f"{json.dumps(start)}\n{json.dumps(SAVE)}")["tracker_events"][1]
    assert (row["job"], row["event"], row["step"], row["duration_s"]) == ("j", "save", 5, 4.0)
    assert row["is_synchronous"] is False
    assert row["waited_until"] == datetime(2026, 3, 2, 0, 0, 52, 500000, UTC)


def test_entries_may_come_from_a_cloud_logging_export_or_in_one_array():
    entry = json.loads(START % NAIVE)
    wrapped = json.dumps([{"jsonPayload": entry, "insertId": "x"}, entry], indent=1)
    assert trackers.sniff(wrapped.encode(), "export.json")
    rows = read(wrapped)["tracker_events"]
    assert [r["node_rank"] for r in rows] == [3, 3]


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        (START % "null", "t", "has no timestamp"),
        (START % '"yesterday"', "t", "has no timestamp"),
        ((LOADED % NAIVE).replace("40.0", "null"), "step", "has no step number"),
        ((LOADED % NAIVE).replace("40.0", "NaN"), "step", "has no step number"),
        ('{"job_name": "j", "job_start_time": null}', "t", "has no time in job_start_time"),
        ('{"job_name": "j", "job_start_time": 1e300}', "t", "has no time in job_start_time"),
        (json.dumps({**SAVE, "job_name": "j", "step": None}), "step", "has no step number"),
        (json.dumps(SAVE), "job", "names no job"),
        ('{"job_name": "j", "slices": 4}', "event", "is no event that goodput knows"),
        ("[1, 2]", None, "is no JSON object"),
        ('{"job_name": "j", "event_ty', None, "is no JSON object"),
        ("[" * 100_000, None, "is no JSON object"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused_with_its_reason(line, column, reason):
    good = LOADED % NAIVE
    tables = read(f"{line}\n")
    assert tables["tracker_events"] == []
    bad = tables["quarantine"][0]
    assert (bad["row_number"], bad["column_name"]) == (1, column)
    assert bad["reason"].startswith(reason)
    assert len(bad["value"]) <= 200
    assert len(read(f"{good}\n{line}\n{good}\n")["tracker_events"]) == (2 if column != "job" else 3)


def test_a_huge_line_is_skipped_and_the_rest_is_taken():
    tables = read(f"{'x' * 3_000_000}\n{LOADED % NAIVE}\n")
    assert len(tables["tracker_events"]) == 1
    assert tables["tracker_events"][0]["origin_line"] == 2
    assert len(tables["quarantine"]) == 1


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\0\0{}",
        b"[]",
        b'{"apiVersion": "v1", "items": []}',
        b"loss 3 step 4",
        b'{"job_name":',
    ],
)
def test_other_files_are_not_taken_for_a_recorder_log(head):
    assert not trackers.sniff(head, "events.jsonl")
    assert trackers.read(stream(head), {})["tracker_events"] == []
