"""Plays a fleet through real protocols while the real collectors run against it on a schedule."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from goodput.lake import Lake
from goodput.rows import DEFAULT_CLUSTER
from goodput.sources.dump import collect_files
from goodput.sources.dumped import take_dump
from goodput.sources.kube_access import find_access
from goodput.sources.kube_patience import Patience
from goodput.sources.kube_snapshot import Scope, take_kubernetes
from goodput.sources.kubernetes_api import KubernetesApi
from goodput.sources.live_checkpoints import take_checkpoints
from goodput.sources.prometheus import Plan, collect_prometheus
from goodput.sources.prometheus_http import Prometheus
from goodput.sources.prometheus_queries import load_queries
from goodput.sources.typed import import_files
from goodput.sources.web import Access
from goodput.synth import loki_server, metrics_server, prometheus_process, remote_write
from goodput.synth.api_server import ApiServer
from goodput.synth.files import instant
from goodput.synth.fleet import Job
from goodput.synth.loki_server import LokiServer
from goodput.synth.loop.account import Account, account
from goodput.synth.loop.day import simulate_day
from goodput.synth.loop.logs import Logs, logs_of
from goodput.synth.loop.samples import Series, all_series, scrapes
from goodput.synth.loop.schedule import (
    CHECKPOINTS,
    KUBERNETES,
    LOGS,
    LOKI,
    POD_LOGS,
    Run,
    schedule,
)
from goodput.synth.loop.seen import unseen
from goodput.synth.loop.stage import Stage
from goodput.synth.loop.storage import Checkpoints, Disk, Store
from goodput.synth.loop.watching import Watching
from goodput.synth.nodefiles import write_kernel_logs, write_typed
from goodput.synth.plan import HOUR, Fleet
from goodput.synth.trainlogs import checkpoint_root
from goodput.synth.truth import ledger
from goodput.warehouse.build import build
from goodput.window import Window

# Small pages, so that lists have several.
PAGE_ITEMS = 6
SETTLE = timedelta(seconds=300)
_ATTEMPTS = 4
_PATIENCE = Patience(attempts=_ATTEMPTS, first_wait_s=0.001, longest_wait_s=0.01, jitter_s=0)
_HANG_S, _KILL_AFTER_S = 30, 20


class Metrics(Protocol):
    """Something that holds samples and speaks Prometheus' query API at an address."""

    @property
    def url(self) -> str:
        """Before /api/v1."""
        ...

    def write(self, series: Series, /) -> None:
        """Take samples, newer than those before."""


@dataclass(frozen=True)
class RealPrometheus:
    """A Prometheus process that takes samples by remote write."""

    url: str

    def write(self, series: Series, /) -> None:
        """Send them."""
        remote_write.write(self.url, series)


@dataclass(frozen=True)
class Bucket:
    """Where jobs keep the checkpoints whose root is an s3:// address."""

    store: Store
    address: str


