"""Writes the pictures of docs/ anew: the report of the week that `goodput demo` simulates.

Usage: python docs/make_screenshots.py demo/report/report.html
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).resolve().parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
DESK = {"width": 1280, "height": 900}
PHONE = {"width": 400, "height": 800}

# A picture, the element that it shows (none: the screen), the colours, the size of the screen.
PICTURES = (
    ("report.png", None, "light", DESK),
    ("report-dark.png", None, "dark", DESK),
    ("report-phone.png", None, "light", PHONE),
    ("report-waterfall.png", "#waterfall .chart", "light", DESK),
    ("report-heat.png", "#causes .scroll:has(.heat)", "light", DESK),
    ("report-fleet.png", "#timeline .fleet", "light", DESK),
    ("report-jobs.png", "#jobs .fleet", "light", DESK),
    ("report-advice.png", "#advice .scroll", "light", DESK),
)


def shoot(page: Page, name: str, element: str | None) -> None:
    """One picture of a loaded page."""
    target = str(DOCS / name)
    if element is None:
        page.screenshot(path=target)
        return
    # What sticks to the top of the screen would lie over the picture.
    page.add_style_tag(content=".filters { position: static !important }")
    page.locator(element).first.screenshot(path=target)


def main(report: str) -> None:
    """Opens the report once a picture."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        sys.exit("no Chromium on this machine (apt-get install chromium)")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=FLAGS)
        for name, element, colours, screen in PICTURES:
            page = browser.new_page(viewport=screen, color_scheme=colours)
            page.goto(Path(report).resolve().as_uri())
            page.locator("[data-figure=waterfall] .point").first.wait_for()
            page.locator("[data-lanes=lanes] path.end").first.wait_for()
            shoot(page, name, element)
            page.close()
            print(f"docs/{name}")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
