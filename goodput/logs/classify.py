"""What one log says about its run: how it ended, why, and the line that shows it.

The rules are those of STANDARD 4.4 and 4.5 with the order of lines for time. A line counts only if
training did not go on after it: what was survived explains no end, nor does what comes after a
success. Of what remains the strongest counts, and of equals the first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import IO

from goodput.errors import SourceUnreachable
from goodput.logs.assemble import SURVIVED_STEPS
from goodput.logs.findings import Finding, classes, finding
from goodput.logs.hints import LogHints
from goodput.logs.reader import ScannedLog, scan_log
from goodput.logs.reading import Flaw
from goodput.logs.segments import Checkpoint, Segment
from goodput.logs.signatures import unknown_error
from goodput.logs.steps import Steps, median_seconds

# What the end itself declares [STANDARD 4.4, S0].
_DECLARED = {"cancelled": "user.cancel", "preempted": "plat.preempt", "timeout": "user.timeout"}
_DECLARED_CONFIDENCE = 95
# The last planned step, or a line that was just written, shows it without saying it.
_SHOWN_CONFIDENCE = 70
_CONFIDENCE = {3: 90, 2: 70, 1: 40}
_MAX_CONFIDENCE = 99
_TWO_SOURCES = 5
_STRONG = 2
# What programs also say in warnings: it ended a run only if something shows that the run ended.
_SAID_IN_PASSING = {"app.code", "app.config", "app.data", "app.dep"}
# Who warns of nothing, but says why a container did not start.
_SAYS_WHAT_IS = "k8s"
_COMMUNICATION, _SLOW, _NOTHING = "unk.comm", "unk.slow", "unk.none"
# A log that breaks off so many lines after an error ended with it, though it does not say so.
_LAST_LINES = 100
# Silence that no step, save or evaluation of a working run explains.
_HANG_MS, _HANG_STEPS = 1_800_000, 20
# A log with a line so young belongs to a run that goes on.
_ALIVE_MS = 600_000


@dataclass(frozen=True)
class StepCount:
    """Steps of a log or attempt; `median_seconds` per position is None without times."""

    count: int
    first: int
    last: int
    median_seconds: float | None


@dataclass(frozen=True)
class AttemptVerdict:
    """How one attempt in a log ended.

    Attributes:
        outcome: success, failed, cancelled, preempted, timeout, hung, running or unknown.
        failure_class: of taxonomy.csv; None where nothing is known to have failed.
        confidence: 0 to 99, in the class, or, where nothing failed, in the outcome.
        root: the line that explains the end.
        symptoms: lines that only follow from it.
    """

    segment: Segment
    outcome: str
    failure_class: str | None
    confidence: int
    root: Finding | None
    symptoms: int

    @property
    def group(self) -> str:
        """The group of the class; "none" where nothing failed."""
        return "none" if self.failure_class is None else classes()[self.failure_class].group

    @property
    def steps(self) -> StepCount | None:
        """Its steps."""
        return count_steps(self.segment.steps)


@dataclass(frozen=True)
class LogVerdict:
    """What a log says.

    Attributes:
        last: the attempt that the log is judged by: the last one that shows anything.
        attempts: all attempts in the file.
        xids: NVIDIA Xids named, each once, in order of appearance.
        restarts: attempts after the first, and restarts within an attempt.
        damage: what ended the reading before the end of the file: compressed data that are cut
            off or broken.
        unread: what was not read besides.
    """

    format: str
    last: AttemptVerdict
    attempts: list[AttemptVerdict]
    xids: list[int]
    restarts: int
    lines: int
    bytes: int
    damage: Flaw | None
    unread: list[Flaw]

    @property
    def steps(self) -> StepCount | None:
        """The steps of all attempts, in the order of the file."""
        return count_steps(Steps.joined(a.segment.steps for a in self.attempts))

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The saves of all attempts."""
        return [c for a in self.attempts for c in a.segment.checkpoints]


