"""Finds checkpoints among listed files, and whether each is whole by the rule of its layout.

The layouts and their rules are data: goodput/catalog/checkpoint_layouts.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from goodput._resources import catalog_dir
from goodput.sources.listing_lines import Entry

_MAX_STEP = 2**63 - 1
_MOST_DIGITS = 100


@dataclass(frozen=True)
class Layout:
    """One layout of the catalogue, its patterns compiled."""

    name: str
    directory: re.Pattern[str] | None
    file: re.Pattern[str] | None
    markers: tuple[re.Pattern[str], ...]
    alone: tuple[str, ...]
    requires: tuple[tuple[str, ...], ...]
    shards: re.Pattern[str] | None
    ranks: re.Pattern[str] | None
    having: tuple[re.Pattern[str], ...]
    each: tuple[str, ...]
    unfinished: str | None


@dataclass
class Found:
    """A checkpoint: its place, its layout, and the files below it by relative path."""

    path: str
    layout: Layout
    step: int | None
    is_temporary: bool
    line: int
    files: dict[str, Entry] = field(default_factory=dict)
    directory: Entry | None = None
    is_marked_unfinished: bool = False


@cache
def _catalog() -> dict[str, Any]:
    text = (catalog_dir() / "checkpoint_layouts.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def layouts() -> tuple[Layout, ...]:
    """Every layout, in the order in which they are tried."""
    return tuple(_layout(entry) for entry in _catalog()["layout"])


@cache
def _weights() -> re.Pattern[str]:
    return re.compile(_catalog()["weights"])


@cache
def _temporary() -> re.Pattern[str]:
    return re.compile(_catalog()["temporary"])


def _layout(entry: Mapping[str, Any]) -> Layout:
    def pattern(key: str) -> re.Pattern[str] | None:
        return re.compile(entry[key]) if key in entry else None

    each = entry.get("each", {})
    return Layout(
        name=entry["name"],
        directory=pattern("directory"),
        file=pattern("file"),
        markers=tuple(_glob(glob) for glob in entry.get("markers", ())),
        alone=tuple(entry.get("alone", ())),
        requires=tuple(tuple(globs) for globs in entry.get("requires", ())),
        shards=pattern("shards"),
        ranks=pattern("ranks"),
        having=tuple(
            re.compile(rf"(?P<part>.*/|){_regex(glob)}") for glob in each.get("having", ())
        ),
        each=tuple(each.get("requires", ())),
        unfinished=entry.get("unfinished"),
    )


@cache
def _glob(glob: str) -> re.Pattern[str]:
    return re.compile(_regex(glob))


def _regex(glob: str) -> str:
    parts = re.split(r"(\*\*|\*)", glob)
    return "".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)


def find_checkpoints(entries: Iterable[Entry]) -> list[Found]:
    """The checkpoints among the entries of one listing, ordered by path and step."""
    listed = list(entries)
    directories = _directories(listed)
    _mark_unfinished(directories, listed)
    loose = [entry for entry in listed if not _is_below(entry.path, directories)]
    nameless = _nameless(loose, directories)
    loose = [entry for entry in loose if not _is_below(entry.path, nameless)]
    return sorted(
        [*directories.values(), *nameless.values(), *_files(loose)],
        key=lambda found: (found.path, -1 if found.step is None else found.step),
    )


def _directories(listed: list[Entry]) -> dict[str, Found]:
    """Checkpoints that are directories, by path; the outermost one of nested names counts."""
    below: dict[str, list[tuple[str, Entry]]] = defaultdict(list)
    for entry in listed:
        parts = entry.path.split("/")
        for depth, part in enumerate(parts, start=1):
            is_last = depth == len(parts)
            if _directory_layouts(part)[0] and not (is_last and _is_surely_file(entry, part)):
                below["/".join(parts[:depth])].append(("/".join(parts[depth:]), entry))
    accepted: dict[str, Found] = {}
    for path in sorted(below, key=lambda candidate: candidate.count("/")):
        if not _is_below(path, accepted) and (found := _accept(path, below[path])):
            accepted[path] = found
    return accepted


def _nameless(entries: list[Entry], named: Mapping[str, Found]) -> dict[str, Found]:
    """Checkpoints that only their files give away, by path; the outermost of nested ones counts."""
    above = {path[:end] for path in named for end, letter in enumerate(path) if letter == "/"}
    candidates: dict[str, Found] = {}
    for entry in entries:
        for layout, file in _telling_files():
            path = entry.path.removesuffix(f"/{file}")
            if path != entry.path and path not in above and not entry.is_directory:
                is_temporary = _strip_temporary(path.rsplit("/", 1)[-1])[1]
                candidates[path] = Found(path, layout, None, is_temporary, entry.line)
    accepted = {path: it for path, it in candidates.items() if not _is_below(path, candidates)}
    for entry in entries if accepted else ():
        parts = entry.path.split("/")
        for depth in range(1, len(parts)):
            if found := accepted.get("/".join(parts[:depth])):
                found.files["/".join(parts[depth:])] = entry
    return accepted


@cache
def _telling_files() -> tuple[tuple[Layout, str], ...]:
    return tuple((layout, file) for layout in layouts() for file in layout.alone)


@cache
def _directory_layouts(name: str) -> tuple[tuple[tuple[Layout, int], ...], bool]:
    """The layouts whose directories may have this name, with its step; whether it is temporary."""
    stripped, is_temporary = _strip_temporary(name)
    matches = []
    for layout in layouts():
        match = layout.directory.fullmatch(stripped) if layout.directory else None
        if match and (step := _number(match["step"])) <= _MAX_STEP:
            matches.append((layout, step))
    return tuple(matches), is_temporary


def _strip_temporary(name: str) -> tuple[str, bool]:
    match = _temporary().fullmatch(name)
    return (match["before"] or match["after"], True) if match else (name, False)


def _is_surely_file(entry: Entry, name: str) -> bool:
    return not entry.is_directory and (entry.size is not None or _file_layout(name) is not None)


def _is_below(path: str, directories: Mapping[str, Found]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:depth]) in directories for depth in range(1, len(parts)))


def _accept(path: str, members: list[tuple[str, Entry]]) -> Found | None:
    matches, is_temporary = _directory_layouts(path.rsplit("/", 1)[-1])
    files = {name: entry for name, entry in members if name and not entry.is_directory}
    for layout, step in matches:
        if not layout.markers or any(m.fullmatch(name) for m in layout.markers for name in files):
            found = Found(path, layout, step, is_temporary, members[0][1].line, files)
            found.directory = next((entry for name, entry in members if not name), None)
            return found
    return None


def _mark_unfinished(directories: Mapping[str, Found], listed: list[Entry]) -> None:
    for entry in listed:
        for layout in layouts():
            if layout.unfinished and entry.path.endswith(layout.unfinished):
                marked = directories.get(entry.path.removesuffix(layout.unfinished))
                if marked:
                    marked.is_marked_unfinished = True


@cache
def _file_layout(name: str) -> tuple[Layout, int, str | None] | None:
    stripped, _ = _strip_temporary(name)
    for layout in layouts():
        match = layout.file.fullmatch(stripped) if layout.file else None
        if match and (step := _number(match["step"])) <= _MAX_STEP:
            return layout, step, match["rank"]
    return None


def _number(digits: str) -> int:
    """What the digits in a name say; Python reads no number of thousands of them."""
    return int(digits) if len(digits) <= _MOST_DIGITS else _MAX_STEP + 1


def _files(entries: Iterable[Entry]) -> Iterator[Found]:
    """Checkpoints that are files: one each, or one for all ranks of a step."""
    found: dict[tuple[str, str, int, bool], Found] = {}
    for entry in entries:
        directory, _, name = entry.path.rpartition("/")
        known = _file_layout(name)
        if entry.is_directory or known is None:
            continue
        layout, step, rank = known
        is_temporary = _strip_temporary(name)[1]
        key = (directory if rank else entry.path, layout.name, step, is_temporary)
        if key not in found:
            found[key] = Found(entry.path, layout, step, is_temporary, entry.line)
        found[key].files[f"rank{rank}/{name}" if rank else name] = entry
    yield from found.values()


def defect(found: Found) -> str | None:
    """What keeps a checkpoint from being whole, by its layout's own rule; None if nothing does."""
    if found.is_temporary or found.is_marked_unfinished:
        return "its writer had not finished it"
    names = [name for name, entry in found.files.items() if not entry.is_directory]
    return next(
        (
            problem
            for problem in (
                *_missing(found.layout.requires, names),
                *_missing_parts(found.layout, names),
                *_missing_shards(found.layout.shards, names),
                *_missing_ranks(found.layout, names),
                *_pointers(found.files),
            )
            if problem
        ),
        None,
    )


