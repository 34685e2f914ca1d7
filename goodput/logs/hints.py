"""What is known about a log besides its text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class LogHints:
    """What is known about a log besides its text; None where it is not.

    Attributes:
        path: the name to keep; the source's own where it is a path.
        tz: IANA zone of times without one; None means UTC is assumed and reported.
        year: of times without a year.
        formats: folders of further log formats.
    """

    cluster: str = "default"
    path: str | None = None
    tz: str | None = None
    year: int | None = None
    job: str | None = None
    attempt: int | None = None
    rank: int | None = None
    namespace: str | None = None
    pod: str | None = None
    pod_uid: str | None = None
    container: str | None = None
    node: str | None = None
    formats: tuple[Path, ...] = ()
