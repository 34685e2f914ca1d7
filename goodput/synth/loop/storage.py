"""What jobs write while they run: logs that grow, checkpoints that come, break off and go."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from goodput.synth.fleet import Checkpoint, Job, Pod
from goodput.synth.loki_server import Stream
from goodput.synth.nodefiles import checkpoint_files
from goodput.synth.trainlogs import Line, checkpoint_root, is_packed, log_path

KEPT = 4
PACKED_AFTER_S = 1800
BYTES_MOST = 2048


class GrowingLogs:
    """A folder of pod logs; some are packed half an hour after their last line."""

    def __init__(self, logs: Iterable[tuple[Pod, list[Line]]], folder: Path) -> None:
        self._logs = [_Log(folder / log_path(pod), lines, is_packed(pod)) for pod, lines in logs]

    def grow(self, t: int) -> None:
        """Write what was printed up to `t`."""
        for log in self._logs:
            log.grow(t)


class _Log:
    def __init__(self, path: Path, lines: list[Line], will_be_packed: bool) -> None:
        self._path = path
        self._lines = lines
        self._done = 0
        self._will_be_packed = will_be_packed

    def grow(self, t: int) -> None:
        upto = self._done
        while upto < len(self._lines) and self._lines[upto][0] <= t:
            upto += 1
        path = self._path
        if upto > self._done:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.writelines(f"{text}\n" for _, text in self._lines[self._done : upto])
            self._done = upto
            _touch(path, self._lines[upto - 1][0])
        is_over = self._done == len(self._lines) and t > self._lines[-1][0] + PACKED_AFTER_S
        if is_over and self._will_be_packed:
            packed = path.with_suffix(".log.gz")
            packed.write_bytes(gzip.compress(path.read_bytes(), 5, mtime=0))
            _touch(packed, self._lines[-1][0])
            path.unlink()
            self._will_be_packed = False


def loki_streams(logs: Iterable[tuple[Pod, list[Line]]], t: int) -> list[Stream]:
    """What Loki has been sent up to `t`: a stream for each log, as the kubelet names its file."""
    streams: list[Stream] = []
    for pod, lines in logs:
        labels = {"namespace": pod.namespace, "filename": f"/var/log/pods/{log_path(pod)}"}
        streams.append((labels, [_entry(at, text) for at, text in lines if at <= t]))
    return streams


def _entry(t: int, line: str) -> tuple[int, str]:
    stamp, _, text = line.partition(" stdout F ")
    return t * 1_000_000_000 + int(stamp.removesuffix("Z").rpartition(".")[2]), text


class Store(Protocol):
    """Where checkpoints lie."""

    def put(self, path: str, size: int, at: int) -> None:
        """Write a file of a size at an instant; one of the same path is replaced."""

    def remove(self, folder: str) -> None:
        """Delete a folder with all that is in it."""


@dataclass(frozen=True)
class Disk:
    """A local folder, or one on NFS."""

    folder: Path

    def put(self, path: str, size: int, at: int) -> None:
        """Write zeros, dated."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(size))
        _touch(file, at)

    def remove(self, folder: str) -> None:
        """Delete a folder."""
        shutil.rmtree(self.folder / folder)


class Checkpoints:
    """All checkpoints of some jobs, in the order in which they are written and deleted."""

    def __init__(self, jobs: list[Job], store: Store) -> None:
        self._store = store
        self._deeds = sorted((d for job in jobs for d in _deeds(job)), key=lambda deed: deed.at)
        self._done = 0

    def grow(self, t: int) -> None:
        """Write and delete what was written and deleted up to `t`."""
        while self._done < len(self._deeds) and self._deeds[self._done].at <= t:
            deed = self._deeds[self._done]
            if deed.size is None:
                self._store.remove(deed.path)
            else:
                self._store.put(deed.path, deed.size, deed.at)
            self._done += 1


@dataclass(frozen=True)
class _Deed:
    """A file written, or a folder deleted where there is no size."""

    at: int
    path: str
    size: int | None


def _deeds(job: Job) -> Iterator[_Deed]:
    root = checkpoint_root(job).split("://")[-1].strip("/")
    kept: list[Checkpoint] = []
    for checkpoint in sorted(job.checkpoints, key=lambda c: c.start):
        for at, size, path in checkpoint_files(job, checkpoint):
            yield _Deed(at, f"{root}/{path}", min(size, BYTES_MOST) if size else size)
        if checkpoint.committed is None:
            continue
        kept = [*(c for c in kept if c.step != checkpoint.step), checkpoint]
        if len(kept) > KEPT:
            first = next(path for _, _, path in checkpoint_files(job, kept.pop(0)))
            depth = 2 if first.startswith("checkpoints/") else 1
            folder = "/".join(first.split("/")[:depth])
            yield _Deed(checkpoint.committed, f"{root}/{folder}", None)


def _touch(path: Path, t: int) -> None:
    os.utime(path, (t, t))
