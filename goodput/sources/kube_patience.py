"""How long an API server is given, and what is asked again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from goodput.sources.kube_answers import Unanswered

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request may take, all in seconds, and how often it is tried.

    `read_s` is the longest silence, `body_s` the time for all headers, a whole body, or a line of a
    watch.
    """

    connect_s: float = 5.0
    read_s: float = 60.0
    body_s: float = 120.0
    attempts: int = 6
    total_s: float = 180.0
    first_wait_s: float = 0.5
    longest_wait_s: float = 20.0
    jitter_s: float = 1.0


def patiently(ask: Callable[[], T], attempts: int, patience: Patience) -> T:
    """What `ask` returns, asked again while it raises Unanswered.

    Args:
        ask: makes one request.
        attempts: how often at most.
        patience: how long to wait in between, and over all.

    Raises:
        Unanswered: it still does when patience ends.
    """
    started = time.monotonic()
    try:
        return ask()
    except Unanswered as error:
        return _again(ask, error, started, attempts, patience)


def _again(
    ask: Callable[[], T], failed: Unanswered, started: float, attempts: int, patience: Patience
) -> T:
    """The same after the first attempt, which failed."""
    # Few runs come here, and what it loads (asyncio, and Tornado where that is installed) is 5 MB.
    import stamina

    # Every retry is expected. Where structlog is installed, stamina would print each to stdout.
    stamina.instrumentation.set_on_retry_hooks([])
    first = [failed]
    for attempt in stamina.retry_context(
        on=_wait_before_next,
        attempts=attempts,
        timeout=max(0.0, started + patience.total_s - time.monotonic()),
        wait_initial=patience.first_wait_s,
        wait_max=patience.longest_wait_s,
        wait_jitter=patience.jitter_s,
    ):
        with attempt:
            if first:
                raise first.pop()
            return ask()
    raise AssertionError("the last attempt returns or raises")


def _wait_before_next(error: Exception) -> bool | float:
    """Whether to try again, and after which wait if the server named one."""
    if not isinstance(error, Unanswered):
        return False
    return True if error.retry_after_s is None else error.retry_after_s
