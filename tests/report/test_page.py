"""The page in a real browser."""

import re
import time

WIDTH = "document.documentElement.scrollWidth"


MORE_ROWS = "document.querySelectorAll('#jobs-table tbody tr').length > 20"


def wait_until(page, condition):
    """Waits for a condition; Playwright's own way needs eval, which the page forbids."""
    deadline = time.monotonic() + 20
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"in vain: {condition}"
        page.wait_for_timeout(20)


def read_all(page):
    """Scrolls to each chart, since charts are drawn when they come near."""
    for index in range(page.locator(".chart").count()):
        page.locator(".chart").nth(index).scroll_into_view_if_needed()
    wait_until(page, "document.querySelectorAll('.chart .main-svg').length >= 2")


def number(text):
    return float(text.replace(",", "").replace("−", "-").rstrip("%"))


def test_page_asks_for_nothing_and_complains_about_nothing(files, open_page):
    opened = open_page(files.html)
    read_all(opened.page)
    assert opened.complaints == []
    assert opened.requests == [files.html.as_uri()]


def test_charts_are_drawn_with_a_bar_for_every_step(files, report, open_page):
    opened = open_page(files.html)
    read_all(opened.page)
    bars = opened.page.locator("[data-figure=waterfall] .point").count()
    assert bars == len(report["waterfall"]) + 1


def test_bars_of_the_waterfall_sum_to_the_last_gpu_hour_shown(files, report, open_page):
    opened = open_page(files.html)
    read_all(opened.page)
    texts = opened.page.locator("[data-figure=waterfall] .bartext").evaluate_all(
        "texts => texts.map(text => text.textContent)"
    )
    paid, *losses, productive = (number(text) for text in texts)
    assert paid + sum(losses) == productive
    cells = opened.page.locator("#waterfall-table td[data-hours]").all_text_contents()
    shown = opened.page.locator("#waterfall-sum").text_content()
    assert sum(map(number, cells)) == number(shown) == paid
    assert paid == report["headline"]["shown_gpu_hours"]["paid"]


def test_jobs_sort_by_a_column_and_back(files, report, open_page):
    page = open_page(files.html).page
    table = page.locator("#jobs-table")
    first = table.locator("tbody tr").first.locator("td").first
    by_size = sorted(report["jobs"], key=lambda job: job["gpu_hours"])
    button = table.get_by_role("button", name="Held GPU-hours")
    button.click()
    wait_until(page, MORE_ROWS)
    assert first.text_content() == by_size[-1]["job_name"]
    assert table.locator("th[aria-sort=descending]").text_content() == "Held GPU-hours"
    button.click()
    assert first.text_content() == by_size[0]["job_name"]
    assert table.locator("th[aria-sort=ascending]").count() == 1


def test_script_writes_cells_as_the_page_was_written(files, open_page):
    page = open_page(files.html).page
    rows = page.locator("#jobs-table tbody tr")
    before = rows.all_text_contents()
    page.locator("#jobs-table").get_by_role("button", name="Lost GPU-hours").click()
    wait_until(page, MORE_ROWS)
    after = rows.all_text_contents()[: len(before)]
    assert [re.sub(r"\s+", "", row) for row in after] == [re.sub(r"\s+", "", row) for row in before]


def test_filter_keeps_the_jobs_that_have_all_words(files, report, open_page):
    page = open_page(files.html).page
    page.locator("#jobs-table input").fill("vision failed")
    expected = [
        job for job in report["jobs"] if job["team"] == "vision" and job["state"] == "failed"
    ]
    count = f"{len(expected)} of {len(report['jobs'])} rows"
    wait_until(page, f"document.querySelector('#jobs-table output').textContent === '{count}'")
    names = page.locator("#jobs-table tbody tr td:first-child").all_text_contents()
    assert names == [job["job_name"] for job in expected]


def test_more_rows_come_on_demand(files, report, open_page):
    page = open_page(files.html).page
    rows = page.locator("#jobs-table tbody tr")
    assert rows.count() == 20
    page.locator("#jobs-table").get_by_role("button", name="Show more").click()
    wait_until(page, MORE_ROWS)
    assert rows.count() == len(report["jobs"])


