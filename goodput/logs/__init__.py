"""Training logs: what format, which steps, checkpoints, phases and attempts, what failed.

Formats, signatures, prefixes and redactions are data in goodput/catalog.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goodput.logs.hints import LogHints
    from goodput.logs.reader import LogResult, read_log
    from goodput.logs.summary import LogSummary, summarise

__all__ = ["LogHints", "LogResult", "LogSummary", "read_log", "summarise"]

# Loaded when first used: collectors that only redact must not load what reads logs.
_HOMES = {
    "LogHints": "goodput.logs.hints",
    "LogResult": "goodput.logs.reader",
    "LogSummary": "goodput.logs.summary",
    "read_log": "goodput.logs.reader",
    "summarise": "goodput.logs.summary",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'goodput.logs' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
