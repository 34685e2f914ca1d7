"""Log formats as data: one TOML file each in catalog/formats, overlaid by a user's own folders.

A format is a list of patterns. Each says which kind of line it knows (`event`) and names what it
reads (`step`, `elapsed`, …). What the events mean for a run is decided in `goodput.logs.assemble`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from goodput._resources import catalog_dir, catalog_folders
from goodput.errors import UsageError
from goodput.logs.literals import Literals, required_literals
from goodput.logs.regex import Regex

EVENTS = {
    "step": "training has done the position `step`, or the interval that ends with it",
    "step_begin": "the step that ends with the next `step` event begins",
    "checkpoint_begin": "a checkpoint of `step` begins to be written",
    "checkpoint_end": "the checkpoint (of `step`, else the one begun last) is durable",
    "checkpoint_saved": "a checkpoint of `step` has been written; when it began is not said",
    "restore_begin": "a checkpoint (of `step`) begins to be loaded",
    "restore_end": "it (or the checkpoint of `step`) is loaded",
    "resume": "training goes on from `step`",
    "phase_begin": "the phase named by `phase` begins",
    "phase_end": "the phase named by `phase` ends; with `elapsed` it says how long it took",
    "run_start": "a process or run starts; after progress or an end this opens the next attempt",
    "train_begin": "start-up is over; the first step begins",
    "run_end": "the run ends with `outcome`",
    "rank_report": "a report of how fast each rank is begins",
    "slow_rank": "the report names `rank` as slow; each match in the line is one",
    "rank_timer": "the times of the timer `label` follow",
    "rank_time": "`rank` took `elapsed`",
    "plan": "the run is to end with the position `total`",
    "clock": "only tells the time",
    "record": "only counted",
}
PHASES = ("init", "compile", "restore", "ckpt_save", "eval", "data_wait", "stall")
OUTCOMES = ("succeeded", "failed", "cancelled", "preempted", "timeout")
GROUPS = (
    "step",
    "epoch",
    "epoch_size",
    "total",
    "samples",
    "tokens",
    "elapsed",
    "unit",
    "time_ms",
    "time_s",
    "label",
    "rate",
    "status",
    "rank",
    "node",
)
_PATTERN_KEYS = {
    "event",
    "regex",
    "rank",
    "unit",
    "covers",
    "offset",
    "phase",
    "outcome",
    "blocking",
    "commit",
    "weak",
    "final",
    "covers_offset",
    "example",
}
_FORMAT_KEYS = {
    "name",
    "title",
    "priority",
    "notes",
    "override",
    "borrows",
    "says_end",
    "pattern",
    "not_example",
}
_STRUCTURED = 50
# Applies to every log: what launchers and schedulers write.
COMMON = "common"


@dataclass(frozen=True, eq=False)
class Pattern:
    """One kind of line; each is only equal to itself.

    Attributes:
        event: a key of EVENTS.
        regex: searched in the line; its group names are from GROUPS.
        rank: of several step patterns of a format, only those of the lowest rank that match
            anything are used.
        unit: of `elapsed`: "s", "ms" or "clock" (hours:minutes:seconds).
        covers: what `elapsed` measures: "iteration" (each since the line before, on average),
            "last" (the last iteration alone) or "bar" (all since the bar began).
        offset: added to `step`.
        covers_offset: added to the step of a checkpoint to give the last position that it covers,
            where steps are counted from 0 and checkpoints by steps done.
        phase: of phase events.
        outcome: of run_end; None means the group `status` says it.
        blocking: whether training waits for the checkpoint that begins here.
        commit: "next_step" if the format never says that a checkpoint is complete and training only
            goes on after it.
        weak: the outcome stands only if no other follows.
        final: it stands although steps follow: processes are given time to end.
        examples: lines with what they give.
    """

    format: str
    event: str
    regex: Regex
    literals: Literals
    rank: int = 1
    unit: str = "s"
    covers: str = "iteration"
    offset: int = 0
    covers_offset: int = 0
    phase: str = ""
    outcome: str = ""
    blocking: bool = True
    commit: str = ""
    weak: bool = False
    final: bool = False
    examples: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Format:
    """A framework's way of writing logs.

    Attributes:
        name: as reported.
        priority: the format with the highest one among those with step lines names the log.
        borrows: a format whose step lines count as this one's, too.
        not_examples: lines that no pattern of the format may match.
        says_end: whether each run says that it ended: a log that does not was cut off or died.
    """

    name: str
    title: str
    priority: int
    patterns: tuple[Pattern, ...]
    borrows: str = ""
    not_examples: tuple[str, ...] = ()
    override: bool = field(default=False, compare=False)
    says_end: bool = False

    @property
    def is_structured(self) -> bool:
        """Whether its step lines are a framework's, not hints such as progress bars."""
        return self.priority >= _STRUCTURED


