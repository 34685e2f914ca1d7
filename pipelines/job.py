"""What the jobs share: the settings, the lock, the heartbeat and the exit code."""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goodput import use_catalog
from goodput.errors import CheckFailed, GoodputError, UsageError
from goodput.settings import Settings, load_settings
from goodput.warehouse.build import BuildResult
from goodput.window import parse_instant

LOCK_WAIT_SECONDS = 3600


@dataclass(frozen=True)
class Policy:
    """The keys of pipelines.toml."""

    reports: Path  # weekly.py writes <reports>/<week>/
    state: Path  # locks and heartbeats
    nightly_days: int  # whole UTC days that nightly.py accounts for, so that late rows count


@dataclass(frozen=True)
class Site:
    """What a job knows of its site: the goodput.toml of the command line, and its policy."""

    settings: Settings
    policy: Policy

    @classmethod
    def load(cls, path: Path) -> Site:
        """Reads pipelines.toml and the goodput.toml beside it.

        Raises:
            UsageError: a file is missing or is no TOML, a key is missing or is not known.
        """
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"{path} cannot be used as config: {error}") from None
        known = {field.name for field in fields(Policy)}
        if off := sorted(known ^ set(given)):
            what = "lacks" if off[0] in known else "does not know"
            raise UsageError(f"{path}: the config {what} {off[0]!r}; its keys are {sorted(known)}")
        folders = {name: Path(given[name]) for name in ("reports", "state")}
        policy = Policy(**{**given, **folders})
        settings = load_settings(path.with_name("goodput.toml"))
        use_catalog(Path(settings.catalog) if settings.catalog else None)
        return cls(settings, policy)


def refuse_failed_checks(result: BuildResult) -> None:
    """Raises CheckFailed with the names of the checks that failed, if any did."""
    if failed := [check for check in result.checks if check.failed]:
        listing = ", ".join(f"{check.name} ({check.rows} rows)" for check in failed)
        raise CheckFailed(f"checks failed: {listing}; `goodput check` shows them")


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """Holds the lock, after waiting for another run to end; the system frees it if we die."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    give_up = time.monotonic() + LOCK_WAIT_SECONDS
    with lock.open("w") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise GoodputError(f"another run still holds {lock}; is it stuck?") from None
                time.sleep(1)
        yield


def beat(folder: Path, job: str, code: int, seconds: float) -> None:
    """Writes <job>.prom for a textfile collector; alert when last_success grows old."""
    folder.mkdir(parents=True, exist_ok=True)
    gauges = {"last_exit_code": code, "last_duration_seconds": round(seconds, 3)}
    _write_gauges(folder / f"{job}.prom", job, gauges)
    if code == 0:
        success = {"last_success_timestamp_seconds": round(time.time())}
        _write_gauges(folder / f"{job}_success.prom", job, success)


def _write_gauges(path: Path, job: str, gauges: Mapping[str, float]) -> None:
    lines = [
        f'# TYPE goodput_pipeline_{name} gauge\ngoodput_pipeline_{name}{{job_name="{job}"}} {value}'
        for name, value in gauges.items()
    ]
    scratch = path.with_suffix(".tmp")
    scratch.write_text("\n".join(lines) + "\n", encoding="utf-8")
    scratch.replace(path)


def run(job: str, lock: str, body: Callable[[Site, datetime], dict[str, Any]]) -> int:
    """Runs one job from the command line; what `body` returns is printed as one JSON line."""
    parser = argparse.ArgumentParser(prog=f"python -m pipelines.{job}")
    parser.add_argument("--config", type=Path, required=True, help="pipelines.toml")
    parser.add_argument("--now", help="work as if it were this time, e.g. 2026-11-30T04:40:00Z")
    arguments = parser.parse_args()
    try:
        site = Site.load(arguments.config)
        now = parse_instant(arguments.now) if arguments.now else datetime.now(UTC)
    except GoodputError as error:
        print(f"{job}: {error}", file=sys.stderr)
        return error.exit_code
    started, code = time.monotonic(), GoodputError.exit_code
    try:
        with held(site.policy.state / f"{lock}.lock"):
            print(json.dumps({"job": job, **body(site, now)}))
        code = 0
    except GoodputError as error:
        print(f"{job}: {error}", file=sys.stderr)
        code = error.exit_code
    finally:
        beat(site.policy.state / "heartbeats", job, code, time.monotonic() - started)
    return code
