"""Published reports in a folder or bucket, `<place>/<week>/report.html`, and an index of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goodput._files import local_path, replace_text
from goodput.errors import SourceUnreachable
from goodput.report.history import summarise
from goodput.report.index import render_index
from goodput.report.write import RENDERERS
from goodput.stores import ObjectStore

Row = dict[str, Any]

RESULT = "report.json"
INDEX = "index.html"

# A folder of another name was not made by us, and might not be what a link says.
_NAME = re.compile(r"[\w.-]+", re.ASCII)


class Archive:
    """The place where reports are published."""

    def __init__(self, place: str) -> None:
        """Args: place: path of a folder, or address of a bucket and prefix; nothing is sent yet."""
        path = local_path(place)
        self._folder = None if path is None else Path(path)
        self._store = ObjectStore.open(place) if path is None else None

    def results(self) -> dict[str, Row]:
        """The result of each published report by the name of its folder.

        What is no result of schema version 1 is left out.

        Raises:
            SourceUnreachable: the bucket does not answer, or refuses.
        """
        found = {}
        for name, text in self._texts():
            try:
                report = json.loads(text)
                is_ours = str(report["schema_version"]).startswith("1.") and report["clusters"]
                summarise(report)
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
            if is_ours and _NAME.fullmatch(name):
                found[name] = report
        return found

    def publish(self, folder: Path) -> str:
        """Puts the files of a report into the place, and makes the index anew.

        Args:
            folder: where `write_report` wrote them.

        Returns:
            Where the page is now.
        """
        name = folder_name(json.loads((folder / RESULT).read_text(encoding="utf-8")))
        for file in (RESULT, *(file for file, _ in RENDERERS.values())):
            self._write(f"{name}/{file}", (folder / file).read_text(encoding="utf-8"))
        self.write_index()
        return self._shown(f"{name}/report.html")

    def write_index(self) -> None:
        """Makes the index of what is there anew."""
        self._write(INDEX, render_index(self.results()))

    def _texts(self) -> Iterator[tuple[str, str]]:
        if self._folder is not None:
            for path in sorted(self._folder.glob(f"*/{RESULT}")):
                yield path.parent.name, path.read_text(encoding="utf-8", errors="replace")
            return
        assert self._store is not None
        with _reached(self._store):
            items, _ = self._store.listing(self._store.prefix)
            for item in items:
                place, _, name = item.path.rpartition("/")
                if name == RESULT:
                    data = self._store.read(item.path, 0, item.size)
                    yield place.rpartition("/")[2], data.decode(errors="replace")

    def _write(self, name: str, text: str) -> None:
        if self._folder is not None:
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_text(path, text)
            return
        assert self._store is not None
        with _reached(self._store):
            self._store.replace(self._key(name), text.encode(errors="backslashreplace"))

    def _key(self, name: str) -> str:
        assert self._store is not None
        return f"{self._store.prefix}/{name}" if self._store.prefix else name

    def _shown(self, name: str) -> str:
        if self._folder is not None:
            return str(self._folder / name)
        assert self._store is not None
        return f"{self._store.name}/{name}"


def folder_name(report: Mapping[str, Any]) -> str:
    """The folder of a report: its ISO week, or the days of its window."""
    window = report["window"]
    return window["iso_week"] or f"{window['start'][:10]}_{window['end'][:10]}"


@contextmanager
def _reached(store: ObjectStore) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SourceUnreachable(f"{store.name} cannot be reached: {error}") from None
