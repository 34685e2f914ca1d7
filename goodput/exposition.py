"""The text format of Prometheus, version 0.0.4, which node-exporter's textfile collector reads.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f\ud800-\udfff]")
_LIKE_ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4})")


@dataclass(frozen=True)
class Family:
    """One metric: its name, what it means, and a value for each set of labels."""

    name: str
    help: str
    samples: list[tuple[Mapping[str, str], float]] = field(default_factory=list)


def exposition(families: Iterable[Family]) -> str:
    """The families as text; all are gauges, and those without a sample are left out.

    No line has a time: the textfile collector takes none.
    """
    return "".join(_family_text(family) for family in families if family.samples)


def _family_text(family: Family) -> str:
    lines = [f"# HELP {family.name} {_escaped(family.help)}", f"# TYPE {family.name} gauge"]
    # A series that is there twice makes a scrape fail as a whole; the first stands for both.
    series: dict[str, str] = {}
    for labels, value in family.samples:
        series.setdefault(_labels_text(labels), _number(value))
    lines += [f"{family.name}{labels} {value}" for labels, value in series.items()]
    return "\n".join(lines) + "\n"


def _labels_text(labels: Mapping[str, str]) -> str:
    # An empty label is none to Prometheus.
    pairs = [f'{name}="{_escaped(text, quotes=True)}"' for name, text in labels.items() if text]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _escaped(text: str, *, quotes: bool = False) -> str:
    """A text of the cluster inside a line; what cannot stand in UTF-8 or ends parsers is shown.

    Two texts are never written alike: one that looks as if something had been shown in it has its
    backslashes doubled.
    """
    if _CONTROL.search(text) or _LIKE_ESCAPED.search(text):
        text = _CONTROL.sub(_shown, text.replace("\\", r"\\"))
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quotes else text


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(value)).removesuffix(".0")
