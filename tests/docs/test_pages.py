"""Every page: its links lead somewhere, what it names exists, and generated pages are current."""

import re
import runpy
import tomllib

import pytest
from fenced import PAGES, ROOT, links

from goodput.cli import VERBS

IDS = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_to_files_that_exist(page):
    assert [target for target in links(page) if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_verb_that_is_named_exists(page):
    in_code = r"(?:`|^ {4}|\.venv/bin/)goodput (?:--lake \S+ )?([a-z][a-z-]*)\b"
    named = re.findall(in_code, page.read_text(), re.MULTILINE)
    assert sorted(set(named) - set(VERBS)) == []


def test_the_data_dictionary_is_current():
    made = runpy.run_path(str(ROOT / "docs" / "make_data_dictionary.py"))
    assert made["PAGE"].read_text() == made["dictionary_page"](), "run `make docs`"


def test_the_list_of_exported_metrics_is_current():
    made = runpy.run_path(str(ROOT / "docs" / "make_prometheus_metrics.py"))
    assert made["PAGE"].read_text() == made["metrics_page"](), "run `make docs`"


def test_the_map_names_only_places_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = re.findall(
        r"`((?:goodput|sql|docs|pipelines|notebooks|tests|dashboards)/[\w/.]+)`", text
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_map_names_every_folder_of_sql():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    folders = [path.name for path in (ROOT / "sql").iterdir() if path.is_dir()]
    assert sorted(name for name in folders if f"`{name}`" not in text) == []


def test_the_map_shows_the_layers_that_are_enforced():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    [layers] = [
        contract["layers"]
        for contract in config["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    ]
    text = (ROOT / "ARCHITECTURE.md").read_text()
    shown = [line.strip() for line in text.split("```text\n")[-1].split("```")[0].splitlines()]
    assert shown == layers
