"""Writes data-dictionary.md from the DDL of the raw tables and sql/columns.toml.

Run it with `make docs` after a change there; a test fails while the page is behind.
"""

from pathlib import Path

from goodput.contract import PROVENANCE, TYPED_TABLES, raw_table, raw_tables
from goodput.dictionary import describe

PAGE = Path(__file__).with_name("data-dictionary.md")

INTRO = """\
# Data dictionary

Made by `make docs`; do not edit. These are the tables that go in; after a build, `goodput schema`
prints those that come out too. Instants are UTC, intervals half-open. In files, an instant is
RFC 3339 with a zone, or a number of epoch seconds. **Bold** columns must have a value; `cluster`
need not be in a file.

Every raw table also has {provenance}:
since when the row is known, what it was read from, by which run, and a hash of what it says.
"""


def dictionary_page() -> str:
    """The whole page."""
    provenance = ", ".join(f"`{name}`" for name in PROVENANCE)
    others = [name for name in raw_tables() if name not in TYPED_TABLES]
    parts = [INTRO.format(provenance=provenance)]
    parts += ["## Typed tables: what `goodput import` takes\n", *map(_raw_section, TYPED_TABLES)]
    parts += ["## Raw tables: what `goodput collect` fills\n", *map(_raw_section, others)]
    return "\n".join(parts)


def _raw_section(name: str) -> str:
    table = raw_table(name)
    lines = [f"### {name}\n", f"{table.description}\n", "| column | type | unit | meaning |"]
    lines += ["|---|---|---|---|"]
    for column, kind in table.domain_columns.items():
        entry = describe(f"raw.{name}", column, str(kind).lower())
        shown = f"**{column}**" if column in table.required else column
        lines.append(f"| {shown} | {entry.type} | {entry.unit} | {_cell(entry.meaning)} |")
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(dictionary_page(), encoding="utf-8")