def classify_log(
    source: Path | str | IO[bytes], hints: LogHints | None = None, *, now_ms: int | None = None
) -> LogVerdict:
    """Judges one log: plain, gzip or zstd.

    Args:
        source: a path or a binary stream.
        hints: what is known besides.
        now_ms: the time now, to tell a log that is being written from one that broke off; None
            says that it is not.

    Raises:
        SourceUnreachable: the log cannot be read to its end.
        UsageError: as scan_log.
    """
    log = scan_log(source, hints or LogHints())
    if log.reader.is_unreadable and log.reader.damage is not None:
        raise SourceUnreachable(
            f"cannot read {log.path} to its end: {log.reader.damage.value}; check the disk or the"
            " network that it lies on"
        )
    found = [finding(evidence) for evidence in log.scanner.evidence]
    starts = [segment.first_line for segment in log.segments]
    attempts = []
    for index, segment in enumerate(log.segments):
        own = [f for f in found if max(0, bisect_right(starts, f.line) - 1) == index]
        attempts.append(_Attempt(log, segment, own, now_ms).verdict())
    codes = [f.evidence.code for f in found if f.evidence.signature.evidence_source == "xid"]
    return LogVerdict(
        format=log.format.name,
        last=next((a for a in reversed(attempts) if _says_something(a)), attempts[-1]),
        attempts=attempts,
        xids=[int(code) for code in dict.fromkeys(codes) if code],
        restarts=len(attempts) - 1 + sum(r.in_process for a in log.segments for r in a.restores),
        lines=log.reader.lines,
        bytes=log.reader.size,
        damage=log.reader.damage,
        unread=[flaw for flaw in log.reader.flaws if flaw is not log.reader.damage],
    )


def _says_something(attempt: AttemptVerdict) -> bool:
    known = attempt.outcome not in ("unknown", "running")
    return known or bool(attempt.segment.steps) or attempt.failure_class is not None


def count_steps(steps: Steps) -> StepCount | None:
    """Counts records; None if there are none."""
    if not steps:
        return None
    return StepCount(len(steps), steps[0].last, steps[-1].last, median_seconds(steps))


@dataclass(frozen=True)
class _Attempt:
    """One attempt with the evidence in its lines."""

    log: ScannedLog
    segment: Segment
    found: Sequence[Finding]
    now_ms: int | None

    def verdict(self) -> AttemptVerdict:
        """Outcome first; why only if something went wrong."""
        outcome = self.segment.outcome
        if outcome == "succeeded":
            return self._end("success", None, _DECLARED_CONFIDENCE, None)
        if outcome in _DECLARED:
            root = self._declaration(_DECLARED[outcome])
            failure_class = _DECLARED[outcome] if root is None else root.judgement.failure_class
            return self._end(outcome, failure_class, _DECLARED_CONFIDENCE, root)
        if outcome == "failed":
            return self._failed("failed")
        return self._undeclared()

    def _end(
        self, outcome: str, failure_class: str | None, confidence: int, root: Finding | None
    ) -> AttemptVerdict:
        symptoms = sum(1 + f.evidence.repeats for f in self.found if f.is_symptom)
        return AttemptVerdict(self.segment, outcome, failure_class, confidence, root, symptoms)

    def _declaration(self, failure_class: str) -> Finding | None:
        """The line that declares the end, else the first that names a class of the same group."""
        group = classes()[failure_class].group
        named = [f for f in self.found if classes()[f.judgement.failure_class].group == group]
        said = [f for f in self.found if f.line == self.segment.outcome_line]
        return next(iter([*(f for f in said if f in named), *named]), None)

    def _failed(self, outcome: str) -> AttemptVerdict:
        fatal = self._fatal()
        root = _picked([f for f in fatal if f.domain != "user"])
        if root is not None:
            return self._end(outcome, root.judgement.failure_class, _confidence(root, fatal), root)
        transport = next((f for f in fatal if _is_transport(f)), None)
        if transport is not None:
            failure_class = transport.judgement.failure_class
            return self._end(outcome, failure_class, _CONFIDENCE[1], transport)
        symptom = next((f for f in fatal if _is_communication(f)), None)
        if symptom is not None:
            return self._end(outcome, _COMMUNICATION, 0, symptom)
        slow = next((f for f in fatal if f.judgement.failure_class == _SLOW), None)
        if slow is not None:
            return self._end(outcome, _SLOW, _CONFIDENCE[1], slow)
        return self._end(outcome, _NOTHING, 0, self._unknown_error(fatal))

    def _unknown_error(self, fatal: Sequence[Finding]) -> Finding | None:
        """A line that looks like an error, best the one that ended the attempt."""
        unknown = [f for f in fatal if f.evidence.signature is unknown_error()]
        named = [f for f in fatal if f.judgement.role == "either" and f.domain == "unknown"]
        at_end = [f for f in unknown if f.line == self.segment.outcome_line]
        return next(iter([*at_end, *named, *unknown]), None)

    def _undeclared(self) -> AttemptVerdict:
        """The log does not say how the attempt ended."""
        outcome = self._shown_by([f for f in self._fatal() if self._is_near_end(f)])
        if outcome is not None:
            return self._failed(outcome)
        if self._is_complete():
            return self._end("success", None, _SHOWN_CONFIDENCE, None)
        if self._is_silent():
            return self._failed("hung")
        if self._is_alive():
            return self._end("running", None, _SHOWN_CONFIDENCE, None)
        is_cut = self.log.format.says_end and bool(self.segment.steps)
        return self._end("unknown", _NOTHING if is_cut else None, 0, None)

    def _shown_by(self, last_words: Sequence[Finding]) -> str | None:
        """The end that the evidence among the last lines shows."""
        if any(_is_fatal(f) or self._is_obstacle(f) for f in last_words):
            return "failed"
        if any(_is_communication(f) or _is_transport(f) for f in last_words):
            return "hung"
        is_waiting = not self.segment.steps and any(_is_wait(f) for f in last_words)
        return "unknown" if is_waiting else None

    def _fatal(self) -> list[Finding]:
        """The evidence that training did not survive."""
        progress = self.segment.steps.known("line").tolist()
        return [
            f for f in self.found if len(progress) - bisect_right(progress, f.line) < SURVIVED_STEPS
        ]

    def _is_near_end(self, found: Finding) -> bool:
        line = max(found.line, found.evidence.last_line)
        return self.segment.last_line - line <= _LAST_LINES

    def _is_obstacle(self, found: Finding) -> bool:
        """Whether a fault of the machine or its platform kept the run from its first step."""
        is_strong = found.judgement.role == "either" and found.judgement.strength >= _STRONG
        is_fault = found.domain in ("infra", "platform") and not _is_wait(found)
        return not self.segment.steps and is_strong and is_fault

    def _is_complete(self) -> bool:
        """Whether the last step was the last one planned; a bar needs a plan besides its end."""
        steps = self.segment.steps
        if not steps or (steps[-1].is_bar and steps[-1].total != self.segment.planned):
            return False
        total = steps[-1].total or self.segment.planned
        counts_from_zero = steps[0].first == 0
        return total is not None and steps[-1].last + counts_from_zero >= total

    def _is_silent(self) -> bool:
        steps, last = self.segment.steps, self.log.scanner.last_ms
        if not steps or last is None or self.segment is not self.log.segments[-1]:
            return False
        progress = steps[-1].end_ms
        seconds = count_steps(steps)
        pace = (seconds.median_seconds or 0) * 1000 if seconds else 0
        return progress is not None and last - progress >= max(_HANG_MS, _HANG_STEPS * pace)

    def _is_alive(self) -> bool:
        last = self.log.scanner.last_ms
        is_last = self.segment is self.log.segments[-1]
        known = is_last and last is not None and self.now_ms is not None
        return bool(known and last and self.now_ms and 0 <= self.now_ms - last < _ALIVE_MS)


