"""Writes prometheus-metrics.md from catalog/metrics.toml and catalog/prometheus_export.toml.

Run it with `make docs` after a change there; a test fails while the page is behind.
"""

import tomllib
from pathlib import Path

from goodput._resources import catalog_dir
from goodput.exported import exported_names

PAGE = Path(__file__).with_name("prometheus-metrics.md")

INTRO = """\
# Metrics for Prometheus

Made by `make docs`; do not edit. These are the names that `goodput export prometheus` writes;
[Watch it in Grafana](guides/watch-in-grafana.md) says how to use them. All are gauges about the
window of the last build, in base units: seconds, GPU-seconds, node-seconds, ratios of 0 to 1. A
value that is not known has no series.

Labels are the columns of `goodput metrics`: `cluster` (`*` is the sum of several), `scope` and
`scope_value`. The names of the columns are kept, since labels such as `job`, `node` or `namespace`
would collide with those that a scrape sets. Always select a scope: the same time is cut in many
ways, and a sum over scopes counts it many times.

## Metrics

Where a metric has a 95 % interval, its ends are in a family with `_bound` behind the name and the
label `bound="low"` or `bound="high"`. The number of events behind a value, where there is one, is
in a family with `_events` behind the name: below five, look at counts and not at rates.

| name | in `goodput metrics` | what |
|---|---|---|
"""

OWN = """
## The build, nodes and jobs

| name | what |
|---|---|
"""


def metrics_page() -> str:
    """The whole page."""
    metrics = _catalogue("metrics")
    meanings = {name: f"{entry['label']}. {entry['caveat']}" for name, entry in metrics.items()}
    rows = [
        f"| `{exported.name}` | `{metric}` | {meanings[metric]} |"
        for metric, exported in exported_names().items()
    ]
    families = _catalogue("prometheus_export")["family"]
    own = [f"| `{family['name']}` | {family['help']} |" for family in families]
    return INTRO + "\n".join(sorted(rows)) + "\n" + OWN + "\n".join(own) + "\n"


def _catalogue(name: str) -> dict:
    return tomllib.loads((catalog_dir() / f"{name}.toml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(metrics_page(), encoding="utf-8")
