"""The text format of Prometheus, version 0.0.4, which node-exporter's textfile collector reads.

https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f]")


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
    # Names that differ in nothing but what the format cannot carry would be one series twice, for
    # which a scrape fails as a whole; the first stands for both.
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
    """A text of the cluster inside a line; what cannot stand in UTF-8 or ends parsers is shown."""
    text = text.encode("utf-8", errors="backslashreplace").decode()
    text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quotes else text


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(value)).removesuffix(".0")
