"""`goodput demo` end to end: the files, the real collectors, the build, the report, the table."""

import pytest
from grafana_queries import all_expressions
from scraped import scraped

from goodput.errors import UsageError
from goodput.exposition import exposition
from goodput.synth.compare import Cell, Comparison, Fact, render
from goodput.synth.demo import run_demo
from goodput.synth.loop.account import explain
from goodput.warehouse.connection import connect
from goodput.warehouse.export import read_families

HOUR = 5040 * 3_600_000


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    said = []
    result = run_demo(out, 1, said.append)
    return out, result, said


def test_the_ledger_is_what_was_injected_to_the_millisecond(demo):
    _, result, _ = demo
    wrong = {(c.state, c.cause): c.difference / HOUR for c in result.comparison.cells}
    assert {k: v for k, v in wrong.items() if v} == {}
    assert result.failed_checks == []


def test_success_and_availability_are_the_injected_ones(demo):
    _, result, _ = demo
    facts = {fact.name: (fact.injected, fact.computed) for fact in result.comparison.facts}
    assert len(facts) == 7
    for injected, computed in facts.values():
        assert computed == pytest.approx(injected, abs=1e-12)


def test_it_leaves_artefacts_a_lake_and_a_report(demo):
    out, result, said = demo
    assert result.report == out / "report" / "report.html"
    assert result.report.stat().st_size < 2_000_000
    folders = sorted(p.name for p in out.iterdir() if p.is_dir())
    assert folders == ["artefacts", "lake", "loop", "report"]
    assert len(said) == 6


def test_every_panel_of_the_dashboards_finds_something_in_its_export(demo, tmp_path):
    out, _, _ = demo
    with connect(out / "lake" / "warehouse.duckdb", read_only=True) as con:
        text = exposition(read_families(con))
    with scraped(tmp_path, text) as prometheus:
        found = {asked: prometheus.ask(asked) for asked in all_expressions("default")}
    assert len(found) > 50
    # The demo's dump lists no events, so nobody knows what Karpenter refused.
    assert {asked.partition("{")[0] for asked, rows in found.items() if not rows} == {
        "goodput_repair_blocked_seconds"
    }


def test_a_day_through_the_live_collectors_has_nothing_wrong(demo):
    _, result, said = demo
    assert result.played.account.wrong == 0
    assert "twice" in said[-1]
    assert (
        explain(result.played.account)
        .splitlines()[-3]
        .endswith(
            "to the millisecond. Nothing is wrong: what nobody saw is A.unknown or as it looked,"
            " the rest exact."
        )
    )


def test_only_folders_of_a_demo_are_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match="give another --out"):
        run_demo(tmp_path, 1, print)
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_the_table_shows_what_cannot_be_seen_apart_from_what_is_wrong():
    cells = [
        Cell("A.lost.abandoned", "user.cancel", 3 * HOUR, 2 * HOUR, 2 * HOUR),
        Cell("A.unknown", "unk.obs_gap", 0, HOUR, HOUR),
        Cell("I.no_demand", "", 6 * HOUR, 6 * HOUR, 6 * HOUR),
    ]
    text = render(Comparison(cells, [Fact("job success", 0.75, None)]))
    rows = {line.split("  ")[0]: line.split()[-4:] for line in text.splitlines() if line}
    assert rows["A.lost.abandoned"] == ["3.0000", "-1.0000", "2.0000", "0.0000"]
    assert rows["A.unknown"] == ["0.0000", "1.0000", "1.0000", "0.0000"]
    assert rows["total"] == ["9.0000", "0.0000", "9.0000", "0.0000"]
    assert text.endswith(
        "All 3 pairs of state and cause are what was injected, to the millisecond."
    )


def test_the_table_says_how_much_is_wrong():
    cells = [Cell("A.init", "", HOUR, HOUR, 0), Cell("A.restore", "", HOUR, HOUR, 2 * HOUR)]
    text = render(Comparison(cells, []))
    assert text.splitlines()[-1] == (
        "2 of 2 pairs of state and cause differ: 1.0000 GPU-hours, 50.000 % of what is paid,"
        " are in another one."
    )