class Loop:
    """A fleet behind its protocols, and the lake that collectors fill from them."""

    def __init__(
        self,
        fleet: Fleet,
        folder: Path,
        stage: Stage,
        url: str,
        metrics: Metrics,
        loki: LokiServer,
        bucket: Bucket | None,
    ) -> None:
        self.lake = Lake.open(folder / "lake", create=True)
        self.metrics = metrics
        self._fleet = fleet
        self._folder = folder
        self._stage = stage
        self._kubeconfig = _kubeconfig(url, folder / "kubeconfig")
        self._access = find_access(self._kubeconfig)
        self._logs = Logs(fleet, folder / "logs", self.lake, self._open_api, loki)
        disk = Disk(folder / "storage")
        self._roots = [str(disk.folder), *([bucket.address] if bucket else [])]
        self._stores = [
            Checkpoints(_jobs(fleet, is_remote=False), disk),
            Checkpoints(_jobs(fleet, is_remote=True), bucket.store if bucket else disk),
        ]
        # Prometheus is down for a while, when the API server can be asked.
        down = fleet.start + 2 * HOUR
        self._scrapes = scrapes(fleet.sim, [(down, down + 1200)])

    def run(self, run: Run) -> None:
        """Let the world be as it was then, and one collector look at it."""
        self._stage.show(run.at)
        now = instant(run.at)
        if run.source == KUBERNETES:
            self._look(run, now)
        elif run.source in (LOGS, POD_LOGS, LOKI):
            self._logs.take(run)
        elif run.source == CHECKPOINTS:
            for checkpoints in self._stores:
                checkpoints.grow(run.at)
            take_checkpoints(self.lake, self._roots, cluster=DEFAULT_CLUSTER, now=now)
        else:
            self._sample(run.at)
            self._take_samples(now)

    def finish(self) -> None:
        """Bring in what no API shows: kernel logs, health checks, tickets, commitments."""
        write_kernel_logs(self._fleet, self._folder / "kernel")
        write_typed(self._fleet, self._folder / "typed")
        now = instant(self._fleet.sim.stop)
        reports = collect_files([self._folder / "kernel"], cluster=DEFAULT_CLUSTER, now=now)
        take_dump(self.lake, reports, cluster=DEFAULT_CLUSTER, now=now)
        import_files(self.lake, self._folder / "typed")

    def _look(self, run: Run, now: datetime) -> None:
        cluster = self._stage.cluster
        if run.watched:
            with closing(self._open_api()) as api:
                Watching(self.lake, self._stage, api).run(run.watched)
            return
        if run.fate == "killed":
            self._killed_look()
            return
        if run.fate == "expired":
            cluster.inject("pods", "expired", skip=1)
        elif run.fate == "broken":
            cluster.inject("pods", "broken", count=2)
        elif run.fate == "lost":
            cluster.inject("pods", "broken", count=_ATTEMPTS)
        elif run.fate == "slow":
            cluster.inject("pods", "slow", value="0.2")
        with ThreadPoolExecutor() as pool:
            looks = [pool.submit(self._take, now) for _ in range(2 if run.fate == "twice" else 1)]
        for look in looks:
            look.result()

    def _open_api(self) -> KubernetesApi:
        return KubernetesApi(self._access, lambda: self._access, _PATIENCE)

    def _take(self, now: datetime) -> None:
        with closing(self._open_api()) as api:
            take_kubernetes(self.lake, api, Scope(), cluster=DEFAULT_CLUSTER, clock=lambda: now)

    def _killed_look(self) -> None:
        """The command itself, killed while it waits for one of its last lists."""
        cluster = self._stage.cluster
        before = len(cluster.asked("workloads"))
        cluster.inject("workloads", "hang", value=str(_HANG_S))
        words = ["--lake", self.lake.url, "collect", "kubernetes"]
        command = [sys.executable, "-m", "goodput", *words, "--kubeconfig", str(self._kubeconfig)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - ours
            until = time.monotonic() + _KILL_AFTER_S
            while len(cluster.asked("workloads")) == before and time.monotonic() < until:
                time.sleep(0.01)
            process.kill()

    def _sample(self, t: int) -> None:
        due = [at for at in self._scrapes if at < t - 1]
        if due:
            self.metrics.write(all_series(self._fleet.sim, due))
            self._scrapes = self._scrapes[len(due) :]

    def _take_samples(self, now: datetime) -> None:
        server = Prometheus(Access(url=self.metrics.url))
        try:
            plan = Plan(cluster=DEFAULT_CLUSTER, queries=load_queries(), end=now - SETTLE)
            collect_prometheus(self.lake, server, plan, now=now)
        finally:
            server.close()


def _jobs(fleet: Fleet, *, is_remote: bool) -> list[Job]:
    return [job for job in fleet.sim.jobs if ("://" in checkpoint_root(job)) == is_remote]


def _kubeconfig(url: str, path: Path) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "loop",
        "clusters": [{"name": "loop", "cluster": {"server": url}}],
        "users": [{"name": "loop", "user": {"token": "good"}}],
        "contexts": [{"name": "loop", "context": {"cluster": "loop", "user": "loop"}}],
    }
    path.write_text(json.dumps(document))
    return path


@contextmanager
def playing(fleet: Fleet, folder: Path, bucket: Bucket | None = None) -> Iterator[Loop]:
    """Serve a fleet until left; its lake and files are in `folder`."""
    stage = Stage(fleet.sim, logs_of(fleet, "api"))
    stage.cluster.most_items = PAGE_ITEMS
    server = ApiServer(stage.cluster)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        with _metrics(folder / "prometheus") as metrics, loki_server.running() as loki:
            yield Loop(fleet, folder, stage, server.url, metrics, loki, bucket)
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _metrics(folder: Path) -> Iterator[Metrics]:
    """A real Prometheus, or what stands in for it where there is none."""
    if prometheus_process.is_installed():
        with prometheus_process.running(folder) as url:
            yield RealPrometheus(url)
    else:
        with metrics_server.running() as server:
            yield server


@dataclass(frozen=True)
class Played:
    """What came of a played day.

    Attributes:
        account: the truth beside the ledger.
        runs: runs of collectors by source, and by what befell them.
        failed_checks: checks of the build that failed.
        metrics: what held the samples.
    """

    account: Account
    runs: Counter[str]
    failed_checks: list[str]
    metrics: str


def play_day(
    start: datetime, seed: int, folder: Path, look_every_s: int, bucket: Bucket | None = None
) -> Played:
    """Play a day to the collectors, build, and set the ledger beside the truth.

    Args:
        start: begin of the window.
        seed: which day.
        folder: gets lake, logs, storage and what else there is; must be empty.
        look_every_s: how often the API server is asked.
        bucket: for the checkpoints of jobs that keep them in a bucket; None puts them on disk.
    """
    fleet = simulate_day(int(start.timestamp()), seed)
    runs = schedule(fleet, look_every_s)
    with playing(fleet, folder, bucket) as loop:
        for run in runs:
            loop.run(run)
        loop.finish()
        is_real = isinstance(loop.metrics, RealPrometheus)
    window = Window(instant(fleet.start), instant(fleet.end))
    built = build(loop.lake, window, instant(fleet.sim.stop))
    hidden = unseen(fleet, runs)
    return Played(
        account(ledger(fleet, hidden.veils), hidden, built.database),
        Counter(name for run in runs for name in (run.source, run.fate) if name),
        [check.name for check in built.checks if check.failed],
        "Prometheus" if is_real else "a stand-in, as no Prometheus is installed",
    )
