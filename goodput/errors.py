"""The exceptions that users meet, each with its exit code.

GoodputError (1)
├── UsageError (2)        the command's words or a setting are off
├── CheckFailed (3)       a data check returned rows, or --strict met a bad row
├── NoData (4)            nothing to work on in the lake or the window
└── SourceUnreachable (5) a configured source did not answer

A message is one sentence naming the thing, then the remedy.
"""


class GoodputError(Exception):
    """Base of every error that is reported without a traceback."""

    exit_code = 1


class UsageError(GoodputError):
    """The caller asked for something that cannot be done as asked."""

    exit_code = 2


class CheckFailed(GoodputError):
    """A check over the data found rows that break it."""

    exit_code = 3


class NoData(GoodputError):
    """There is nothing to compute from."""

    exit_code = 4


class SourceUnreachable(GoodputError):
    """A configured source did not answer."""

    exit_code = 5
