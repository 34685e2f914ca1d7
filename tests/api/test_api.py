"""`goodput.open`: what notebooks and scripts ask, and how they see the answers."""

import re
import shutil
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from fenced import blocks

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
from made_up_week import write_warehouse

import goodput
from goodput._resources import resource_dir
from goodput.errors import NoData, UsageError
from goodput.lake import Lake
from goodput.texts import html, html_table
from goodput.warehouse.connection import connect
from goodput.warehouse.results import MEASURE_SCOPES, MEASURES

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x07&\"'"
SHOWN = "&lt;img src=x onerror=alert(1)&gt;\\x202e\\x07&amp;&#34;&#39;"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A lake whose last build is a made-up week."""
    week = write_warehouse(tmp_path_factory.mktemp("week"))
    shutil.copy(week, week.parent / "lake" / "warehouse.duckdb")
    return week.parent / "lake"


@pytest.fixture(scope="module")
def lake(folder):
    return goodput.open(folder)


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = set()
        self.feed(text)

    def handle_starttag(self, tag, _):
        self.found.add(tag)


def test_answers_are_polars_frames(lake):
    assert isinstance(lake.sql("select 1 as one"), pl.DataFrame)
    assert lake.sql("select ? as given", ["x"]).rows() == [("x",)]
    assert lake.metrics("goodput_paid").columns[:4] == ["metric", "scope", "scope_value", "value"]
    assert lake.ledger().columns[0] == "cluster"
    assert lake.tables().columns == ["schema_name", "table_name", "columns"]


def test_the_ledger_can_be_asked_by_the_name_or_the_key_of_a_job_or_node(lake):
    [(key, name)] = lake.sql("select job, name from staged.jobs order by job limit 1").rows()
    [(uid, node)] = lake.sql("select node_uid, name from staged.nodes limit 1").rows()

    by_key = lake.ledger(job=key)
    assert by_key.height > 0
    assert set(by_key["job"]) == {key}
    assert lake.ledger(job=name).rows() == by_key.rows()
    assert lake.ledger(node=node).rows() == lake.ledger(node=uid).rows()
    assert lake.ledger(cluster="lab", node=uid, job=key).height <= by_key.height


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"job": "nobody's"}, 'there is no job "nobody\'s" in this build; known are '),
        ({"job": "speech-run"}, "there is no job 'speech-run' in this build; did you mean "),
        ({"node": "h100-0x"}, "there is no node 'h100-0x' in this build; did you mean h100-"),
        ({"cluster": "elsewhere"}, "there is no cluster 'elsewhere' in this build; known are lab$"),
    ],
)
def test_a_ledger_of_what_the_build_does_not_know_is_refused(lake, asked, words):
    with pytest.raises(UsageError, match=words):
        lake.ledger(**asked)


def test_a_known_job_without_time_in_the_window_has_no_rows(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "lake")
    with connect(copy / "warehouse.duckdb") as con:
        con.execute(
            "insert into staged.jobs by name select * replace ('J-new' as job, 'new' as name,"
            " 'ml' as namespace) from (select * from staged.jobs limit 1)"
        )
    lake = goodput.open(copy)

    assert [lake.ledger(job=name).height for name in ("J-new", "new", "ml/new")] == [0, 0, 0]


def test_metrics_can_be_asked_by_scope(lake):
    pools = lake.metrics("goodput_paid", scope="pool")

    assert set(pools["scope"]) == {"pool"}
    assert pools.height == 2
    with pytest.raises(UsageError, match="did you mean goodput_paid"):
        lake.metrics("goodput_payed")
    with pytest.raises(UsageError, match="no scope 'class' of goodput_paid in this build; known"):
        lake.metrics("goodput_paid", scope="class")


def test_survival_is_kaplan_and_meiers_curve(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "lake")
    with connect(copy / "warehouse.duckdb") as con:
        con.execute("delete from rollups.survival")
        con.execute(
            "insert into rollups.survival by name select 'lab' as cluster, 'attempt' as measure,"
            " 'fleet' as scope, '' as scope_value, 7200000 as span_ms, 10 as risk_count,"
            " 1 as event_count, 0.9 as survival, 0.5 as low, 0.98 as high"
        )

    assert goodput.open(copy).survival().to_dicts() == [
        {
            "cluster": "lab",
            "scope_value": "",
            "hours": 2.0,
            "survival": 0.9,
            "low": 0.5,
            "high": 0.98,
            "at_risk": 10,
            "events": 1,
        }
    ]
    assert goodput.open(copy).survival(scope="job_size").height == 0
    with pytest.raises(UsageError, match="no measure 'repairs' in this build; did you mean repair"):
        goodput.open(copy).survival("repairs")
    with pytest.raises(UsageError, match="no scope 'cloud' in this build; known are action, class"):
        goodput.open(copy).survival(scope="cloud")


def test_the_measures_of_survival_are_those_of_the_model():
    model = (resource_dir("sql") / "36_rollups" / "368_waits.sql").read_text()

    told = re.findall(r"(?:select\n?\s+(?:\w+\.)?cluster,\s+)'(\w+)'", model)
    assert dict.fromkeys(told) == dict.fromkeys(MEASURES)
    assert set(re.findall(r"'scope': '(\w+)'", model)) == set(MEASURE_SCOPES)


def test_a_lake_shows_what_was_built_from_it(lake, folder):
    page = lake._repr_html_()

    assert repr(lake) == f"Warehouse({str(folder)!r})"
    assert "<td>window start</td><td>2026-11-23 00:00:00</td>" in page
    [paid] = lake.metrics("goodput_paid", scope="fleet")["value"]
    assert f"<td>lab</td><td>goodput_paid</td><td>{paid:.6g}</td>" in page
    assert Tags(page).found == {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}


def test_a_lake_without_a_build_says_so_and_still_shows_itself(tmp_path):
    Lake.open(tmp_path / "lake", create=True)
    lake = goodput.open(tmp_path / "lake")

    assert "Nothing has been built" in lake._repr_html_()
    for ask in (lake.metrics, lake.report, lambda: lake.explain("x"), lake.survival):
        with pytest.raises(NoData, match="goodput build"):
            ask()


def test_a_report_shows_its_first_screen_in_a_frame_without_script(lake):
    report = lake.report()

    assert repr(report) == "Report('Goodput Week 48, 2026: 74.4% of paid GPU time')"
    assert report.data["window"]["iso_week"] == "2026-W48"
    assert report.markdown().startswith("# Goodput Week 48, 2026")
    assert report.html().startswith("<!doctype html>")
    page = report._repr_html_()
    assert Tags(page).found == {"iframe"}
    assert page.startswith('<iframe sandbox=""')


def test_an_explanation_shows_its_losses_and_folds_its_evidence(lake):
    [(job,)] = lake.sql(
        "select job from ledger.interruptions where lost_gpu_ms > 0 order by job limit 1"
    ).rows()
    found = lake.explain(job)
    page = found._repr_html_()

    assert f"<h4>job {job} in cluster lab</h4>" in page
    assert page.count("<summary>Evidence: ") == len(found.interruptions)
    assert f"<summary>Timeline, {len(found.timeline)} rows (UTC)</summary>" in page
    assert "<th>lost gpu hours</th>" in page


def test_an_explanation_of_a_node_names_it_and_shows_the_conditions_of_its_outages(lake):
    [(node, name)] = lake.sql(
        "select outage.node_uid, node.name from ledger.outages as outage"
        " join staged.nodes as node using (cluster, node_uid)"
        " where outage.node_uid in (select node_uid from ledger.interruptions)"
        " and not outage.planned order by outage.started_ms limit 1"
    ).rows()
    found = lake.explain(node)
    page = found._repr_html_()

    assert {row["node_name"] for row in found.interruptions} == {name}
    assert page.count(f"<td>{name}</td>") >= len(found.interruptions) > 0
    for outage in found.outages:
        told = f"outage of {outage['started_at']}, {len(outage['conditions'])} of them</summary>"
        assert told in page
    assert "<b>Outages</b>" in page


def test_names_of_a_hostile_cluster_are_text_everywhere(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "lake")
    with connect(copy / "warehouse.duckdb") as con:
        con.execute("update staged.jobs set name = ? || name", [HOSTILE])
        con.execute("update ledger.interruptions set outcome = ?, rule = ?", [HOSTILE] * 2)
        con.execute("update ledger.evidence set value = ?, origin = ?", [HOSTILE] * 2)
    lake = goodput.open(copy)
    [(job,)] = lake.sql(
        "select job from ledger.interruptions where lost_gpu_ms > 0 order by job limit 1"
    ).rows()

    page = lake.explain(job)._repr_html_()
    assert SHOWN in page
    assert "img" not in Tags(page).found
    assert "img" not in Tags(lake.report()._repr_html_()).found
    assert "<img" not in lake.sql("select name from staged.jobs")._repr_html_()


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (0, "0"),
        (True, "True"),
        (1234.5678, "1,234.57"),
        (["a", "<b>"], "a, &lt;b&gt;"),
        (datetime(2026, 3, 2, 10, tzinfo=UTC), "2026-03-02 10:00:00"),
        (HOSTILE, SHOWN),
    ],
)
def test_cells_are_short_and_escaped(value, cell):
    page = str(html_table([{"a": value, "b": 1}, {"a": "x", "b": 2}], ("a", "b")))

    assert page.startswith(
        f"<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>{cell}<"
    )


def test_columns_in_which_nothing_stands_are_left_out():
    page = html_table([{"a": None, "some_thing": 1}], ("a", "some_thing", "never"))

    assert page == html(
        "table",
        html("thead", html("tr", html("th", "some thing"))),
        html("tbody", html("tr", html("td", 1))),
    )


def test_the_page_about_the_api_shows_what_is_there(lake, monkeypatch, folder):
    monkeypatch.chdir(folder.parent)
    programs = blocks("docs/python-api.md", "python")
    [job] = lake.sql("select job from ledger.interruptions limit 1")["job"]
    names = {}
    for program in programs:
        exec(program.replace("llama-70b", job), names)
    shown = set(re.findall(r"lake\.(\w+)\(", "\n".join(programs)))
    public = {name for name in dir(goodput.Warehouse) if not name.startswith("_")}

    assert shown == public
