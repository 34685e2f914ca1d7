"""Lines of storage listings: ls, find, aws s3, gsutil, gcloud, rclone, paths and sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from goodput.sources.artefact import from_epoch, parse_time

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SIZE = r"(?P<size>(?:>=)?\d+(?:\.\d+)?[KMGTP]?i?B?)"
_ISO = r"(?P<time>\d{4}-\d\d-\d\d[T +]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)"
_MODE = r"(?P<mode>[-dlbcps][-rwxsStTl]{9}[+.@]?)"
_LS_TIME = (
    rf"(?:{_ISO}|(?P<month>[A-Z][a-z]{{2}}) +(?P<day>\d{{1,2}}) +(?P<when>\d\d:\d\d|\d{{4}}))"
)
_MAX_SIZE = 2.0**53
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}

# Tried in this order; the first that matches the whole line says what it is.
_FORMS = tuple(
    re.compile(form)
    for form in (
        # ls -l with any --time-style; find -ls puts inode and blocks before it.
        rf"(?:\s*\d+\s+\d+\s+)?{_MODE}\s+\d+\s+\S+\s+\S+\s+{_SIZE}\s+{_LS_TIME}\s+(?P<path>\S.*)",
        # gsutil ls -l, gcloud storage ls -l: size, instant, URL.
        rf"\s*{_SIZE}\s+{_ISO}\s+(?P<path>[a-z0-9]+://\S.*)",
        # aws s3 ls --recursive: local time, size, key.
        rf"{_ISO}\s+{_SIZE}\s(?P<path>\S.*)",
        # rclone lsl; find -printf '%s %T+ %p'.
        rf"\s*{_SIZE}\s+{_ISO}\s+(?P<path>\S.*)",
        # find -printf with %T@ (epoch seconds with a fraction), in either order.
        rf"(?P<epoch>\d{{9,11}}\.\d+)\s+{_SIZE}\s+(?P<path>\S.*)",
        rf"{_SIZE}\s+(?P<epoch>\d{{9,11}}\.\d+)\s+(?P<path>\S.*)",
        r"(?P<epoch>\d{9,11}\.\d+)\s+(?P<path>\S.*)",
        # du, rclone ls: size, path.
        rf"\s*{_SIZE}\s+(?P<path>\S*/\S.*|\S+\.\w+)",
        # path, size.
        rf"(?P<path>\S+)\s+{_SIZE}",
        # A table of steps and places.
        r"\d+,(?P<path>\S+)",
        # A path alone.
        r"(?P<path>\S*/\S*|[^\s:,{}\[\]()]+\.[A-Za-z]\w*)",
    )
)
_HEADER = re.compile(r"(?:(?P<ls>\S.*):|step directory: (?P<named>\S+/)(?:\s.*)?)")
_NOISE = re.compile(
    r"\s*(?:total \d+\S*|TOTAL:.*|PRE .*|Total (?:Objects|Size):.*|[Ss]tep,.*|\$ .*|)\s*"
)
_TIMED_FORMS = frozenset(form for form in _FORMS if {"time", "epoch"} & set(form.groupindex))
_CONTENT_STARTS = ("--- ", "==> ")
_NAMED = "step directory: "
_NOISE_STARTS = ("total ", "TOTAL", "PRE ", "Total", "step,", "Step,", "$ ")
_CONTENT = re.compile(r"(?:--- |==> )(?P<path>\S+)(?: <==)?")
_RANGE = re.compile(r"(?P<head>.*?)(?P<first>\d+) \.\. (?P<stem>\S*?)(?P<last>\d+)(?P<tail>\s.*)?")
_MAX_RANGE = 100_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or directory: its size in bytes and last write where the listing shows them."""

    path: str
    size: int | None
    written_at: datetime | None
    is_directory: bool
    line: int


@dataclass(frozen=True, slots=True)
class Content:
    """A line of a file's own text that was pasted into the listing."""

    path: str
    text: str
    line: int


