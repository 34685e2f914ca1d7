"""The queries of `collect prometheus`, from catalog/prometheus_queries.toml and files like it."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from goodput._resources import catalog_dir
from goodput.errors import UsageError
from goodput.sources.prometheus_answer import BadAnswer

KINDS = ("one_hot", "presence", "state", "counter", "gauge")
_BLANK = 1e18  # DCGM writes numbers like 9223372036854775794 for "no value"
# As Go writes them; float() takes more, such as 7_9.
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|Inf|NaN)", re.ASCII | re.IGNORECASE)
_FIELDS = {"name", "metrics", "kind", "labels", "matchers", "hot_label", "mask", "step"}
_NEEDED = ("name", "metrics", "kind", "labels")


@dataclass(frozen=True)
class Query:
    """One thing to ask for.

    Attributes:
        metrics: names of the metric, any of them.
        matchers: further label matchers in PromQL.
        labels: what is kept of a series: meaning to the labels that may hold it.
        hot_label: of kind one_hot, the label that holds the value.
        mask: bits of the number that count; None for all.
        step: of kind gauge, the grid that the number is floored to.
    """

    name: str
    metrics: tuple[str, ...]
    kind: str
    labels: Mapping[str, tuple[str, ...]]
    matchers: tuple[str, ...] = ()
    hot_label: str = ""
    mask: int | None = None
    step: float | None = None

    def selector(self, more_matchers: Sequence[str] = ()) -> str:
        """The PromQL instant selector."""
        matchers = [*self.matchers, *more_matchers]
        if len(self.metrics) > 1:
            matchers.insert(0, f'__name__=~"{"|".join(self.metrics)}"')
            return "{" + ",".join(matchers) + "}"
        return self.metrics[0] + ("{" + ",".join(matchers) + "}" if matchers else "")

    def kept_labels(self, metric: Mapping[str, str]) -> str:
        """The labels of a series that identify it, as JSON in the order of their names."""
        kept: dict[str, str] = {}
        for meaning, names in self.labels.items():
            if value := next((metric[name] for name in names if metric.get(name)), ""):
                kept[meaning] = value
        return msgspec.json.encode(kept, order="sorted").decode()

    def value_of(self, metric: Mapping[str, str], text: str) -> str | None:
        """What a sample says, as a text; None where it says nothing.

        Raises:
            BadAnswer: it says what no Prometheus would.
        """
        if not _NUMBER.fullmatch(text):
            raise BadAnswer(f"a sample in it says {text[:40]!r}, which is no number")
        number = float(text)
        if math.isnan(number):  # VictoriaMetrics sends the marks of ended series as NaN
            return None
        if self.kind == "presence":
            return "1"
        if abs(number) >= _BLANK:
            return None
        if self.kind == "one_hot":
            return metric.get(self.hot_label) if number == 1 else None
        if self.mask is not None:
            number = float(int(number) & self.mask)
        if self.step is not None:
            number = math.floor(number / self.step) * self.step
        return f"{number:.17g}"


def load_queries(more: Path | None = None, names: Sequence[str] = ()) -> list[Query]:
    """The shipped queries and those of a file; one of the same name replaces the shipped one.

    Args:
        more: a file in the form of catalog/prometheus_queries.toml.
        names: only these.

    Raises:
        UsageError: the file is missing or wrong, or there is no query of a name.
    """
    queries = {query.name: query for query in _read(catalog_dir() / "prometheus_queries.toml")}
    if more is not None:
        queries |= {query.name: query for query in _read(more)}
    if unknown := [name for name in names if name not in queries]:
        raise UsageError(
            f"there is no query {unknown[0]!r}; there are {', '.join(sorted(queries))}"
        )
    return [query for name, query in queries.items() if not names or name in names]


def _read(path: Path) -> list[Query]:
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["query"]
        return [_query(entry) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"the queries in {path} cannot be used: {error!r}") from None


def _query(entry: Mapping[str, Any]) -> Query:
    name = entry.get("name", "without a name")
    if missing := [field for field in _NEEDED if not entry.get(field)]:
        raise ValueError(f"query {name} lacks {missing[0]}")
    if unknown := sorted(set(entry) - _FIELDS):
        raise ValueError(f"query {name} has an unknown key {unknown[0]}")
    if entry["kind"] not in KINDS:
        raise ValueError(f"query {name} has kind {entry['kind']!r}, not one of {', '.join(KINDS)}")
    if (entry["kind"] == "one_hot") != ("hot_label" in entry):
        raise ValueError(f"query {name}: kind one_hot and hot_label belong together")
    if (entry["kind"] == "gauge") != ("step" in entry):
        raise ValueError(f"query {name}: kind gauge and step belong together")
    lists = {"metrics": tuple(entry["metrics"]), "matchers": tuple(entry.get("matchers", ()))}
    labels = {meaning: tuple(names) for meaning, names in entry["labels"].items()}
    return Query(**{**entry, **lists, "labels": labels})
