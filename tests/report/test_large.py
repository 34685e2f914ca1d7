"""The page of ten thousand jobs."""

import sys
from pathlib import Path

import pytest
from test_page import wait_until

from goodput.report.render import render_html

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.report_page import JOBS, large_week

LIMIT = 2_000_000


@pytest.fixture(scope="module")
def large(report, tmp_path_factory):
    """The result of the made-up week with ten thousand jobs, and its page."""
    week = large_week(report)
    path = tmp_path_factory.mktemp("large") / "report.html"
    path.write_text(render_html(week), encoding="utf-8")
    return week, path


def test_ten_thousand_jobs_are_one_small_file_and_can_be_narrowed(large, open_page):
    week, path = large
    opened = open_page(path)
    page = opened.page
    assert path.stat().st_size < LIMIT
    assert page.locator("#jobs-table tbody tr").count() == 20
    page.locator("#filters select[name=team]").select_option("team-07")
    wait_until(page, "document.getElementById('filters').dataset.done?.includes('team-07')")
    jobs = [job for job in week["jobs"] if job["team"] == "team-07"]
    assert page.locator("#jobs-table output").text_content() == f"{len(jobs)} of {JOBS:,} rows"
    names = page.locator("#jobs-table tbody tr td:first-child").all_text_contents()
    assert names == [job["job_name"] for job in jobs[:100]]
    assert opened.complaints == []
