"""Reads the fenced blocks and the links of the project's pages."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "pipelines/*.md") for path in ROOT.glob(pattern)
)

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def blocks(page, language):
    """The fenced blocks of one language, in the order of the page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for found, body in _BLOCK.findall(text) if found == language]


def links(page):
    """The targets of links to files of the project."""
    targets = _LINK.findall(page.read_text(encoding="utf-8"))
    return [target for target in targets if "://" not in target]
