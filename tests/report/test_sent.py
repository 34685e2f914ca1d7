"""What is sent: the brief, the Slack message, the mail and the textfile."""

import email
import email.policy
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from goodput.report import words
from goodput.report.brief import make_brief
from goodput.report.email import render_email, render_message
from goodput.report.render import render_digest
from goodput.report.slack import render_slack
from goodput.report.textfile import render_textfile


@pytest.fixture(scope="module")
def hostile(hostile_files):
    return json.loads(hostile_files.json.read_text("utf-8"))


def fact(brief, label):
    [found] = [one for one in brief.facts if one.label == label]
    return found


def with_headline(report, **changes):
    return report | {"headline": report["headline"] | changes}


# ---------------------------------------------------------------- the brief


def test_the_brief_says_the_first_screen(report):
    brief = make_brief(report)

    assert brief.subject == "Goodput Week 48, 2026: 74.4% of paid GPU time"
    assert brief.sentence == report["headline"]["sentence"]
    assert brief.scope.startswith("lab; 2026-11-23 00:00 UTC to 2026-11-30 00:00 UTC, as known ")
    success = fact(brief, "Job success")
    assert (success.value, success.verdict) == ("81.7%", "missed")
    assert success.note == "67 of 82 jobs; 95% interval 71.6–89.4%; below 99.5%"


def test_an_interval_stands_for_a_goodput_that_was_not_observed(report):
    unseen = {"is_interval": True, "low": 0.601, "high": 0.682, "demand": 0.7, "demand_high": 0.8}
    goodput = report["headline"]["goodput"] | unseen
    brief = make_brief(with_headline(report, goodput=goodput))

    assert brief.subject == "Goodput Week 48, 2026: 60.1–68.2% of paid GPU time"
    assert fact(brief, "Goodput of demanded time").value == "70.0–80.0%"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.841, 0.988, "84.1–98.8%"),
        (0.8411, 0.8412, "84.1%"),
        (None, 0.5, "– to 50.0%"),
        (None, None, "–"),
    ],
)
def test_intervals_name_the_unit_once(low, high, text):
    assert words.between(low, high) == text


def test_of_many_pools_the_first_six_are_named_and_the_rest_is_a_number(report):
    [pool, *_] = report["headline"]["availability"]
    pools = [pool | {"pool": f"p{n}", "closed": 0.9 + n / 100} for n in range(9)]
    labels = [one.label for one in make_brief(with_headline(report, availability=pools)).facts]

    at = labels.index("Availability p0")
    assert labels[at : at + 7] == [
        *(f"Availability p{n}" for n in range(6)),
        "Availability of other pools",
    ]


def test_a_change_is_named_with_its_verdict(report):
    change = {"metric": "goodput_paid", "cluster": "lab", "kind": "share", "previous": 0.7}
    worse = make_brief(report | {"trends": [change | {"verdict": "worse"}]})
    other = make_brief(report | {"trends": [change | {"verdict": "worse", "cluster": "x"}]})

    assert fact(worse, "Goodput of paid time").note.endswith("; week before 70.0%, worse")
    assert "week before" not in fact(other, "Goodput of paid time").note


def test_failed_checks_are_a_warning(report):
    check = {"name": "sums", "severity": "error", "row_count": 3, "description": ""}
    sure = report | {"data_quality": []}
    failed = make_brief(sure | {"checks": [check]})
    warned = make_brief(sure | {"checks": [check | {"severity": "warn"}]})

    assert failed.warnings == ["1 of 1 checks failed: do not quote these numbers"]
    assert warned.warnings == []
    assert "do not quote" in render_digest(report | {"checks": [check]})


def test_doubtful_numbers_of_the_first_screen_are_a_warning(report):
    doubt = {"cluster": "lab", "basis": "steps", "coverage": 0.4, "bar": 0.9, "is_below": True}
    rows = [
        doubt | {"metric": "job_success", "reason": "no logs"},
        doubt | {"metric": "job_success", "reason": "of another cluster", "cluster": "x"},
        doubt | {"metric": "warmup_gpu_hours", "reason": "not on the first screen"},
        doubt | {"metric": "goodput_paid", "reason": "fine", "is_below": False},
    ]

    assert make_brief(report | {"data_quality": rows}).warnings == [
        "doubtful: job success, no logs (40.0% of 90% needed)"
    ]


def test_weeks_that_were_restated_are_named(report):
    weeks = [
        {"iso_week": "2026-W47", "start": "2026-11-16T00:00:00.000Z", "is_restated": True},
        {"iso_week": "2026-W48", "start": "2026-11-23T00:00:00.000Z", "is_restated": False},
    ]

    brief = make_brief(report | {"history": weeks, "data_quality": []})
    assert brief.warnings == ["restated since it was published: 2026-W47"]


def test_money_is_named_where_there_are_prices(report):
    money = {"cost_dollars": 10_000.0, "lost_dollars": 1234.0, "priced_share": 1.0}
    priced = make_brief(with_headline(report, money=money))

    assert fact(priced, "GPU-hours lost").note.startswith("$1,234; ")


# ---------------------------------------------------------------- Slack


def texts(message):
    for block in message["blocks"]:
        yield from [block["text"]] if "text" in block else block["elements"]


