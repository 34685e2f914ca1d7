"""The brief as a Slack message in Block Kit, ready for an incoming webhook.

The limits are those of https://docs.slack.dev/reference/block-kit/blocks. With Slack's three
control characters escaped, and `verbatim` texts, a name of the cluster can neither mention somebody
nor become a link; a star or underscore in it may look odd.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goodput.report.brief import Brief, Cause, Fact, make_brief

MOST_BLOCKS = 50
MOST_LETTERS = 3000
HEADER_LETTERS = 150
LINE_LETTERS = 600

_MARKS = {"met": "✓ ", "missed": "✗ ", "undecided": "? "}

Block = dict[str, Any]


def render_slack(report: Mapping[str, Any]) -> str:
    """The message as JSON: `text` for notifications, `blocks` for the channel."""
    return json.dumps(_message(make_brief(report)), indent=1, ensure_ascii=False) + "\n"


def _message(brief: Brief) -> dict[str, Any]:
    subject = _cut(brief.subject, HEADER_LETTERS)
    header = {"type": "plain_text", "text": subject, "emoji": False}
    parts = [
        [_escaped(brief.sentence)],
        [f"*{_escaped(warning)}*" for warning in brief.warnings],
        [_fact(fact) for fact in brief.facts],
        ["*What cost most*", *map(_cause, brief.causes)] if brief.causes else [],
    ]
    sections = [
        {"type": "section", "text": _text(text)} for lines in parts for text in _joined(lines)
    ]
    blocks: list[Block] = [
        {"type": "header", "text": header},
        *sections[: MOST_BLOCKS - 2],
        {"type": "context", "elements": [_text(_cut(_escaped(brief.scope), MOST_LETTERS))]},
    ]
    return {"text": _escaped(subject), "blocks": blocks}


def _fact(fact: Fact) -> str:
    mark = _MARKS.get(fact.verdict, "")
    return f"{mark}*{_escaped(fact.label)}*: {fact.value} ({_escaped(fact.note)})"


def _cause(cause: Cause) -> str:
    label, note, todo = map(_escaped, (cause.label, cause.note, cause.todo))
    return f"• *{label}*: {cause.amount} ({note}). {todo}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """The lines in as few texts as the limit allows."""
    text = ""
    for line in (_cut(line, LINE_LETTERS) for line in lines):
        if text and len(text) + 1 + len(line) > MOST_LETTERS:
            yield text
            text = ""
        text = f"{text}\n{line}" if text else line
    if text:
        yield text


def _text(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _cut(text: str, limit: int) -> str:
    """At most so many letters; an escape is never cut in two."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    start = kept.rfind("&", limit - 6)
    return (kept[:start] if start >= 0 and ";" not in kept[start:] else kept) + "…"
