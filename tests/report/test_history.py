"""The weeks before a report: built anew, compared with what was published, charted and indexed."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from goodput.cli import main
from goodput.report.archive import Archive
from goodput.report.history import summarise, with_current
from goodput.report.index import render_index
from goodput.report.render import render_html
from goodput.report.trend_view import make_trend, sparkline

WEEK = datetime(2026, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)


def text(instant):
    return instant.isoformat().replace("+00:00", "Z")


def tables(jobs, learnt):
    """A node with one GPU for three weeks, and day-long jobs: number of the day, outcome."""
    rows = {"nodes": [], "jobs": [], "attempts": [], "pods": [], "steps": []}
    rows["nodes"].append(
        {"node_uid": "n", "pool": "a", "gpus": 1, "registered_at": text(WEEK), "ingested_at": None}
    )
    for day, outcome in jobs:
        begin, end = WEEK + day * DAY, WEEK + (day + 1) * DAY
        key = {"job": f"j{day}", "ingested_at": text(learnt)}
        ran = key | {"attempt": 1, "start": text(begin), "end": text(end)}
        pod = {"pod_uid": f"p{day}", "node_uid": "n", "gpus": 1, "bound_at": text(begin)}
        pod |= {"running_at": text(begin), "released_at": text(end), "attempt": 1}
        rows["jobs"].append(key | {"state": outcome, "ended_at": text(end)})
        rows["attempts"].append(ran | {"outcome": outcome})
        rows["pods"].append(key | pod)
        rows["steps"].append(ran | {"first": 1, "last": 1440})
    return rows


@pytest.fixture
def goodput(tmp_path):
    """Runs the command over a lake that is filled with `learn`."""

    def run(*words):
        result = CliRunner().invoke(main, ["--lake", str(tmp_path / "lake"), *map(str, words)])
        assert result.exit_code == 0, result.output
        return result

    def learn(jobs, learnt):
        folder = tmp_path / f"tables-{learnt:%d}"
        folder.mkdir()
        for name, rows in tables(jobs, learnt).items():
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{name}.ndjson").write_text(lines)
        run("import", folder)

    run.learn = learn
    return run


def test_a_quarter_marks_the_week_that_was_restated(goodput, tmp_path):
    # One of three jobs of the first week is told of a week late.
    known = [(day, "succeeded") for day in (0, 4, 8, 10, 12)]
    goodput.learn(known + [(day, "failed") for day in (15, 17, 19)], WEEK)
    place = tmp_path / "reports"
    first = ("--week", "2026-W10", "--as-of", text(WEEK + 7 * DAY), "--out", tmp_path / "w10")
    goodput("report", *first, "--publish", place)
    goodput.learn([(2, "succeeded")], WEEK + 10 * DAY)
    third = ("--week", "2026-W12", "--as-of", text(WEEK + 21 * DAY), "--out", tmp_path / "w12")
    said = goodput("report", *third, "--weeks", "4", "--publish", place).stdout

    # The lake has three of the four weeks.
    assert said.splitlines()[-1] == str(place / "2026-W12" / "report.html")
    report = json.loads((place / "2026-W12" / "report.json").read_text())
    weeks = report["history"]
    assert [row["iso_week"] for row in weeks] == ["2026-W10", "2026-W11", "2026-W12"]
    assert [row["is_restated"] for row in weeks] == [True, False, False]
    assert [row["is_current"] for row in weeks] == [False, False, True]
    assert [row["goodput_paid"] for row in weeks] == pytest.approx([3 / 7, 3 / 7, 0])
    assert weeks[0]["published"]["goodput_paid"] == pytest.approx(2 / 7)
    assert weeks[1]["published"] is None
    page = (place / "2026-W12" / "report.html").read_text()
    assert (
        "goodput diff --from 2026-03-02T00:00:00.000Z --to 2026-03-09T00:00:00.000Z "
        "--as-of 2026-03-09T00:00:00.000Z --as-of 2026-03-23T00:00:00.000Z"
    ) in page
    index = (place / "index.html").read_text()
    assert index.index("2026-W12/report.html") < index.index("2026-W10/report.html")
    assert "goodput 42.9%" in index


def test_without_weeks_before_there_is_no_history(report):
    assert with_current([], report) == []
    assert "No earlier week was asked for." in render_html(report)


def test_weeks_of_few_rows_and_none_are_shown_and_those_left_out_are_named(goodput, tmp_path):
    # A job in the first week, none in the second, one in the third.
    goodput.learn([(0, "succeeded"), (14, "succeeded"), (20, "succeeded")], WEEK)
    out = tmp_path / "w12"
    said = goodput("report", "--week", "2026-W12", "--weeks", "5", "--out", out)

    reason = "the lake's rows begin on 2026-03-02, after it"
    assert [line for line in said.stderr.splitlines() if "left out" in line] == [
        f"left out of the weeks before: 2026-W08: {reason}",
        f"left out of the weeks before: 2026-W09: {reason}",
    ]
    report = json.loads((out / "report.json").read_text())
    weeks = [(row["iso_week"], row["goodput_paid"]) for row in report["history"]]
    assert weeks == [("2026-W10", 1 / 7), ("2026-W11", 0), ("2026-W12", 2 / 7)]
    assert report["history_left_out"][0] == {
        "iso_week": "2026-W08",
        "start": "2026-02-16T00:00:00.000Z",
        "end": "2026-02-23T00:00:00.000Z",
        "reason": reason,
    }
    assert "<li>2026-W09: the lake&#39;s rows begin on" in (out / "report.html").read_text()


def test_where_every_week_is_left_out_the_page_says_which_were_asked_for(goodput, tmp_path):
    goodput.learn([(0, "succeeded"), (6, "succeeded")], WEEK)
    out = tmp_path / "w10"
    said = goodput("report", "--week", "2026-W10", "--weeks", "2", "--trends", "--out", out)

    assert "2026-W09: the lake's rows begin on 2026-03-02, after it" in said.stderr
    page = (out / "report.html").read_text()
    assert "No earlier week was asked for" not in page
    assert "<li>2026-W09: the lake&#39;s rows begin on 2026-03-02, after it</li>" in page


def test_a_week_without_a_node_is_left_out_for_that(goodput, tmp_path):
    # The job of the week before ran on no node that was in service yet.
    goodput.learn([(-7, "succeeded"), (6, "succeeded")], WEEK)
    said = goodput("report", "--week", "2026-W10", "--weeks", "2", "--out", tmp_path / "w10")

    assert "left out of the weeks before: 2026-W09: no node was in service in it" in said.stderr


def test_the_four_weeks_before_count_by_what_was_paid(report):
    week = summarise(report) | {"is_current": False, "published": None, "is_restated": False}
    small = week | {"paid_gpu_hours": 100, "productive_gpu_hours": 90, "lost_gpu_hours": 4}
    large = week | {"paid_gpu_hours": 900, "productive_gpu_hours": 510, "lost_gpu_hours": 16}
    long_ago = week | {"paid_gpu_hours": 10**9, "productive_gpu_hours": 0}
    history = with_current([long_ago, small, large, small, large], report)
    trend = make_trend(report | {"history": history})

    assert (trend["before"], trend["goodput_before"]) == (4, 0.6)
    assert trend["lost_before"] == 10
    page = render_html(report | {"history": history})
    assert "4 weeks before: 60.0%" in page
    assert "4 weeks before: 10 on average" in page


def test_charts_of_the_weeks_are_drawn(report, tmp_path, open_page):
    week = summarise(report) | {"is_current": False, "published": None, "is_restated": False}
    weeks = [week | {"iso_week": f"2026-W{n}"} for n in range(36, 48)]
    path = tmp_path / "report.html"
    path.write_text(render_html(report | {"history": with_current(weeks, report)}), "utf-8")
    opened = open_page(path, viewport={"width": 400, "height": 800})
    page = opened.page
    page.locator("#trend").scroll_into_view_if_needed()
    page.locator("[data-figure=trend-lost] .bars .point").first.wait_for()
    assert page.locator("[data-figure=trend-goodput] .scatterlayer .point").count() == 13
    assert page.locator("#trend tbody tr").count() == 13
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    assert opened.complaints == []


def test_a_sparkline_has_the_largest_on_top():
    assert sparkline([0.5, 0.7, None, 0.6]) == "0.0,20.0 48.0,2.0 96.0,11.0"
    assert sparkline([0.5]) is None


def test_reports_are_published_to_a_bucket(bucket, files):
    place = Archive(bucket.url("reports"))
    assert place.results() == {}
    place.publish(files.json.parent)
    bucket.put("reports/2026-W01/report.json", b"{}")
    bucket.put("reports/other.txt", b"not ours")

    assert list(place.results()) == ["2026-W48"]
    assert "reports/2026-W48/report.html" in bucket.objects("reports")
    assert "reports/index.html" in bucket.objects("reports")


def test_the_index_escapes_names_and_takes_no_foreign_folder(tmp_path, hostile_files, open_page):
    result = hostile_files.json.read_text("utf-8")
    for name in ("2026-W48", "a b", 'x"onload=alert(1)'):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(result, "utf-8")
    found = Archive(str(tmp_path)).results()
    assert list(found) == ["2026-W48"]
    path = tmp_path / "index.html"
    path.write_text(render_index(found), "utf-8")
    opened = open_page(path)
    assert opened.complaints == []
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("tbody tr").count() == 1


def test_an_empty_place_has_an_index():
    assert "Nothing is published yet" in render_index({})
