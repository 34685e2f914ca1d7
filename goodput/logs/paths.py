"""What the path of a log says: pod, container, job, attempt, rank, stream."""

from __future__ import annotations

import os
import re
import tomllib
from functools import cache
from pathlib import Path

from goodput._resources import catalog_dir

# logrotate and kubelet: 0.log.20260105-101112.gz, train.log.1, train.log.2.zst; logrotate's dateext
# and Python's handlers: train.log-20260105, train.log.2026-01-05_10
_ROTATION = re.compile(
    r"(?:\.(?:gz|zst|\d{1,3}|\d{8}-\d{6})"
    r"|\.\d{4}-\d\d-\d\d(?:_\d\d(?:-\d\d){0,2})?"
    r"|(?<=\.log)-\d{8}(?:-?\d{2,10})?)+$"
)
# A container that restarts in place writes 0.log, 1.log, … into one folder, one after another.
_CONTAINER_RUN = re.compile(r"(_[0-9a-f-]{32,36}/[^/]+)/\d+\.log$")
_EXTENSION = re.compile(r"\.(?:log|txt|out|err|jsonl?|ndjson)$")


@cache
def _shapes() -> tuple[re.Pattern[str], ...]:
    data = tomllib.loads((catalog_dir() / "log_paths.toml").read_text(encoding="utf-8"))
    return tuple(re.compile(shape["regex"]) for shape in data["path"])


def printable(path: Path | str) -> str:
    r"""The path as text: bytes of a name that are not UTF-8 as escapes, such as \xff."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def facts_of_path(path: str) -> dict[str, str]:
    """What the path says, by the groups of catalog/log_paths.toml; absent keys are not known."""
    facts: dict[str, str] = {}
    for shape in _shapes():
        if match := shape.search(path.replace("\\", "/")):
            found = {key: value for key, value in match.groupdict().items() if value is not None}
            facts = found | facts
    if "job" in facts and "namespace" not in facts:
        facts.pop("pod", None)  # rank-0.log is no pod's name
    return facts


def stream_of_path(path: str) -> str:
    """The path without what rotation, compression and restarts add: parts of a stream share it."""
    return _CONTAINER_RUN.sub(r"\1", _ROTATION.sub("", path))


def stem_of_path(path: str) -> str:
    """The file's name without folders, rotation and extension."""
    return _EXTENSION.sub("", stream_of_path(path).rsplit("/", 1)[-1])
