"""The few parts that the dashboards are put together from, as the JSON of Grafana 10 and later.

Every function gives a plain dictionary. A panel has no position: `dashboard` lays panels out, row
by row, in the 24 columns of the grid.
"""

from collections.abc import Sequence
from typing import Any

Panel = dict[str, Any]
Json = dict[str, Any]

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
SCHEMA_VERSION = 39

# How Grafana writes a unit: its own name for it, and decimals where its choice would mislead.
RATIO = {"unit": "percentunit", "decimals": 1}
FINE_RATIO = {"unit": "percentunit", "decimals": 2}
HOURS = {"unit": "none", "decimals": 0}
SECONDS = {"unit": "s"}
COUNT = {"unit": "none", "decimals": 0}
RATE = {"unit": "none", "decimals": 2}
INSTANT = {"unit": "dateTimeAsIso"}


def query(expression: str, legend: str = "", *, instant: bool = False) -> Json:
    """One PromQL expression; `legend` names a series by its labels, as in {{scope_value}}."""
    return {
        "datasource": SOURCE,
        "expr": " ".join(expression.split()),
        "legendFormat": legend or "__auto",
        "instant": instant,
        "range": not instant,
    }


def number(title: str, unit: Json, *queries: Json, about: str, width: int = 4) -> Panel:
    """The latest value, large, with its course behind it."""
    options = {
        "colorMode": "none",
        "graphMode": "area",
        "textMode": "value_and_name" if len(queries) > 1 else "value",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    panel = _panel("stat", title, unit, queries, about=about, size=(width, 4))
    return panel | {"options": options}


def course(title: str, unit: Json, *queries: Json, about: str, width: int = 12) -> Panel:
    """Values over time as lines, with a table of the latest ones below."""
    options = {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    panel = _panel("timeseries", title, unit, queries, about=about, size=(width, 9)) | {
        "options": options
    }
    # Numbers come with a build, once a day or week: a step is what was known, a slope is not.
    panel["fieldConfig"]["defaults"]["custom"] = {
        "lineInterpolation": "stepAfter",
        "lineWidth": 2,
        "fillOpacity": 0,
    }
    return panel


def stack(title: str, unit: Json, *queries: Json, about: str, width: int = 12) -> Panel:
    """Parts of a whole over time."""
    panel = course(title, unit, *queries, about=about, width=width)
    panel["fieldConfig"]["defaults"]["custom"] |= {
        "stacking": {"mode": "normal"},
        "fillOpacity": 60,
        "lineWidth": 0,
    }
    return panel


def bars(title: str, unit: Json, one: Json, *, about: str, width: int = 12) -> Panel:
    """The latest values as bars, the longest first as far as the query sorts them."""
    options = {
        "orientation": "horizontal",
        "displayMode": "basic",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return _panel("bargauge", title, unit, [one], about=about, size=(width, 9)) | {
        "options": options
    }


def table(
    title: str,
    columns: Sequence[tuple[str, Json, str]],
    *,
    by: Sequence[tuple[str, str]],
    about: str,
    width: int = COLUMNS,
) -> Panel:
    """A row for each series, a column for each expression; sorted by the first column.

    Args:
        columns: name, unit and expression of each.
        by: labels that name a row, with the words above them; every expression has them.
    """
    letters = [chr(ord("A") + index) for index in range(len(columns))]
    queries = [query(expression, instant=True) for _, _, expression in columns]
    panel = _panel("table", title, COUNT, queries, about=about, size=(width, 12))
    for target, letter in zip(panel["targets"], letters, strict=True):
        target |= {"refId": letter, "format": "table"}
    names = dict(by) | {
        f"Value #{letter}": name for letter, (name, _, _) in zip(letters, columns, strict=True)
    }
    order = {name: index for index, name in enumerate(names)}
    panel["transformations"] = [
        {"id": "merge", "options": {}},
        {"id": "filterFieldsByName", "options": {"include": {"names": list(names)}}},
        {"id": "organize", "options": {"indexByName": order, "renameByName": names}},
    ]
    panel["fieldConfig"]["overrides"] = [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [{"id": key, "value": value} for key, value in unit.items()],
        }
        for name, unit, _ in columns
    ]
    panel["options"] = {"sortBy": [{"displayName": columns[0][0], "desc": True}]}
    return panel


def heading(title: str) -> Panel:
    """A line across the dashboard, above the panels that follow."""
    return {"type": "row", "title": title, "collapsed": False, "panels": [], "size": (COLUMNS, 1)}


def variable(name: str, label: str, expression: str, *, several: bool = False) -> Json:
    """A choice above the panels, of the values that a label has."""
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": SOURCE,
        "query": {"query": expression, "refId": name},
        "definition": expression,
        "refresh": 2,  # whenever the range of time changes
        "sort": 1,
        "multi": several,
        "includeAll": several,
        "allValue": ".*" if several else None,
        "current": {"text": "All", "value": "$__all"} if several else {},
    }


def dashboard(
    uid: str, title: str, about: str, variables: Sequence[Json], panels: Sequence[Panel]
) -> Json:
    """The whole dashboard; a new line of panels begins where the next one has no room."""
    source = {
        "type": "datasource",
        "name": "datasource",
        "label": "Prometheus",
        "query": "prometheus",
    }
    return {
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["goodput"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "5m",
        "time": {"from": "now-28d", "to": "now"},
        "timezone": "utc",
        "templating": {"list": [source, *variables]},
        "links": [
            {
                "type": "dashboards",
                "title": "goodput",
                "tags": ["goodput"],
                "asDropdown": False,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "annotations": {"list": []},
        "panels": list(_laid_out(panels)),
    }


def _panel(
    kind: str, title: str, unit: Json, queries: Sequence[Json], *, about: str, size: tuple[int, int]
) -> Panel:
    targets = [one | {"refId": chr(ord("A") + index)} for index, one in enumerate(queries)]
    return {
        "type": kind,
        "title": title,
        "description": about,
        "datasource": SOURCE,
        "size": size,
        "targets": targets,
        "fieldConfig": {
            "defaults": {**unit, "color": {"mode": "palette-classic"}},
            "overrides": [],
        },
    }


def _laid_out(panels: Sequence[Panel]) -> list[Panel]:
    placed, x, y, tallest = [], 0, 0, 0
    for index, panel in enumerate(panels, 1):
        width, height = panel["size"]
        if x + width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        grid = {"x": x, "y": y, "w": width, "h": height}
        rest = {key: value for key, value in panel.items() if key != "size"}
        placed.append({"id": index, **rest, "gridPos": grid})
        x, tallest = x + width, max(tallest, height)
    return placed
