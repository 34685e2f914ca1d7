"""The brief as a mail: HTML that mail programs show, and the whole message around it.

There is no script, no style sheet and no picture: tables, inline styles, nothing to fetch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any

from goodput.report.brief import make_brief
from goodput.report.render import render_digest, template

MOST_JOBS = 5


def render_email(report: Mapping[str, Any]) -> str:
    """The mail's HTML, also to look at in a browser."""
    colours = {row["state_group"]: row["colour_light"] for row in report["state_groups"]}
    labels = {row["class"]: row["class_label"] for row in report["lost_classes"]}
    bar = [
        step | {"colour": colours[step["state_group"]], "width": round(step["shown_percent"], 1)}
        for step in report["waterfall"]
        if step["shown_gpu_hours"] > 0
    ]
    jobs = [
        job | {"cause": labels.get(job["main_class"], job["main_class"])}
        for job in report["jobs"][:MOST_JOBS]
        if job["lost_gpu_hours"] > 0
    ]
    html = template("email.html.j2", autoescape=True).render(
        brief=make_brief(report),
        bar=bar,
        jobs=jobs,
        decimals=report["headline"]["decimals"],
        version=report["build"]["goodput_version"],
    )
    return html + "\n"


def render_message(report: Mapping[str, Any]) -> str:
    """The message: its subject, the digest as plain text, and the HTML; no sender, no receiver.

    It is the same for the same report, which a boundary by chance would not be.
    """
    html = render_email(report)
    message = EmailMessage(policy=SMTP)
    message["Subject"] = make_brief(report).subject
    message.set_content(render_digest(report), cte="quoted-printable")
    message.add_alternative(html, subtype="html", cte="quoted-printable")
    message.set_boundary(
        f"goodput-{hashlib.sha256(html.encode(errors='replace')).hexdigest()[:32]}"
    )
    return message.as_string(policy=SMTP.clone(linesep="\n"))
