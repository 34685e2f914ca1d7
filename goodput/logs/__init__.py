"""Training logs: what format, which steps, checkpoints, phases and attempts, what failed.

Formats, signatures, prefixes and redactions are data in goodput/catalog.
"""

from goodput.logs.hints import LogHints
from goodput.logs.reader import LogResult, read_log
from goodput.logs.summary import LogSummary, summarise

__all__ = ["LogHints", "LogResult", "LogSummary", "read_log", "summarise"]