def parse_lines(
    lines: Iterable[tuple[int, str]], zone: tzinfo, year: int | None
) -> Iterator[Entry | Content | tuple[int, str]]:
    """The entries of a listing, in order; a line that is no part of one comes back as it is.

    Args:
        lines: numbered lines.
        zone: of times that name none.
        year: of `ls` times that show none; without it those times are unknown.
    """
    parser = _Parser(zone, year)
    shown = ""
    for number, raw in lines:
        line = raw.rstrip()
        # The cheap tests first: a listing may have millions of lines.
        if line.startswith(_CONTENT_STARTS) and (content := _CONTENT.fullmatch(line)):
            shown = _join(parser.directory, content["path"])
        elif shown:
            yield Content(shown, raw, number)
        elif line.endswith(":") or line.startswith(_NAMED):
            parser.directory = parser.header(line)
        elif line.lstrip().startswith(_NOISE_STARTS) and _NOISE.fullmatch(line):
            continue
        elif line:
            yield from parser.entries(line, number)


@dataclass(slots=True)
class _Parser:
    """Where the listing is, and the form of its last line: the next one most likely has it too."""

    zone: tzinfo
    year: int | None
    directory: str = ""
    last_form: re.Pattern[str] = _FORMS[0]

    def header(self, line: str) -> str:
        """The directory that the next lines are in."""
        match = _HEADER.fullmatch(line)
        return (match["ls"] or match["named"]) if match else self.directory

    def entries(self, line: str, number: int) -> Iterator[Entry | tuple[int, str]]:
        """The entry of a line, those of a range, or the line itself."""
        if " .. " in line and (span := _RANGE.fullmatch(line)):
            yield from _expand(span, number, self.directory)
            return
        match = self.last_form.fullmatch(line)
        if match is None:
            found = ((form, form.fullmatch(line)) for form in _FORMS)
            form, match = next((pair for pair in found if pair[1]), (self.last_form, None))
            # Forms without a time are the loose ones: they must not come before the others.
            self.last_form = form if form in _TIMED_FORMS else self.last_form
        yield self._entry(match.groupdict(), number) if match else (number, line)

    def _entry(self, found: dict[str, str | None], number: int) -> Entry:
        name = (found["path"] or "").split(" -> ")[0]
        is_directory = (found.get("mode") or "").startswith("d") or name.endswith("/")
        return Entry(
            path=_join(self.directory, name),
            size=None if is_directory else parse_size(found.get("size")),
            written_at=_written_at(found, self.zone, self.year),
            is_directory=is_directory,
            line=number,
        )


def _expand(span: re.Match[str], number: int, directory: str) -> Iterator[Entry]:
    """The files of `part_0 .. part_7`, as people shorten listings."""
    first, last = int(span["first"]), int(span["last"])
    for index in range(first, min(last, first + _MAX_RANGE) + 1):
        path = _join(directory, f"{span['head'].strip()}{index}")
        yield Entry(path, None, None, is_directory=False, line=number)


def _join(directory: str, name: str) -> str:
    absolute = name.startswith("/") or "://" in name
    path = name if absolute or directory in ("", ".", "./") else f"{directory.rstrip('/')}/{name}"
    return path.removeprefix("./").rstrip("/")


def parse_size(text: str | None) -> int | None:
    """Bytes; `>=N` counts as N; K, M, G, T, P are powers of 1024. None where there is no size."""
    if not text:
        return None
    number = re.fullmatch(r"(?:>=)?(\d+(?:\.\d+)?)([KMGTP]?)i?B?", text)
    size = float(number[1]) * _UNITS[number[2]] if number else _MAX_SIZE
    return round(size) if size < _MAX_SIZE else None


def _written_at(found: dict[str, str | None], zone: tzinfo, year: int | None) -> datetime | None:
    if epoch := found.get("epoch"):
        return from_epoch(float(epoch))
    if iso := found.get("time"):
        # find's %T+ joins date and time with a plus; ls writes nine digits of a second.
        text = re.sub(r"(\.\d{6})\d+", r"\1", iso[:10] + "T" + iso[11:])
        return parse_time(text.replace(" ", ""), zone)
    if month := found.get("month"):
        return _short_time(month, found["day"] or "", found["when"] or "", zone, year)
    return None


def _short_time(month: str, day: str, when: str, zone: tzinfo, year: int | None) -> datetime | None:
    """The time of `Nov 29 21:03`, whose year only the reader can know, or of `Nov 29  2025`."""
    if month.lower() not in _MONTHS:
        return None
    hour, _, minute = when.partition(":")
    known_year = year if minute else int(when)
    if known_year is None:
        return None
    clock = (int(hour), int(minute)) if minute else (0, 0)
    try:
        local = datetime(
            known_year, _MONTHS.index(month.lower()) + 1, int(day), *clock, tzinfo=zone
        )
    except ValueError:
        return None
    return local.astimezone(UTC)