def small_parts(found: Found) -> list[Entry]:
    """Shards too small to be ones, whose names alone do not condemn them: perhaps LFS pointers."""
    patterns = [pattern for pattern in (found.layout.shards, found.layout.ranks) if pattern]
    least = _catalog()["min_weight_bytes"]
    return [
        entry
        for name, entry in found.files.items()
        if entry.size is not None
        and entry.size < least
        and any(pattern.fullmatch(name) for pattern in patterns)
    ]


def _missing(requires: Iterable[tuple[str, ...]], names: list[str]) -> Iterator[str]:
    for globs in requires:
        if not any(_glob(glob).fullmatch(name) for glob in globs for name in names):
            yield f"none of {', '.join(globs)} is there"


def _missing_parts(layout: Layout, names: list[str]) -> Iterator[str]:
    """What is missing from the directories inside that hold one item of the checkpoint each."""
    parts: dict[str, set[str]] = {}
    for name in names:
        parts.update({match["part"]: set() for p in layout.having if (match := p.fullmatch(name))})
    # A tree may have as many parts as files: each file is looked at once for the parts above it.
    for name in names if parts else ():
        for start in (0, *(end + 1 for end, letter in enumerate(name) if letter == "/")):
            if (there := parts.get(name[:start])) is not None:
                there.update(glob for glob in layout.each if _glob(glob).fullmatch(name, start))
    for part, there in parts.items():
        for glob in layout.each:
            if glob not in there:
                yield f"{part}{glob} is not there"


