"""Turns a fault trace in the form of InfiniteHBD's into typed tables for `goodput import`.

The trace is a JSON list of events: `node_id`, `event_time` in days since the trace began,
`event_type` fault_start or fault_end, and `fault_type` with Level, Class and Desc. It names only
nodes that had faults; --nodes says how many there are in all.

    python fault_trace_to_tables.py fault_trace.json tables/ --nodes 400 --days 348 \
        --origin 2024-03-30T00:00:00Z
    goodput import tables/
    goodput build --from 2024-03-30T00:00:00Z --to 2025-03-13T00:00:00Z
    goodput metrics --metric node_availability_closed

Needs nothing but Python. Take it as the pattern for a trace of your own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

# What the trace calls a fault, and the class of goodput's taxonomy that it is. More words first.
CLASSES = {
    ("GPU", "GPU DBE(Double Bit ECC) > Threshold"): "gpu.mem",
    ("GPU", "GPU SBE(Single Bit ECC) > Threshold"): "gpu.mem",
    ("GPU", "GPU Lost"): "gpu.lost",
    ("GPU", "GPU device not found"): "gpu.lost",
    ("GPU", "GPU PCI link width low"): "host.pcie",
    ("GPU", "GPU P2P Bandwidth Low"): "gpu.nvlink",
    ("GPU", "GPU Temperature High"): "gpu.thermal",
    ("GPU", "Silent Data Corruption"): "gpu.sdc",
    ("GPU", "nvidia-smi Timeout"): "gpu.driver",
    ("Change", "Remote Optical Module Failure"): "net.fabric",
    ("NIC", "NIC PCI link Width low"): "host.pcie",
    "GPU": "gpu.other",
    "NIC": "net.fabric",
    "Parameter Plane Cable": "net.fabric",
    "Power Supply": "host.power",
    "Fan": "host.power",
    "CPU": "host.cpu",
    "Motherboard": "host.cpu_mem",
    "Motherboard Battery": "host.power",
    "Riser Card": "host.pcie",
    "RAID Card": "host.disk",
    "File System": "host.disk",
    "Firmware": "host.runtime",
    "Software Tool": "host.runtime",
    "Operating System": "host.kernel",
    "System Crash": "host.kernel",
    "Change": "plat.maint",
    "Test": "plat.maint",
}

Row = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Writes nodes.ndjson and node_conditions.ndjson; tells what it left out."""
    options = parse_arguments(arguments)
    events = json.loads(options.trace.read_text(encoding="utf-8"))
    origin = datetime.fromisoformat(options.origin)
    conditions, problems = pair_faults(events, origin)
    options.tables.mkdir(parents=True, exist_ok=True)
    names = sorted({event["node_id"] for event in events})
    names += [f"no-fault-{number:05d}" for number in range(1, options.nodes - len(names) + 1)]
    write(options.tables / "nodes.ndjson", (node_row(name, origin, options) for name in names))
    write(options.tables / "node_conditions.ndjson", iter(conditions))
    summary = f"{len(names)} nodes, {len(conditions)} faults, {len(problems)} left out"
    sys.stderr.write("\n".join([*problems, summary]) + "\n")
    return 0


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("tables", type=Path, help="folder to write")
    parser.add_argument("--origin", default="2024-03-30T00:00:00Z", help="when day 0 began")
    parser.add_argument(
        "--days", type=float, help="days that the nodes are paid for; open if left out"
    )
    parser.add_argument("--nodes", type=int, default=0, help="nodes in all; at least those named")
    parser.add_argument("--gpus", type=int, default=8, help="of a node")
    return parser.parse_args(arguments)


def node_row(name: str, origin: datetime, options: argparse.Namespace) -> Row:
    """A node that is there from the beginning to the end of the trace."""
    end = None if options.days is None else instant(origin, options.days)
    return {
        "node_uid": name,
        "name": name,
        "pool": "trace",
        "gpus": options.gpus,
        "registered_at": instant(origin, 0),
        "paid_to": end,
    }


def pair_faults(events: list[Row], origin: datetime) -> tuple[list[Row], list[str]]:
    """Intervals from starts and ends of the same fault on the same node, first in, first out."""
    conditions: list[Row] = []
    problems: list[str] = []
    open_faults: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    # At the same instant a start comes before its end: 14 faults of the trace last no time at all.
    for event in sorted(events, key=lambda e: (e["event_time"], e["event_type"] == "fault_end")):
        fault = event["fault_type"]
        key = (event["node_id"], fault["Level"], fault["Class"], fault["Desc"])
        if event["event_type"] == "fault_start":
            conditions.append(condition_row(event, instant(origin, event["event_time"])))
            open_faults[key].append(conditions[-1])
        elif open_faults[key]:
            open_faults[key].pop(0)["to"] = instant(origin, event["event_time"])
        else:
            problems.append(f"day {event['event_time']}: {key} ends and never began; left out")
    return conditions, problems


def condition_row(event: Row, start: str) -> Row:
    """A fault as a condition that makes its node unfit for work; open until its end is seen."""
    fault = event["fault_type"]
    known = CLASSES.get((fault["Class"], fault["Desc"])) or CLASSES.get(fault["Class"])
    return {
        "node_uid": event["node_id"],
        # A type that ends in neither Ready nor Healthy is bad when True.
        "type": "FaultReported",
        "status": "True",
        "reason": f"{fault['Class']}: {fault['Desc']}",
        "class": known or "unk.none",
        "blocking": True,
        "from": start,
        "to": None,
    }


def instant(origin: datetime, days: float) -> str:
    """RFC 3339, to the millisecond."""
    moment = origin + timedelta(milliseconds=round(days * 86_400_000))
    return moment.isoformat(timespec="milliseconds")


def write(path: Path, rows: Iterator[Row]) -> None:
    """One JSON object a line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