def test_interruption_opens_to_its_evidence_and_command(files, report, open_page):
    page = open_page(files.html).page
    worst = report["interruptions"][0]
    incident = page.locator(".incident").first
    incident.locator("summary").click()
    picked = incident.locator("tr.picked")
    assert "GPU has fallen off the bus" in picked.text_content()
    assert "logs/worker-0.log:1200" in picked.text_content()
    command = incident.locator(".command code").text_content()
    assert command == f"goodput explain {worst['job']}/{worst['attempt']}"


def test_command_is_copied(files, open_page):
    opened = open_page(files.html)
    opened.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = opened.page
    page.locator("#waterfall .source summary").click()
    page.locator("#waterfall .command button").click()
    wait_until(page, "document.getElementById('status').textContent === 'Copied'")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("goodput query 'select state, cause, sum(unit_ms)")


def test_links_inside_the_page_lead_somewhere(files, open_page):
    page = open_page(files.html).page
    broken = page.evaluate(
        "[...document.querySelectorAll('a')].map(link => link.getAttribute('href'))"
        ".filter(href => !href.startsWith('#') || !document.getElementById(href.slice(1)))"
    )
    assert broken == []


def test_nothing_is_wider_than_a_phone(files, open_page):
    opened = open_page(files.html, viewport={"width": 400, "height": 800})
    read_all(opened.page)
    assert opened.page.evaluate(WIDTH) == 400
    assert opened.complaints == []


def test_dark_page_has_dark_ground_and_redraws_its_charts(files, open_page):
    opened = open_page(files.html, color_scheme="dark")
    read_all(opened.page)
    page = opened.page
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", ground))) < 3 * 40
    bar = "getComputedStyle(document.querySelector('[data-figure=waterfall] .point path')).fill"
    dark = page.evaluate(bar)
    page.emulate_media(color_scheme="light")
    wait_until(page, f"{bar} !== {dark!r}")
    assert opened.complaints == []


def test_page_prints_light_and_with_charts(files, open_page):
    opened = open_page(files.html, color_scheme="dark")
    pdf = opened.page.pdf(format="A4", print_background=True)
    assert pdf.startswith(b"%PDF")
    assert 3 <= pdf.count(b"/Type /Page\n") <= 30
    assert opened.complaints == []


def test_a_chart_that_was_not_drawn_leaves_no_gap_on_paper(files, open_page):
    page = open_page(files.html, java_script_enabled=False).page
    page.emulate_media(media="print")
    assert page.locator(".chart").first.is_hidden()
    assert page.locator("#waterfall-table").is_visible()


def test_page_reads_without_script(files, report, open_page):
    page = open_page(files.html, java_script_enabled=False).page
    assert page.locator(".lead").text_content() == report["headline"]["sentence"]
    assert page.locator("#jobs-table tbody tr").count() == 20
    assert page.locator("#jobs-table .tools").is_hidden()


def test_tables_and_figures_say_what_they_are(files, open_page):
    page = open_page(files.html).page
    unnamed = page.evaluate(
        "[...document.querySelectorAll('table')].filter(table => !table.caption"
        " || table.querySelector('thead th:not([scope])')).length"
    )
    assert unnamed == 0
    assert page.evaluate(
        "[...document.querySelectorAll('[role=img]')]"
        ".every(image => image.ariaLabel || image.getAttribute('aria-labelledby'))"
    )
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the numbers"


def test_hostile_names_run_nothing_and_break_nothing(hostile_files, open_page):
    opened = open_page(hostile_files.html)
    page = opened.page
    read_all(page)
    page.locator("#jobs-table").get_by_role("button", name="Held GPU-hours").click()
    wait_until(page, MORE_ROWS)
    page.locator(".incident summary").first.click()
    wait_until(page, "document.querySelector('[data-lanes=lanes]').dataset.ready")
    page.locator("[data-lanes=lanes] .lanes").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#status").text_content().startswith("<script>")
    assert opened.complaints == []
    assert opened.requests == [hostile_files.html.as_uri()]
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script:not([type='text/plain'])").count() == 0
    assert page.locator("#jobs-table tbody bdi").first.text_content().startswith("<script>")
    assert page.evaluate(WIDTH) == 1280
    page.locator("#filters select[name=class]").select_option(index=1)
    wait_until(page, "document.getElementById('filters').dataset.done !== undefined")
    assert opened.complaints == []
    assert page.evaluate("window.hacked") is None


def test_hostile_names_fit_a_phone(hostile_files, open_page):
    opened = open_page(hostile_files.html, viewport={"width": 400, "height": 800})
    read_all(opened.page)
    assert opened.page.evaluate(WIDTH) == 400
