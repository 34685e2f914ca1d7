"""Metrics as families for Prometheus, by the names of catalog/prometheus_export.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from goodput._resources import catalog_dir
from goodput.exposition import Family

SCOPE_LABELS = ("cluster", "scope", "scope_value")


# Endings of the families that hold the ends of another one's 95 % intervals, and the numbers of
# events behind its values.
BOUND, EVENTS = "_bound", "_events"


@dataclass(frozen=True)
class ExportedName:
    """What a metric is called for Prometheus, and what its values are multiplied with."""

    name: str
    factor: float


def exported_names() -> dict[str, ExportedName]:
    """The exported name of every metric of catalog/metrics.toml."""
    export = _catalogue("prometheus_export")
    units, renamed = export["unit"], export["renamed"]
    return {
        name: _exported_name(renamed.get(name, name), units[entry["unit"]])
        for name, entry in _catalogue("metrics").items()
    }


def _exported_name(metric: str, unit: Mapping[str, Any]) -> ExportedName:
    full = metric if metric.startswith("goodput_") else f"goodput_{metric}"
    name = full.removesuffix(unit.get("there", "")) + unit.get("here", "")
    return ExportedName(name, unit.get("factor", 1))


def own_families() -> list[dict[str, str]]:
    """Name, help and query of each family beside the metrics."""
    families: list[dict[str, str]] = _catalogue("prometheus_export")["family"]
    return families


def metric_families(rows: Iterable[Mapping[str, Any]]) -> list[Family]:
    """Rows of the metrics' common shape as families: values, interval ends, numbers of events.

    Args:
        rows: those of one metric need not lie together.
    """
    names, catalogue = exported_names(), _catalogue("metrics")
    families: dict[str, Family] = {}

    def add(name: str, meaning: str, labels: dict[str, str], value: float | None) -> None:
        if value is not None:
            family = families.setdefault(name, Family(name, meaning))
            family.samples.append((labels, value))

    for row in rows:
        exported, entry = names[row["metric"]], catalogue[row["metric"]]
        name, factor = exported.name, exported.factor
        labels = {label: row[label] or "" for label in SCOPE_LABELS}
        add(name, f"{entry['label']}. {entry['caveat']}", labels, _times(row["value"], factor))
        for bound in ("low", "high"):
            meaning = f"Ends of the 95 % interval of {name}."
            add(name + BOUND, meaning, {**labels, "bound": bound}, _times(row[bound], factor))
        if entry["unit"] != "count":
            meaning = f"Number of events behind {name}; below 5 look at counts, not at rates."
            add(name + EVENTS, meaning, labels, row["event_count"])
    return [families[name] for name in sorted(families)]


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _catalogue(name: str) -> dict[str, Any]:
    return tomllib.loads((catalog_dir() / f"{name}.toml").read_text(encoding="utf-8"))
