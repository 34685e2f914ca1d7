"""Narrowing the page to a team, pool or class, sorting its small tables, reading its timelines."""

import json
import re

import pytest
from test_page import number, read_all, wait_until


@pytest.fixture
def page(files, open_page):
    opened = open_page(files.html)
    yield opened.page
    assert opened.complaints == []


def choose(page, **values):
    """Chooses values and waits until the whole page follows."""
    for name, value in values.items():
        page.locator(f"#filters select[name={name}]").select_option(value)
    chosen = {"team": "", "namespace": "", "pool": "", "class": ""} | values
    wait_until(page, f"document.getElementById('filters').dataset.done === {text(chosen)}")


def text(value):
    return json.dumps(json.dumps(value, separators=(",", ":")))


def worst_fault(report):
    """The class that cost most of those that interrupted jobs."""
    return next(row for row in report["lost_classes"] if row["interruption_count"])["class"]


def total(report, **wanted):
    """GPU-hours of the slices that have all these values."""
    return sum(
        row["gpu_hours"]
        for row in report["slices"]
        if all(row[key] == value for key, value in wanted.items())
    )


def test_a_team_narrows_the_tables_to_its_jobs(page, report):
    choose(page, team="vision")
    jobs = [job for job in report["jobs"] if job["team"] == "vision"]
    shown = page.locator("#jobs-table output").text_content()
    assert shown == f"{len(jobs)} of {len(report['jobs'])} rows"
    names = page.locator("#jobs-table tbody tr td:first-child").all_text_contents()
    assert names == [job["job_name"] for job in jobs]
    page.locator("#filters button").click()
    wait_until(page, "document.getElementById('filters').dataset.done?.includes('\"team\":\"\"')")
    assert page.locator("#jobs-table output").text_content() == f"{len(report['jobs'])} rows"


def test_the_waterfall_of_a_team_sums_to_its_hours(page, report):
    read_all(page)
    choose(page, team="speech")
    cells = page.locator("#waterfall-table tr[data-group] td:nth-child(2)").all_text_contents()
    all_of_it = number(page.locator("#waterfall-sum").text_content())
    assert sum(map(number, cells)) == all_of_it == round(total(report, team="speech"))
    bars = page.locator("[data-figure=waterfall] .bartext").all_text_contents()
    paid, *losses, productive = (number(bar) if bar else 0 for bar in bars)
    assert paid + sum(losses) == productive
    assert paid == all_of_it
    assert page.locator("#waterfall-table tr.member:visible").count() == 0


def test_what_was_narrowed_comes_back_as_it_was(page):
    table = page.locator("#waterfall-table")
    before = table.text_content()
    classes = page.locator("#causes").text_content()
    choose(page, team="speech")
    assert table.text_content() != before
    choose(page, team="")
    assert table.text_content() == before
    assert page.locator("#causes").text_content() == classes


def test_a_pool_narrows_nodes_and_fleet(page, report):
    page.locator("[data-lanes=fleet]").scroll_into_view_if_needed()
    wait_until(page, "document.querySelector('[data-lanes=fleet]').dataset.ready")
    choose(page, pool="a100")
    expected = {row["node_name"] for row in report["nodes"] if row["pool"] == "a100"}
    lanes = page.locator("[data-lanes=fleet] .names li").all_text_contents()
    assert set(lanes) == expected
    nodes = page.locator("#nodes-table tbody tr td:first-child").all_text_contents()
    assert set(nodes) == expected


def test_the_count_of_a_class_leads_to_its_interruptions(page, report):
    worst = worst_fault(report)
    page.locator("#causes a[data-count=interruptions]").first.click()
    chosen = {"team": "", "namespace": "", "pool": "", "class": worst}
    wait_until(page, f"document.getElementById('filters').dataset.done === {text(chosen)}")
    assert page.url.endswith("#interruptions")
    top = "document.getElementById('interruptions').getBoundingClientRect().top"
    wait_until(page, f"{top} >= 0 && {top} < innerHeight / 2")
    rows = [row for row in report["interruptions"] if row["class"] == worst]
    shown = page.locator("#interruptions-table output").text_content()
    assert shown == f"{len(rows)} of {len(report['interruptions'])} rows"
    visible = page.locator(".incident:visible").count()
    assert visible == sum(row["class"] == worst for row in report["interruptions"][:30])


