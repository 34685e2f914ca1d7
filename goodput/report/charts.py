"""The page's Plotly figures, as plain JSON-ready dicts.

Colours are CSS variables (`var(--state-…)`): the page resolves them when it draws, so one figure
serves light, dark and print. Text is escaped here, since Plotly reads a little HTML in labels.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from itertools import islice
from typing import Any

import plotly.graph_objects as go

Row = dict[str, Any]

ROW_HEIGHT = 34
LABEL_WIDTH = 22
TOP_CLASSES = 12
TREND_HEIGHT = 240

# catalog/state_groups.csv names the patterns in words; these are Plotly's marks for them.
PATTERNS = {"diagonal": "/", "dots": ".", "cross": "x", "outline": "-"}

PAID_LABEL = "Paid for"


def waterfall_figure(
    steps: Sequence[Row], groups: Sequence[Row], paid: float, decimals: int
) -> dict[str, Any]:
    """From paid to productive GPU-hours; each loss hangs where the one before it ended."""
    patterns = {group["state_group"]: group["pattern"] for group in groups}
    labels, lengths, bases, colours, shapes, texts = [PAID_LABEL], [paid], [0.0], [], [""], []
    keys = ["paid"]
    colours.append("var(--bar-paid)")
    texts.append(f"{paid:,.{decimals}f}")
    remaining = paid
    for step in steps:
        hours = step["shown_gpu_hours"]
        is_end = step["kind"] == "productive"
        remaining -= 0 if is_end else hours
        labels.append(step["label"])
        keys.append(step["state_group"])
        lengths.append(hours)
        bases.append(0.0 if is_end else remaining)
        colours.append(f"var(--state-{step['state_group']})")
        shapes.append(PATTERNS.get(patterns.get(step["state_group"]) or "", ""))
        texts.append(f"{'' if is_end else '−'}{hours:,.{decimals}f}")
    figure = go.Figure(
        go.Bar(
            orientation="h",
            y=[wrap(label) for label in labels],
            x=lengths,
            base=bases,
            # The script draws the bars of a choice anew, by these keys.
            customdata=keys,
            text=texts,
            textposition="outside",
            cliponaxis=False,
            marker=marker(colours, shapes),
            hovertemplate="%{y}: %{text} GPU-hours<extra></extra>",
        )
    )
    return finish(figure, rows=len(labels), longest=paid)


def classes_figure(classes: Sequence[Row], decimals: int) -> dict[str, Any]:
    """Lost GPU-hours of the largest failure classes, largest first; normal overhead is not lost."""
    lost = (row for row in classes if row["domain"] != "baseline" and row["shown_gpu_hours"] > 0)
    shown = list(islice(lost, TOP_CLASSES))
    figure = go.Figure(
        go.Bar(
            orientation="h",
            y=[wrap(row["class_label"]) for row in shown],
            x=[row["shown_gpu_hours"] for row in shown],
            customdata=[row["class"] for row in shown],
            text=[f"{row['shown_gpu_hours']:,.{decimals}f}" for row in shown],
            textposition="outside",
            cliponaxis=False,
            marker=marker(
                ["var(--bar-lost)"] * len(shown),
                ["/" if row["domain"] == "unknown" else "" for row in shown],
            ),
            hovertemplate="%{y}: %{x} GPU-hours<extra></extra>",
        )
    )
    longest = max((row["shown_gpu_hours"] for row in shown), default=1)
    return finish(figure, rows=len(shown), longest=longest)


def lines_figure(
    labels: Sequence[str],
    values: Sequence[float | None],
    band: Sequence[Sequence[float | None]] | None,
    restated: Sequence[bool],
    objective: float | None,
) -> dict[str, Any]:
    """A ratio over the weeks, with the interval it lies in and the objective it is judged by.

    Weeks that were restated have an open mark.
    """
    figure = go.Figure()
    if band:
        figure.add_scatter(x=labels, y=band[0], mode="lines", line={"width": 0}, hoverinfo="skip")
        figure.add_scatter(
            x=labels,
            y=band[1],
            mode="lines",
            line={"width": 0},
            fill="tonexty",
            fillcolor="var(--band)",
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=labels,
        y=values,
        mode="lines+markers",
        line={"color": "var(--link)", "width": 2},
        marker={
            "size": 8,
            "color": "var(--link)",
            "symbol": ["circle-open" if flag else "circle" for flag in restated],
        },
        hovertemplate="%{x}: %{y:.2%}<extra></extra>",
    )
    if objective is not None:
        figure.add_scatter(
            x=[labels[0], labels[-1]],
            y=[objective, objective],
            mode="lines",
            line={"color": "var(--quiet)", "width": 1, "dash": "dash"},
            hovertemplate="objective %{y:.2%}<extra></extra>",
        )
    return finish_trend(figure, tickformat=".1%")


def stack_figure(
    labels: Sequence[str], names: Sequence[str], amounts: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """Lost GPU-hours over the weeks, a stack of classes told apart by patterns as well."""
    figure = go.Figure()
    shapes = ["", "/", ".", "x", "-", "\\"]
    for index, (name, hours) in enumerate(zip(names, amounts, strict=True)):
        figure.add_bar(
            x=labels,
            y=hours,
            name=html.escape(name[:80]),
            marker={
                "color": (colour := f"var(--stack-{index % len(shapes)})"),
                "pattern": {
                    "shape": shapes[index % len(shapes)],
                    "size": 7,
                    "solidity": 0.22,
                    "fillmode": "overlay",
                    "bgcolor": colour,
                    "fgcolor": "var(--page)",
                    "fgopacity": 0.6,
                },
            },
            hovertemplate="%{x}: %{y:,.1f} GPU-hours<extra>%{fullData.name}</extra>",
        )
    figure.update_layout(barmode="stack", bargap=0.35)
    drawn = finish_trend(figure, tickformat=",.0f")
    drawn["layout"] |= {"showlegend": True, "legend": {"orientation": "h", "y": -0.18}}
    return drawn


def finish_trend(figure: go.Figure, *, tickformat: str) -> dict[str, Any]:
    """The bare look of a chart over weeks."""
    axis = {"fixedrange": True, "gridcolor": "var(--line)", "linecolor": "var(--strong-line)"}
    figure.update_layout(
        template=go.layout.Template(),
        height=TREND_HEIGHT,
        margin={"l": 56, "r": 16, "t": 12, "b": 28},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 12, "color": "var(--quiet)"},
        hoverlabel={"bgcolor": "var(--raised)", "bordercolor": "var(--line)"},
        showlegend=False,
        xaxis={**axis, "type": "category"},
        yaxis={**axis, "tickformat": tickformat, "zeroline": False},
    )
    drawn: dict[str, Any] = plain(figure.to_plotly_json())
    return drawn


def wrap(label: str) -> str:
    """A label broken into short lines and escaped."""
    return "<br>".join(html.escape(line) for line in textwrap.wrap(label[:80], LABEL_WIDTH)) or "–"


def marker(colours: Sequence[str], shapes: Sequence[str]) -> dict[str, Any]:
    """Thin marks over each bar's own colour, so that colour is never the only difference.

    With a colour per bar, Plotly takes the background from it whatever `bgcolor` says, but warns
    unless `bgcolor` is one colour.
    """
    return {
        "color": list(colours),
        "pattern": {
            "shape": list(shapes),
            "size": 7,
            "solidity": 0.22,
            "fillmode": "overlay",
            "bgcolor": "var(--page)",
            "fgopacity": 0.5,
        },
    }


def finish(figure: go.Figure, *, rows: int, longest: float) -> dict[str, Any]:
    """Strips the default template (6 kB a figure) and everything the eye does not need."""
    figure.update_layout(
        template=go.layout.Template(),
        height=rows * ROW_HEIGHT + 16,
        # The amounts stand outside the bars; their room is in pixels whatever the page's width.
        margin={"l": 8, "r": 68, "t": 8, "b": 8},
        bargap=0.32,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13, "color": "var(--ink)"},
        hoverlabel={"bgcolor": "var(--raised)", "bordercolor": "var(--line)"},
        showlegend=False,
        xaxis={
            "visible": False,
            "fixedrange": True,
            "range": [0, longest or 1],
        },
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True, "ticks": ""},
    )
    drawn: dict[str, Any] = plain(figure.to_plotly_json())
    return drawn


def plain(value: Any) -> Any:
    """Nested tuples and figure objects as lists and dicts, without the empty template."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key != "template"}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
