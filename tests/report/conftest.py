"""A made-up week, its report, and a browser to look at it with."""

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from made_up_week import remake_report, write_warehouse
from tables import bench, make_empty_warehouse, open_warehouse

from goodput.report import write_report
from goodput.warehouse.build import restore_variables
from goodput.warehouse.connection import connect

CHROMIUM = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# What a cluster may call things: markup, the end of a script, quotes, a reversed reading
# direction, a command, control characters, a formula.
HOSTILE = (
    "<script>window.hacked = 1</script>"
    "</script><img src=x onerror='window.hacked = 1'>"
    "\"';-- ${7*7} {{7*7}} $(touch hacked) `touch hacked` | *bold* [x](javascript:hacked)"
    "\u202etxet desrever\u202c\x00\x07\x1b[31m\r\n=cmd|' /C calc'!A0 "
)
MORE_THAN_ANYONE_READS = "long" * 2500


@pytest.fixture(scope="session")
def empty_path(tmp_path_factory):
    """A build of a lake without a row."""
    return make_empty_warehouse(tmp_path_factory.mktemp("empty"))


@pytest.fixture(scope="session")
def empty_warehouse(empty_path):
    con = open_warehouse(shutil.copy(empty_path, empty_path.with_name("bench.duckdb")))
    yield con
    con.close()


@pytest.fixture
def model(empty_warehouse):
    with bench(empty_warehouse, rebuilds=("rollups", "report", "ledger.window_totals")) as tables:
        yield tables


@pytest.fixture(scope="session")
def week(tmp_path_factory):
    """The warehouse of a made-up week."""
    return write_warehouse(tmp_path_factory.mktemp("week"))


@pytest.fixture(scope="session")
def files(week, tmp_path_factory):
    return write_report(week, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def report(files):
    return json.loads(files.json.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def hostile_files(week, tmp_path_factory):
    """The report of the same week in a cluster that calls everything by a hostile name."""
    path = tmp_path_factory.mktemp("hostile") / "week.duckdb"
    shutil.copy(week, path)
    con = connect(path)
    restore_variables(con)
    for table, columns in {
        "staged.jobs": ("name", "namespace", "team"),
        "staged.nodes": ("name", "pool"),
        "staged.pods": ("namespace", "job"),
        "ledger.device_groups": ("node_name", "pool"),
        "ledger.node_pieces": ("pool",),
        "ledger.interruptions": ("job", "outcome", "class", "rule"),
        "ledger.evidence": ("job", "source", "value", "role", "origin"),
    }.items():
        for column in columns:
            # The original behind the hostile text keeps keys distinct.
            con.execute(f'update {table} set "{column}" = ? || "{column}"', [HOSTILE])
    con.execute("update staged.jobs set job = ? || job", [HOSTILE])
    con.execute("update staged.jobs set name = name || ?", [MORE_THAN_ANYONE_READS])
    con.execute("update ledger.evidence set value = value || ?", [MORE_THAN_ANYONE_READS])
    con.execute("update ledger.interruptions set competing = [?]", [HOSTILE])
    remake_report(con)
    con.close()
    return write_report(path, tmp_path_factory.mktemp("hostile-report"))


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium under Playwright; CI installs it."""
    executable = next((path for path in CHROMIUM if path), None)
    if executable is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        chromium.close()


class Page:
    """A page with a record of what it complained about and what it asked the network for."""

    def __init__(self, browser, path, **context):
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | context)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())


@pytest.fixture
def open_page(browser):
    opened = []

    def open_one(path, **context):
        opened.append(Page(browser, path, **context))
        return opened[-1]

    yield open_one
    for page in opened:
        page.context.close()
