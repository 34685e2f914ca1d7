"""Files: where addresses say that they are, and those that others read while they are written."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote
from uuid import uuid4


def local_path(text: str) -> str | None:
    """The path that a text or a file:// address names; None for an address of an object store."""
    if "://" not in text:
        return text
    return unquote(text.removeprefix("file://")) if text.startswith("file:///") else None


def path_text(path: str | Path) -> str:
    """A path as text that can be stored, whatever bytes it has: two that differ stay two."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def replace_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all; a reader sees the old text or the new one.

    What is half written has another ending and begins with a dot, so that nobody takes it for the
    file. Lone surrogates cannot be written as UTF-8; a reader sees what stood there.
    """
    scratch = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        scratch.write_text(text, encoding="utf-8", errors="backslashreplace")
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