def parse_format(text: str, origin: str, *, is_shipped: bool = False) -> Format:
    """Reads one TOML file.

    Args:
        is_shipped: whether it is part of the package, and tested.

    Raises:
        UsageError: an unknown key, event, phase or outcome, or a pattern that does not compile or
            has no fixed text.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{origin} is not TOML: {error}; check the quotes") from None
    _only(data, _FORMAT_KEYS, origin)
    if "name" not in data:
        raise UsageError(f"{origin} has no `name`; add one")
    name = str(data["name"])
    return Format(
        name=name,
        title=str(data.get("title", name)),
        priority=int(data.get("priority", 50)),
        patterns=tuple(
            _parse_pattern(p, name, origin, is_shipped=is_shipped) for p in data.get("pattern", [])
        ),
        borrows=str(data.get("borrows", "")),
        not_examples=tuple(data.get("not_example", [])),
        override=bool(data.get("override", False)),
        says_end=bool(data.get("says_end", False)),
    )


def _parse_pattern(
    data: dict[str, Any], format_name: str, origin: str, *, is_shipped: bool
) -> Pattern:
    _only(data, _PATTERN_KEYS, origin)
    _one_of(data.get("event"), EVENTS, "event", origin)
    _one_of(data.get("phase", ""), ("", *PHASES), "phase", origin)
    _one_of(data.get("outcome", ""), ("", *OUTCOMES), "outcome", origin)
    _one_of(data.get("unit", "s"), ("s", "ms", "clock"), "unit", origin)
    _one_of(data.get("covers", "iteration"), ("iteration", "bar", "last"), "covers", origin)
    source = str(data.get("regex", ""))
    try:
        regex = Regex(source, is_shipped=is_shipped)
    except UsageError as error:
        raise UsageError(f"{origin}: {error}") from None
    for group in regex.group_names:
        _one_of(group, GROUPS, "group", origin)
    options = {k: v for k, v in data.items() if k not in ("regex", "example")}
    return Pattern(
        **options,
        format=format_name,
        regex=regex,
        literals=required_literals(source),
        examples=tuple(data.get("example", [])),
    )


def _only(data: dict[str, Any], known: set[str], origin: str) -> None:
    if unknown := sorted(set(data) - known):
        raise UsageError(f"{origin} has the unknown key {unknown[0]!r}; known are {sorted(known)}")


def _one_of(value: Any, known: Iterable[str], what: str, origin: str) -> None:
    if value not in known:
        raise UsageError(
            f"{origin}: {value!r} is no {what}; known are {', '.join(filter(None, known))}"
        )


def load_formats(overlays: tuple[Path, ...] = ()) -> tuple[Format, ...]:
    """The formats of the catalogue in use, then those of each overlay folder, in order of name.

    Raises:
        UsageError: a file is faulty, or repeats a name without `override = true`.
    """
    return _load((*(folder / "formats" for folder in catalog_folders()), *overlays))


@cache
def _load(folders: tuple[Path, ...]) -> tuple[Format, ...]:
    found: dict[str, Format] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            text = path.read_text(encoding="utf-8")
            read = parse_format(text, str(path), is_shipped=folder == catalog_dir() / "formats")
            if read.name in found and not read.override:
                raise UsageError(
                    f"{path} repeats the format {read.name!r}; rename it, or set override = true"
                )
            found[read.name] = read
    return tuple(found[name] for name in sorted(found))
