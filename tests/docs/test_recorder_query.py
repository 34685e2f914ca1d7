"""The query of docs/bring-your-own-data.md over a recorder's log: every second in one bucket."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUERY = ROOT / "docs" / "examples" / "resiliency_partition.sql"

EVENTS = [
    ("10:00:00", "job_started", {"node_rank": 0.0}),
    ("10:00:02", "job_started", {"node_rank": 1.0}),
    ("10:01:00", "checkpoint_loaded", {"step": 10.0}),
    ("10:05:00", "checkpoint_saved", {"step": 20.0}),
    ("10:08:00", "checkpoint_saved", {"step": 30.0}),
    # Dies; two starts with one node fail before and after their load, then the job ends.
    ("10:10:00", "job_started", {"node_rank": 0.0}),
    ("10:11:00", "job_started", {"node_rank": 0.0}),
    ("10:12:00", "checkpoint_loaded", {"step": 30.0}),
    ("10:15:00", "user_terminated", {}),
]


def goodput(lake, *arguments):
    command = [sys.executable, "-m", "goodput", "--lake", str(lake), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_partition_of_a_recorded_job_sums_to_its_wall_time(tmp_path):
    log = tmp_path / "events.jsonl"
    log.write_text(
        "\n".join(
            json.dumps(
                {"job_name": "j", "event_type": kind, "timestamp": f"2026-03-02T{time}", **more}
            )
            for time, kind, more in EVENTS
        )
    )
    lake = tmp_path / "lake"
    goodput(lake, "collect", "dump", log, "--hint", "gpus=4")
    day = ("--from", "2026-03-02T00:00:00Z", "--to", "2026-03-03T00:00:00Z")
    goodput(lake, "build", *day, "--param", "ideal_step_seconds=15")
    found = json.loads(goodput(lake, "query", "-o", "json", QUERY.read_text()))
    assert [(r["bucket"], r["attempts"], r["seconds"], r["node_seconds"]) for r in found] == [
        ("kept", 1, 420, 840),
        ("never loaded", 1, 60, 60),
        ("start to load", 2, 120, 180),
        ("tail", 2, 300, 420),
    ]
    assert sum(row["seconds"] for row in found) == 15 * 60
    (own,) = json.loads(goodput(lake, "query", "-o", "json", "from views.resiliency_goodput"))
    assert (own["numerator"], own["denominator"], own["value"]) == (300, 900, 300 / 900)
    (paid,) = json.loads(
        goodput(
            lake,
            "query",
            "-o",
            "json",
            "select sum(unit_ms) / 5040 / 1000 as s from ledger.gpu_time",
        )
    )
    assert paid["s"] == 2 * 4 * 900
