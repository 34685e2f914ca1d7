"""The committed dashboards are what the generator writes, and ask only for what is exported."""

import json
import re
import subprocess
import sys

import pytest
from fenced import ROOT
from grafana_queries import BOARDS, expressions

from goodput.exported import exported_names


def read(name):
    return json.loads((ROOT / "dashboards" / "grafana" / f"{name}.json").read_text())


def test_the_committed_files_are_what_the_generator_writes(tmp_path):
    subprocess.run([sys.executable, ROOT / "dashboards" / "grafana", tmp_path], check=True)

    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    committed = {
        path.name: path.read_text() for path in (ROOT / "dashboards" / "grafana").glob("*.json")
    }
    assert written == committed, "run `make docs`"
    assert sorted(written) == [f"{name}.json" for name in sorted(BOARDS)]


@pytest.fixture(scope="module")
def labels(families):
    """The labels of each family of the made-up week; what it has none of has those of its kind."""
    found = {
        family.name: {name for given, _ in family.samples for name in given} for family in families
    }
    scoped = {"cluster", "scope", "scope_value"}
    known = {exported.name: scoped for exported in exported_names().values()}
    bounds = {f"{name}_bound": scoped | {"bound"} for name in known}
    events = {f"{name}_events": scoped for name in known}
    return known | bounds | events | found


@pytest.mark.parametrize("board", BOARDS)
def test_expressions_name_families_and_labels_that_are_exported(board, labels):
    asked = expressions(read(board))
    assert asked
    for text in asked:
        selectors = re.findall(r"\b(goodput_\w+)(?:\{([^}]*)\})?", text)
        assert selectors, text
        for name, matchers in selectors:
            assert name in labels, text
            for label in re.findall(r"(\w+)=~?\"", matchers):
                # A family without a sample in this week has the labels of any other of nodes.
                assert label in (labels[name] or {"cluster", "scope", "scope_value"}), text


@pytest.mark.parametrize("board", BOARDS)
def test_panels_explain_themselves_and_lie_side_by_side(board):
    page = read(board)
    taken = set()
    for panel in page["panels"]:
        grid = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(grid["x"], grid["x"] + grid["w"])
            for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells
        assert panel["type"] == "row" or panel["description"].endswith(".")
    assert len({panel["id"] for panel in page["panels"]}) == len(page["panels"])
    assert page["uid"] == f"goodput-{board}"


@pytest.mark.parametrize("board", BOARDS)
def test_every_panel_asks_the_source_that_the_reader_chose(board):
    page = read(board)
    sources = {json.dumps(panel["datasource"]) for panel in page["panels"] if "targets" in panel}

    assert sources == {'{"type": "prometheus", "uid": "${datasource}"}'}
    assert page["templating"]["list"][0]["type"] == "datasource"
