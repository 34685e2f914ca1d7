"""The logs of jobs to the collectors that read them: growing files, the API server, Loki."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from goodput.lake import Lake
from goodput.rows import DEFAULT_CLUSTER
from goodput.sources.kube_snapshot import Scope
from goodput.sources.kubernetes_api import KubernetesApi
from goodput.sources.live_logs import LogFiles, LogOptions, LogSource, take_logs
from goodput.sources.live_loki import LokiLogs
from goodput.sources.live_pod_logs import PodLogs
from goodput.sources.loki_http import Loki
from goodput.sources.web import Access
from goodput.synth.files import instant
from goodput.synth.fleet import Pod
from goodput.synth.loki_server import LokiServer
from goodput.synth.loop.day import LOKI_NAMESPACE, log_source
from goodput.synth.loop.schedule import LOKI, POD_LOGS, Run
from goodput.synth.loop.storage import GrowingLogs, loki_streams
from goodput.synth.plan import Fleet
from goodput.synth.trainlogs import Line, pod_logs

# Small pages, so that there are several.
_LOKI_LINES = 100


def logs_of(fleet: Fleet, source: str) -> list[tuple[Pod, list[Line]]]:
    """The logs that one source has, by the names of `log_source`."""
    return [
        (pod, lines)
        for pod, lines in pod_logs(fleet)
        if pod.job is not None and log_source(pod.job) == source
    ]


class Logs:
    """What jobs print, and the collectors that read it into a lake."""

    def __init__(
        self,
        fleet: Fleet,
        folder: Path,
        lake: Lake,
        open_api: Callable[[], KubernetesApi],
        loki: LokiServer,
    ) -> None:
        self._folder = folder
        self._files = GrowingLogs(logs_of(fleet, "files"), folder)
        self._shipped = logs_of(fleet, "loki")
        self._lake = lake
        self._open_api = open_api
        self._loki = loki

    def take(self, run: Run) -> None:
        """Let one collector read what its source has by then."""
        if run.source == POD_LOGS:
            with closing(self._open_api()) as api:
                self._read(PodLogs(api, Scope(), DEFAULT_CLUSTER), run)
        elif run.source == LOKI:
            self._loki.streams.entries = loki_streams(self._shipped, run.at)
            with closing(Loki(Access(self._loki.url), _LOKI_LINES)) as loki:
                query = f'{{namespace="{LOKI_NAMESPACE}"}}'
                self._read(LokiLogs(loki, query, instant(run.at)), run)
        else:
            self._files.grow(run.at)
            self._read(LogFiles([str(self._folder)]), run)

    def _read(self, source: LogSource, run: Run) -> None:
        take_logs(self._lake, source, LogOptions(), now=instant(run.at))
