"""Writes the dashboards beside this file, or to a folder: `python dashboards/grafana [FOLDER]`."""

import json
import sys
from pathlib import Path

import fleet
import job
import node
import reliability

BOARDS = {"fleet": fleet, "job": job, "node": node, "reliability": reliability}

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    for name, board in BOARDS.items():
        text = json.dumps(board.make(), indent=2) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
