"""`collect prometheus` beside prometheus-api-client, both on one real Prometheus, one process each.

The fleet is 500 nodes with 10 conditions of 3 statuses, scraped every 30 s: 1.8 million samples an
hour. A week of it is 302 million; the memory of the collector must not depend on how many hours it
takes, so a few hours tell, and the peaks of a short and a long span stand side by side. A whole
week was pulled once: 2.4 million samples a second and 4.6 million a CPU second in 139 MB, where
prometheus-api-client took 0.74 and 1.1 million in 1,132 MB over 12 hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.processes import run_module
from goodput.synth import prometheus_process, remote_write

START = datetime(2026, 3, 2, tzinfo=UTC)
NODES, CONDITIONS, STATUSES = 500, 10, ("true", "false", "unknown")
STEP_MS = 30_000
_HOUR_MS = 3_600_000
_SERIES_A_MESSAGE = 1_500


@dataclass(frozen=True)
class Pull:
    """What one pull of all samples took."""

    samples: int
    seconds: float
    cpu_seconds: float
    peak_mb: float

    @property
    def rate(self) -> float:
        """Samples a second."""
        return self.samples / self.seconds

    @property
    def cpu_rate(self) -> float:
        """Samples a second of the client's CPU."""
        return self.samples / self.cpu_seconds


def measure(folder: Path, hours: int) -> tuple[Pull, Pull, Pull] | None:
    """The collector over two hours, over all hours, and prometheus-api-client over all hours.

    None where there is no Prometheus to ask.
    """
    if not prometheus_process.is_installed():
        return None
    with prometheus_process.running(folder) as url:
        fill(url, hours)
        return _collect(folder, url, 2), _collect(folder, url, hours), _ask_client(url, hours)


def _collect(folder: Path, url: str, hours: int) -> Pull:
    end = START + timedelta(hours=hours)
    words = [
        *("goodput", "--lake", str(folder / f"lake{hours}"), "collect", "prometheus"),
        *("--url", url, "--query", "node_condition"),
        *("--from", START.isoformat(), "--to", end.isoformat()),
    ]
    return _pull(hours, *words)


def _ask_client(url: str, hours: int) -> Pull:
    return _pull(hours, "benchmarks.prometheus_reference", url, START.isoformat(), str(hours))


def _pull(hours: int, *words: str) -> Pull:
    used = run_module(*words)
    samples = NODES * CONDITIONS * len(STATUSES) * hours * _HOUR_MS // STEP_MS
    return Pull(samples, used.seconds, used.cpu_seconds, used.peak_mb)


def fill(url: str, hours: int) -> None:
    """Writes the fleet's samples through remote write, oldest first, as a head block needs them.

    Each hour another tenth of the nodes has a condition that is bad for five minutes.
    """
    for hour in range(hours):
        start_ms = int(START.timestamp() * 1000) + hour * _HOUR_MS
        # One scrape gives all series one time, some milliseconds off the half minute.
        times = [start_ms + 12_345 + at + at // STEP_MS % 7 for at in range(0, _HOUR_MS, STEP_MS)]
        usual = {hot: remote_write.points((at, hot) for at in times) for hot in (0, 1)}
        odd = {
            hot: remote_write.points((at, hot ^ (40 <= n < 50)) for n, at in enumerate(times))
            for hot in (0, 1)
        }
        series = [
            remote_write.field(1, _names(node, condition, status) + points[status == "false"])
            for node in range(NODES)
            for condition in range(CONDITIONS)
            for status in STATUSES
            for points in [odd if _flips(node, condition, hour) and status != "unknown" else usual]
        ]
        for begin in range(0, len(series), _SERIES_A_MESSAGE):
            remote_write.post(url, b"".join(series[begin : begin + _SERIES_A_MESSAGE]))


def _flips(node: int, condition: int, hour: int) -> bool:
    return node % 10 == hour % 10 and condition == node // 10 % CONDITIONS


def _names(node: int, condition: int, status: str) -> bytes:
    return remote_write.names(
        {
            "__name__": "kube_node_status_condition",
            "condition": f"Condition{condition}",
            "instance": "10.0.0.7:8080",
            "job": "kube-state-metrics",
            "node": f"gpu-node-{node:04}.example.internal",
            "status": status,
        }
    )