def test_the_slack_message_has_a_fallback_and_blocks(report):
    message = json.loads(render_slack(report))

    assert message["text"] == "Goodput Week 48, 2026: 74.4% of paid GPU time"
    assert [block["type"] for block in message["blocks"]] == [
        "header",
        "section",
        *(["section"] if make_brief(report).warnings else []),
        "section",
        "section",
        "context",
    ]
    shown = "\n".join(one["text"] for one in texts(message))
    assert "✗ *Job success*: 81.7% (67 of 82 jobs; 95% interval 71.6–89.4%; below 99.5%)" in shown
    assert "*What cost most*\n• *" in shown


def test_slack_takes_no_markup_from_a_cluster(hostile):
    message = json.loads(render_slack(hostile))

    assert len(message["blocks"]) <= 50
    for one in texts(message):
        assert 0 < len(one["text"]) <= (150 if one["type"] == "plain_text" else 3000)
        if one["type"] == "mrkdwn":
            assert one["verbatim"]
            assert not re.search(r"[<>]|&(?!(amp|lt|gt);)", one["text"])
    assert "&lt;script&gt;" in json.dumps(message)


def test_slack_keeps_its_limits_with_many_long_names(report):
    [pool, *_] = report["headline"]["availability"]
    [cause, *_] = report["headline"]["top_causes"]
    message = json.loads(
        render_slack(
            with_headline(
                report,
                availability=[pool | {"pool": "&" * 5000}] * 6,
                top_causes=[cause | {"class_label": "<" * 5000, "action": "&" * 5000}] * 3,
            )
            | {"clusters": ["&<>" * 2000] * 9}
        )
    )

    for one in texts(message):
        assert len(one["text"]) <= 3000
        assert not re.search(r"[<>]|&(?!(amp|lt|gt);)", one["text"])


# ---------------------------------------------------------------- mail


class Elements(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def test_the_mail_is_tables_with_inline_styles(report):
    html = render_email(report)
    page = Elements(html)

    assert len(html.encode()) < 102_000  # where a well-known reader of mails cuts
    assert {"script", "style", "link", "img", "svg", "form", "iframe"} & set(page.tags) == set()
    assert {name for name, _ in page.attributes} & {"href", "src", "class", "onclick"} == set()
    assert "url(" not in html
    assert "<td" in html
    assert "81.7%" in html
    assert report["headline"]["sentence"] in html


def test_the_mail_shows_itself_without_a_request(hostile_files, files, open_page, report):
    page = open_page(files.email, viewport={"width": 400, "height": 800})

    assert page.complaints == []
    assert page.requests == [files.email.as_uri()]
    assert page.page.title() == make_brief(report).subject
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 400
    hostile = open_page(hostile_files.email)
    assert hostile.complaints == []
    assert hostile.requests == [hostile_files.email.as_uri()]
    assert hostile.page.evaluate("window.hacked") is None


def test_the_bar_of_the_mail_is_as_long_as_what_was_paid(files, open_page, report):
    page = open_page(files.email).page
    cells = page.locator("td[height='22']")

    shown = [step["shown_percent"] for step in report["waterfall"] if step["shown_gpu_hours"] > 0]
    widths = [float(cell.get_attribute("width").rstrip("%")) for cell in cells.all()]
    assert widths == pytest.approx(shown, abs=0.051)
    assert sum(shown) == pytest.approx(100, abs=0.051)


def test_the_message_has_a_subject_a_text_and_the_html(report):
    text = render_message(report)
    message = email.message_from_string(text, policy=email.policy.default)

    assert message["Subject"] == "Goodput Week 48, 2026: 74.4% of paid GPU time"
    assert message["From"] is None
    assert message.get_body(("plain",)).get_content() == render_digest(report)
    assert message.get_body(("html",)).get_content() == render_email(report)
    assert text.isascii()
    assert max(map(len, text.splitlines())) < 999  # RFC 5322
    assert render_message(report) == text


def test_a_message_from_a_hostile_cluster_has_the_same_headers(hostile):
    message = email.message_from_string(render_message(hostile), policy=email.policy.default)

    assert sorted(message.keys()) == ["Content-Type", "MIME-Version", "Subject"]
    assert [part.get_content_type() for part in message.iter_parts()] == [
        "text/plain",
        "text/html",
    ]


# ---------------------------------------------------------------- Prometheus


def test_the_textfile_has_the_headline_by_the_names_of_the_export(report):
    lines = render_textfile(report).splitlines()

    paid = report["headline"]["goodput"]["paid"]
    assert f'goodput_paid_ratio{{cluster="lab",scope="fleet"}} {paid!r}' in lines
    # 2026-11-23, 00:00 UTC.
    assert "goodput_window_start_timestamp_seconds 1795392000" in lines
    assert 'goodput_objective_ratio{metric="job_success"} 0.995' in lines
    scopes = set(re.findall(r'scope="(\w+)"', "\n".join(lines)))
    assert scopes == {"fleet", "pool"}


def test_promtool_has_nothing_to_say_about_the_textfile(report, hostile):
    if not shutil.which("promtool"):
        pytest.skip("no promtool here; on Debian: apt-get install prometheus")
    for one in (report, hostile):
        done = subprocess.run(
            ["promtool", "check", "metrics"],
            input=render_textfile(one),
            check=False,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
