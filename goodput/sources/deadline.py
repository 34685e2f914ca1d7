"""A time for what has no time-out of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=_Closable)


def within(seconds: float, ask: Callable[[], T]) -> T:
    """The answer that `ask` gives; one that comes too late is closed.

    A time-out of a socket is the longest silence: headers that drip byte by byte never meet it.

    Raises:
        TimeoutError: none came in time.
    """
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            answer.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return answer.result(timeout=seconds)
    except TimeoutError:
        answer.add_done_callback(_close)
        raise


def _close(answer: Future[T]) -> None:
    if answer.exception() is None:
        answer.result().close()