def _is_fatal(found: Finding) -> bool:
    judgement = found.judgement
    if found.evidence.signature.evidence_source == "xid":
        # The driver writes one when it stops a program, whoever is to blame.
        return judgement.role in ("root", "either") and judgement.strength > 0
    is_said_in_passing = (
        judgement.failure_class in _SAID_IN_PASSING
        and found.evidence.signature.source != _SAYS_WHAT_IS
    )
    return judgement.role == "root" and judgement.strength >= _STRONG and not is_said_in_passing


def _is_wait(found: Finding) -> bool:
    """Whether a run was not placed yet, which is no failure."""
    return classes()[found.judgement.failure_class].group == "scheduling"


def _is_communication(found: Finding) -> bool:
    judgement = found.judgement
    return judgement.failure_class == _COMMUNICATION and judgement.strength > 0


def _is_transport(found: Finding) -> bool:
    """A symptom that names what it travelled over."""
    return found.judgement.role == "cascade" and found.judgement.failure_class.startswith("net.")


def _is_of_launcher(found: Finding) -> bool:
    return found.evidence.signature.source == "launcher"


def _picked(fatal: Sequence[Finding]) -> Finding | None:
    """The root: strongest, then first.

    Weak evidence after a collective timeout follows from it, and so do kills after a process
    failed of itself: its launcher ends the others.
    """
    timeout = min((f.line for f in fatal if _is_communication(f)), default=inf)
    exits = (f.line for f in fatal if _is_of_launcher(f) and f.judgement.role == "cascade")
    exit_or_timeout = min(timeout, min(exits, default=inf))
    candidates = [
        f
        for f in fatal
        if f.judgement.role in ("root", "either")
        and f.judgement.strength > 0
        and f.domain not in ("unknown", "baseline")
        and (
            f.judgement.strength > 1
            or f.line < (exit_or_timeout if _is_of_launcher(f) else timeout)
        )
    ]
    return max(candidates, key=lambda f: (f.judgement.strength, -f.line), default=None)


def _confidence(root: Finding, fatal: Sequence[Finding]) -> int:
    name = root.judgement.failure_class
    voices = {
        f.evidence.signature.evidence_source for f in fatal if f.judgement.failure_class == name
    }
    more = _TWO_SOURCES if len(voices) > 1 else 0
    return min(_CONFIDENCE[root.judgement.strength] + more, _MAX_CONFIDENCE)
