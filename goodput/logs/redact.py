"""Takes secrets and personal data out of text before it is stored."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from goodput._resources import catalog_dir


@dataclass(frozen=True)
class Redaction:
    """One kind of text that is not kept; the group `keep`, if there is one, is."""

    label: str
    regex: re.Pattern[str]
    examples: tuple[dict[str, Any], ...]

    def apply(self, text: str) -> str:
        """The text with each match replaced by [label]."""
        keep = "\\g<keep>" if "keep" in self.regex.groupindex else ""
        return self.regex.sub(f"{keep}[{self.label}]", text)


@cache
def redactions() -> tuple[Redaction, ...]:
    """The entries of catalog/redactions.toml in order."""
    data = tomllib.loads((catalog_dir() / "redactions.toml").read_text(encoding="utf-8"))
    return tuple(
        Redaction(r["label"], re.compile(r["regex"]), tuple(r.get("example", [])))
        for r in data["redaction"]
    )


def redact(text: str) -> str:
    """A text without tokens, keys, passwords and e-mail addresses."""
    for redaction in redactions():
        text = redaction.apply(text)
    return text