def _missing_shards(pattern: re.Pattern[str] | None, names: list[str]) -> Iterator[str]:
    sets: dict[tuple[str, int], set[int]] = defaultdict(set)
    for name in names:
        if pattern and (match := pattern.fullmatch(name)):
            sets[match["set"], _number(match["total"])].add(_number(match["index"]))
    for (stem, total), present in sets.items():
        # Of a total that a name may say, no list is made.
        if absent := total - sum(1 <= index <= total for index in present):
            yield f"{absent} of {total} shards of {stem} are missing"


def _missing_ranks(layout: Layout, names: list[str]) -> Iterator[str]:
    pattern = layout.ranks or re.compile(r"rank(?P<index>\d+)/.*")
    sets: dict[str | None, set[int]] = defaultdict(set)
    for name in names:
        if match := pattern.fullmatch(name):
            sets[match.groupdict().get("set")].add(_number(match["index"]))
    expected = max((max(present) for present in sets.values()), default=-1) + 1
    for present in sets.values():
        if absent := expected - len(present):
            yield f"{absent} of {expected} ranks are missing"


def _pointers(files: Mapping[str, Entry]) -> Iterator[str]:
    least = _catalog()["min_weight_bytes"]
    for name, entry in files.items():
        is_weights = _weights().fullmatch(name.rsplit("/", 1)[-1]) is not None
        if is_weights and entry.size is not None and entry.size < least:
            yield f"{name} has {entry.size} bytes: a Git LFS pointer, or cut off"
