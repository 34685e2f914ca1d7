"""A report as an object: for notebooks, and for scripts that want its numbers and not its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import escape

from goodput.report.brief import Brief, make_brief
from goodput.report.email import render_email
from goodput.report.render import render_digest, render_html


@dataclass(frozen=True)
class Report:
    """The report of a build.

    Attributes:
        data: what report.json holds; docs/report.schema.json describes it.
    """

    data: Mapping[str, Any]

    @cached_property
    def brief(self) -> Brief:
        """The first screen as facts: subject, sentence, numbers with verdicts, causes."""
        return make_brief(self.data)

    def html(self) -> str:
        """The whole page, report.html."""
        return render_html(self.data)

    def markdown(self) -> str:
        """The first screen, digest.md."""
        return render_digest(self.data)

    def __repr__(self) -> str:
        return f"Report({self.brief.subject!r})"

    def _repr_html_(self) -> str:
        """The mail's form, which has no script, in a frame that would run none."""
        page, style = escape(render_email(self.data)), "width:100%;height:900px;border:0"
        return f'<iframe sandbox="" style="{style}" srcdoc="{page}"></iframe>'
