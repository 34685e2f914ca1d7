"""The adapter of docs/bring-your-own-data.md, by the commands that it shows."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "examples" / "fault_trace_to_tables.py"

DAYS = 10


def event(node, day, kind, fault):
    level, name, text = fault
    return {
        "node_id": node,
        "event_time": day,
        "event_type": f"fault_{kind}",
        "fault_type": {"Level": level, "Class": name, "Desc": text},
    }


GPU = ("Hardware Failure", "GPU", "GPU Lost")
FAN = ("Hardware Failure", "Fan", "Redundancy Lost")
ODD = ("Other Failure", "Unknown Error", "Unknown Error")

TRACE = [
    # Overlapping faults of one node: days 1 to 3.
    event("a", 1, "start", GPU),
    event("a", 1.5, "start", FAN),
    event("a", 2, "end", GPU),
    event("a", 3, "end", FAN),
    # No time at all, its end listed first.
    event("a", 5, "end", ODD),
    event("a", 5, "start", ODD),
    # Runs beyond the window, and one that never ends.
    event("b", 9, "start", FAN),
    event("b", 12, "end", FAN),
    event("c", 9.5, "start", ODD),
    # An end without a start is left out.
    event("c", 1, "end", GPU),
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    (folder / "trace.json").write_text(json.dumps(TRACE))
    arguments = [folder / "trace.json", folder / "tables", "--nodes", "4", "--days", str(DAYS)]
    done = subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    assert "4 nodes, 5 faults, 1 left out" in done.stderr
    return folder / "tables"


def goodput(lake, *arguments):
    command = [sys.executable, "-m", "goodput", "--lake", str(lake), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_faults_become_conditions_and_all_nodes_are_there(tables):
    assert [row["node_uid"] for row in rows(tables / "nodes.ndjson")] == [
        "a",
        "b",
        "c",
        "no-fault-00001",
    ]
    found = [
        (row["node_uid"], row["class"], row["from"][:16], (row["to"] or "")[:16])
        for row in rows(tables / "node_conditions.ndjson")
    ]
    assert found == [
        ("a", "gpu.lost", "2024-03-31T00:00", "2024-04-01T00:00"),
        ("a", "host.power", "2024-03-31T12:00", "2024-04-02T00:00"),
        ("a", "unk.none", "2024-04-04T00:00", "2024-04-04T00:00"),
        ("b", "host.power", "2024-04-08T00:00", "2024-04-11T00:00"),
        ("c", "unk.none", "2024-04-08T12:00", ""),
    ]


def test_availability_unites_the_faults_of_a_node_and_clips_them(tables, tmp_path):
    goodput(tmp_path, "import", "--strict", tables)
    goodput(tmp_path, "build", "--from", "2024-03-30T00:00:00Z", "--to", "2024-04-09T00:00:00Z")
    found = json.loads(
        goodput(tmp_path, "metrics", "--metric", "node_availability_closed", "-o", "json")
    )
    values = {(row["scope"], row["scope_value"]): row["value"] for row in found}
    assert values["fleet", ""] == pytest.approx(1 - (2 + 1 + 0.5) / (4 * DAYS), rel=1e-12)
    assert values["node", "a"] == pytest.approx(0.8, rel=1e-12)
    assert values["node", "no-fault-00001"] == 1


def test_every_class_that_the_adapter_names_is_in_the_taxonomy():
    taxonomy = (ROOT / "goodput" / "catalog" / "taxonomy.csv").read_text().splitlines()
    known = {line.split(",")[0] for line in taxonomy}
    assert set(runpy.run_path(str(SCRIPT))["CLASSES"].values()) <= known
