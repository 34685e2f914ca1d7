"""From the report's result to one HTML file and a Markdown digest, and from nothing else.

The page is whole without script: what matters is text and tables. Script adds charts, sorting,
filtering and the rows beyond the first. Its two scripts are named by hash in the page's content
security policy, which forbids every other script and every request.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from goodput._resources import resource_dir
from goodput.report import words
from goodput.report.brief import make_brief, title_of
from goodput.report.tables import squeeze
from goodput.report.view import make_view

BUNDLE = "vendor/plotly-basic.min.js.gz"


def render_html(report: Mapping[str, Any]) -> str:
    """The weekly page of a result, as one self-contained HTML document."""
    folder = resource_dir("dashboards") / "weekly"
    script = read_script(folder)
    packed = (folder / BUNDLE).read_bytes()
    view = make_view(report)
    return template("weekly.html.j2", autoescape=True).render(
        **view,
        title=title_of(report),
        figures_json=inline_json(view["figures"]),
        lanes_packed=squeeze({name: view[name]["packed"] for name in ("fleet", "lanes")}),
        css=Markup((folder / "weekly.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        library=base64.b64encode(packed).decode(),
        script_hashes=[_hash(script), _hash(gzip.decompress(packed).decode())],
    )


def read_script(folder: Path) -> str:
    """The page's script: its parts in the order of their names, in one scope of their own."""
    parts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("script/*.js"))]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def render_digest(report: Mapping[str, Any]) -> str:
    """The first screen as Markdown, for a chat message or a mail."""
    return template("digest.md.j2", autoescape=False).render(brief=make_brief(report))


def template(name: str, *, autoescape: bool) -> jinja2.Template:
    """A template of dashboards/weekly, with the words of the pages as filters."""
    folder = resource_dir("dashboards") / "weekly"
    return _environment(folder, autoescape=autoescape).get_template(name)


def _environment(folder: Path, *, autoescape: bool) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=autoescape,  # noqa: S701 - Markdown is escaped by its own filter
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "hours": words.hours,
        "amount": words.amount,
        "count": words.count,
        "counted": words.counted,
        "percent": words.percent,
        "share": words.share,
        "points": words.points,
        "money": words.money,
        "span_of": words.span_of,
        "instant": words.instant,
        "clock": words.clock,
        "day": words.day,
        "full_instant": words.full_instant,
        "exact_instant": words.exact_instant,
        "clean": words.clean,
        "md": words.markdown,
    }
    environment.globals |= {
        "query": words.query,
        "literal": words.literal,
    }
    return environment


def inline_json(value: Any) -> Markup:
    """JSON that may stand inside a script element, whatever its strings hold."""
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - nothing that could end the element is left


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