def test_hours_of_a_class_and_a_team_are_those_of_the_ledger(page, report):
    worst = worst_fault(report)
    choose(page, team="agents", **{"class": worst})
    hours = round(total(report, team="agents", **{"class": worst}))
    row = page.locator(f"#causes .twin tr[data-class='{worst}']")
    assert number(row.locator("[data-hours]").text_content()) == hours
    assert page.locator("#causes .twin tbody tr:visible").count() == 1
    heat = page.locator(f"#causes .heat tr[data-class='{worst}'] [data-group]").all_text_contents()
    assert sum(number(cell) for cell in heat if cell) == pytest.approx(hours, abs=len(heat) / 2)
    said = page.locator("#filters output").text_content()
    assert re.search(rf" · {hours:,} lost$", said)


@pytest.mark.parametrize("table", [".twin table", ".heat"])
def test_classes_sort_by_name_and_back_by_hours(page, report, table):
    rows = page.locator(f"#causes {table} tbody tr")
    first = rows.first.locator("th")
    largest = max(report["lost_classes"], key=lambda row: row["gpu_hours"])["class_label"]
    heads = page.locator(f"#causes {table} thead")
    heads.get_by_role("button", name="Class").click()
    names = [row.splitlines()[0] for row in rows.locator("th").all_inner_texts()]
    assert names == sorted(names, key=str.lower)
    heads.get_by_role("button", name=re.compile("^(GPU-hours|Sum)")).click()
    assert first.inner_text().startswith(largest)
    assert page.locator(f"#causes {table} th[aria-sort=descending]").count() == 1


def ready(page, name):
    block = page.locator(f"[data-lanes={name}]")
    block.scroll_into_view_if_needed()
    wait_until(page, f"document.querySelector('[data-lanes={name}]').dataset.ready")
    return block


def test_fleet_timeline_zooms_by_buttons_and_by_dragging(page):
    block = ready(page, "fleet")
    days = block.locator(".axis span")
    assert days.count() == 7
    block.get_by_role("button", name="Zoom in").click()
    assert re.fullmatch(r"24 Nov 18:00 – 28 Nov 06:00 UTC", block.locator("output").text_content())
    block.get_by_role("button", name="All", exact=True).click()
    assert block.locator("output").text_content() == ""
    picture = block.locator("svg")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 7, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 2 / 7, box["y"] + 40, steps=4)
    page.mouse.up()
    assert re.match(r"24 Nov 0[0-2]:\d\d – 2[45] Nov", block.locator("output").text_content())


def test_what_a_node_did_is_told_under_the_pointer(page, report):
    block = ready(page, "fleet")
    page.mouse.wheel(0, 200)
    box = block.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 5)
    row = report["node_timeline"][0]
    labels = {group["code"]: group["label"] for group in report["state_groups"]}
    said = block.locator(".tip").inner_text()
    assert said == f"{row['node_name']} · 23 Nov 00:00 UTC · {labels[row['cells'][0]]}"


def test_timelines_are_read_by_keyboard(page, report):
    block = ready(page, "fleet")
    block.locator(".lanes").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    row = report["node_timeline"][1]
    status = page.locator("#status")
    assert status.text_content().startswith(f"{row['node_name']} · 23 Nov 00:00 UTC")
    page.keyboard.press("+")
    assert block.locator("output").text_content() != ""
    page.keyboard.press("0")
    assert block.locator("output").text_content() == ""


def test_an_interruption_on_the_timeline_of_a_job_shows_its_evidence(page, report):
    block = ready(page, "lanes")
    lane = report["job_timeline"][0]
    ends = [row for row in report["interruptions"] if row["job"] == lane["job"]]
    at = min(row["interrupted_at"] for row in ends)
    block.locator(".lanes").focus()
    hours = (int(at[8:10]) - 23) * 24 + int(at[11:13])
    bucket = hours * 4 + int(at[14:16]) // 15
    for key, times in (("Shift+ArrowRight", bucket // 16), ("ArrowRight", bucket % 16 + 1)):
        for _ in range(times):
            page.keyboard.press(key)
    said = page.locator("#status").text_content()
    assert said.startswith(f"{lane['job_name']} · ")
    assert "GPU has fallen off the bus" in said
    assert "logs/worker-0.log:1200" in said


def test_lanes_of_a_job_show_attempts_checkpoints_and_ends(page, report):
    block = ready(page, "lanes")
    shown = len(block.locator(".names li").all())
    assert shown == 15
    assert block.locator("svg path.saved").count() == 1
    assert block.locator("svg path.end").count() == 1
    block.get_by_role("button", name=re.compile("^Show all")).click()
    assert block.locator(".names li").count() == len(report["job_timeline"])
