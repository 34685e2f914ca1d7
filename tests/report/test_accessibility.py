"""What axe-core finds wrong with the pages; nothing may be."""

import pytest
from test_page import read_all, wait_until

from goodput.report.index import render_index


@pytest.fixture(scope="module")
def violations():
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def find(page, context=None, **options):
        found = axe.run(page, context, {"resultTypes": ["violations"]} | options)
        return [
            f"{rule['id']}: {node['html'][:200]}"
            for rule in found.response["violations"]
            for node in rule["nodes"]
        ]

    return find


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")


def test_the_report_has_no_barrier(files, open_page, violations):
    page = open_page(files.html).page
    read_all(page)
    unfold(page)
    assert violations(page) == []


def test_colours_of_the_dark_report_have_contrast(files, open_page, violations):
    page = open_page(files.html, color_scheme="dark").page
    unfold(page)
    assert violations(page, runOnly=["color-contrast", "link-in-text-block"]) == []


def test_what_script_writes_has_no_barrier(files, open_page, violations):
    page = open_page(files.html, viewport={"width": 400, "height": 800}).page
    page.locator("#filters select[name=team]").select_option("vision")
    wait_until(page, "document.getElementById('filters').dataset.done?.includes('vision')")
    page.locator("#causes .heat thead").get_by_role("button", name="Sum").click()
    page.locator("[data-lanes=lanes]").scroll_into_view_if_needed()
    wait_until(page, "document.querySelector('[data-lanes=lanes]').dataset.ready")
    assert violations(page, ["#filters", "#causes .heat", "#jobs"]) == []


def test_the_index_has_no_barrier(report, tmp_path, open_page, violations):
    path = tmp_path / "index.html"
    path.write_text(render_index({"2026-W48": report, "2026-W47": report}), encoding="utf-8")
    opened = open_page(path)
    assert violations(opened.page) == []
    assert opened.complaints == []
