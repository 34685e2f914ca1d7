"""How large the weekly page is and how soon it is painted: the demo's week, and a large fleet's."""

from __future__ import annotations

import json
import random
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from goodput.lake import Lake
from goodput.report.render import render_html
from goodput.report.result import read_result
from goodput.rows import DEFAULT_CLUSTER
from goodput.sources.dump import collect_files
from goodput.sources.dumped import take_dump
from goodput.sources.typed import import_files
from goodput.synth.artefacts import write_artefacts
from goodput.synth.plan import AFTERMATH, simulate
from goodput.warehouse.build import build
from goodput.window import Window

Report = dict[str, Any]

RAW = ("kubernetes", "logs", "kernel", "checkpoints")
JOBS, NODES, INTERRUPTIONS, TEAMS = 10_000, 2_000, 3_000, 40
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

# First contentful paint: text or a picture, in milliseconds after the page was asked for.
_PAINTED = """() => new Promise(resolve => new PerformanceObserver(list => {
    for (const entry of list.getEntries())
        if (entry.name === 'first-contentful-paint') resolve(entry.startTime);
}).observe({type: 'paint', buffered: true}))"""


@dataclass(frozen=True)
class Page:
    """One page: its size, and the best of some first paints."""

    megabytes: float
    paint_seconds: float


def demo_week(folder: Path) -> Report:
    """The result of the week that `goodput demo` simulates."""
    window = Window.of_week("2026-W48")
    known_at = window.end + timedelta(seconds=AFTERMATH)
    write_artefacts(simulate(int(window.start.timestamp()), 1), folder / "artefacts")
    lake = Lake.open(folder / "lake", create=True)
    folders = [folder / "artefacts" / name for name in RAW]
    reports = collect_files(folders, cluster=DEFAULT_CLUSTER, now=known_at)
    take_dump(lake, reports, cluster=DEFAULT_CLUSTER, now=known_at)
    import_files(lake, folder / "artefacts" / "typed")
    return read_result(build(lake, window, known_at).database) | {"trends": [], "history": []}


def large_week(report: Mapping[str, Any], jobs: int = JOBS) -> Report:
    """The same week as if so many jobs had run on 2,000 nodes: its rows under other names."""
    draw = random.Random(7)  # noqa: S311 - names and sizes, no secrets
    copied: Report = json.loads(json.dumps(report))
    made = []
    for number in range(jobs):
        team = f"team-{draw.randrange(TEAMS):02d}"
        row = draw.choice(report["jobs"]) | {
            "job": str(uuid.UUID(int=draw.getrandbits(128))),
            "job_name": f"{draw.choice(('pretrain', 'sft', 'ablate', 'eval'))}-{number:05d}",
            "team": team,
            "namespace": f"ns-{team}",
            "gpu_hours": draw.lognormvariate(3, 2),
        }
        made.append(row | {"lost_gpu_hours": row["gpu_hours"] * draw.random() / 10})
    copied["jobs"] = sorted(made, key=lambda row: -row["lost_gpu_hours"])
    keys = ("job", "job_name", "team", "namespace")
    copied["interruptions"] = [
        row | {key: job[key] for key in keys}
        for job in copied["jobs"][: jobs * INTERRUPTIONS // JOBS]
        for row in draw.choices(report["interruptions"])
    ]
    copied["nodes"] = [
        row | {"node_uid": str(uuid.UUID(int=draw.getrandbits(128))), "node_name": f"node-{n:04d}"}
        for n in range(NODES)
        for row in draw.choices(report["nodes"])
    ]
    names = [row["node_name"] for row in copied["nodes"]]
    lanes = draw.choices(report["node_timeline"], k=300)
    copied["node_timeline"] = [
        lane | {"node_name": name} for lane, name in zip(lanes, names, strict=False)
    ]
    copied["job_timeline"] = [
        lane | {key: job[key] for key in ("job", "job_name")}
        for job in copied["jobs"][:100]
        for lane in draw.choices(report["job_timeline"])
    ]
    copied["slices"] = [
        row | {"team": f"team-{team:02d}", "namespace": f"ns-team-{team:02d}"}
        for team in range(TEAMS)
        for row in report["slices"]
    ]
    return copied


def measure(folder: Path) -> dict[str, Page] | None:
    """The pages of both weeks; None without Playwright or a Chromium."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if executable is None:
        return None
    week = demo_week(folder)
    pages = {}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=FLAGS)
        for name, report in (("demo_week", week), (f"{JOBS}_jobs", large_week(week))):
            path = folder / f"{name}.html"
            path.write_text(render_html(report), encoding="utf-8", errors="backslashreplace")
            paints = []
            for _ in range(5):
                page = browser.new_page()
                page.goto(path.as_uri(), wait_until="commit")
                paints.append(page.evaluate(_PAINTED) / 1000)
                page.close()
            pages[name] = Page(path.stat().st_size / 1e6, min(paints))
        browser.close()
    return pages
