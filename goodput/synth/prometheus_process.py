"""A real Prometheus as a process of its own, for samples that are written into it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_S = 30


def is_installed() -> bool:
    """Whether this machine has a Prometheus; on Debian: apt-get install prometheus."""
    return shutil.which("prometheus") is not None


@contextmanager
def running(
    folder: Path, options: Sequence[str] = (), config: str = "global: {}\n"
) -> Iterator[str]:
    """Start a Prometheus that keeps its data in a folder; give its address; stop it when left.

    Args:
        options: more words of its command line.
        config: the text of its prometheus.yml.

    Raises:
        TimeoutError: it does not answer, with the end of what it printed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prometheus.yml").write_text(config)
    url = f"http://127.0.0.1:{_free_port()}"
    words = [
        "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={url.removeprefix('http://')}",
        "--web.enable-remote-write-receiver",
        *options,
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)  # noqa: S603 - no text of others
    try:
        _wait(url, process, folder / "log")
        yield url
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait(url: str, process: subprocess.Popen[bytes], printed: Path) -> None:
    until = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=5):  # noqa: S310 - ours
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise TimeoutError(f"prometheus is not ready: {printed.read_text()[-2000:]}")
