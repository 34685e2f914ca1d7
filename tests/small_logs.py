"""Small logs, and what is read of them in short."""

import io

from goodput.logs import LogHints, read_log


def read(text, **hints):
    return read_log(io.BytesIO(text.encode()), LogHints(**{"path": "run/x.log", **hints}))


def steps(result):
    """first..last, seconds of the day of start and end."""
    return [(s.first, s.last, seconds(s.start_ms), seconds(s.end_ms)) for s in result.steps]


def seconds(ms):
    return None if ms is None else (ms % 86_400_000) / 1000


def checkpoints(result):
    return [
        (c.step, seconds(c.start_ms), seconds(c.end_ms), c.complete)
        for s in result.segments
        for c in s.checkpoints
    ]


def phases(result):
    return [
        (p.kind, seconds(p.start_ms), seconds(p.end_ms)) for s in result.segments for p in s.phases
    ]


def megatron_line(stamp, step, ms):
    return (
        f" [2026-01-05 00:{stamp}] iteration {step:8d}/    1000 | consumed samples: {step * 8:8d} |"
        f" elapsed time per iteration (ms): {ms} | lm loss: 1.0E+00 |"
    )
