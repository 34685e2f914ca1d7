"""What the jobs share: the settings, the lock, the heartbeat and the exit code."""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goodput import use_catalog
from goodput._files import replace_text
from goodput.errors import CheckFailed, GoodputError, UsageError
from goodput.exposition import Family, exposition
from goodput.settings import Settings, load_settings
from goodput.warehouse.build import BuildResult
from goodput.window import parse_instant

LOCK_WAIT_SECONDS = 3600


@dataclass(frozen=True)
class Policy:
    """The keys of pipelines.toml."""

    reports: Path  # weekly.py writes <reports>/<week>/
    state: Path  # locks; heartbeats and metrics for a textfile collector
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


def log(line: str) -> None:
    """Tells a person who reads the job's log something; stdout is for its one line of JSON."""
    print(line, file=sys.stderr)


def refuse_failed_checks(result: BuildResult) -> None:
    """Raises CheckFailed with the names of the checks that failed, if any did."""
    if failed := [check for check in result.checks if check.failed]:
        listing = ", ".join(f"{check.name} ({check.rows} rows)" for check in failed)
        raise CheckFailed(f"checks failed: {listing}; `goodput check` shows them")


def textfiles(policy: Policy) -> Path:
    """The folder whose *.prom files a textfile collector should read."""
    return policy.state / "heartbeats"


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

    def gauge(name: str, meaning: str, value: float) -> Family:
        return Family(f"goodput_pipeline_{name}", meaning, [({"job_name": job}, value)])

    last = [
        gauge("last_exit_code", "Exit code of the job's last run; 0 is good.", code),
        gauge("last_duration_seconds", "How long that run took.", round(seconds, 3)),
    ]
    replace_text(folder / f"{job}.prom", exposition(last))
    if code == 0:
        meaning = "When a run of the job last succeeded."
        success = gauge("last_success_timestamp_seconds", meaning, round(time.time()))
        replace_text(folder / f"{job}_success.prom", exposition([success]))


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
        log(f"{job}: {error}")
        return error.exit_code
    started, code = time.monotonic(), GoodputError.exit_code
    try:
        with held(site.policy.state / f"{lock}.lock"):
            print(json.dumps({"job": job, **body(site, now)}))
        code = 0
    except GoodputError as error:
        log(f"{job}: {error}")
        code = error.exit_code
    finally:
        beat(textfiles(site.policy), job, code, time.monotonic() - started)
    return code
