"""What the writers share: instants as tools print them, stable identifiers, files."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def instant(t: int) -> datetime:
    """Epoch seconds as a UTC datetime."""
    return datetime.fromtimestamp(t, UTC)


def rfc3339(t: int) -> str:
    """As the API server prints it: whole seconds and Z."""
    return instant(t).strftime("%Y-%m-%dT%H:%M:%SZ")


def stable_uid(*parts: object) -> str:
    """A UUID that depends on its parts only."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"


def write_text(path: Path, text: str, *, compress: bool = False) -> None:
    """Write a file; the same text gives the same bytes, compressed or not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, 5, mtime=0) if compress else data)


def write_ndjson(path: Path, rows: Iterable[Any]) -> None:
    """One JSON document a line."""
    write_text(path, "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in rows))
