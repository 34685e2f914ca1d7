"""What the guides tell a newcomer to write is written here as they say it, and works."""

import csv
import io
import json
import subprocess
import sys
import tomllib
import types

import pytest
from fenced import ROOT, blocks
from tables import ModelBench, make_empty_warehouse, open_warehouse

from goodput._resources import catalog_dir, use_catalog
from goodput.contract import raw_table
from goodput.lake import Lake
from goodput.logs import LogHints, read_log
from goodput.logs.signatures import load_signatures
from goodput.sources.typed import import_files
from goodput.warehouse.models import find_models, parse_model

LOG_FORMAT = "docs/guides/add-a-log-format.md"
FAILURE_RULE = "docs/guides/add-a-failure-rule.md"
METRIC = "docs/guides/add-a-metric.md"
SOURCE = "docs/guides/add-a-source.md"


def test_the_log_format_of_the_guide_reads_the_log_of_the_guide(tmp_path):
    [toml] = blocks(LOG_FORMAT, "toml")
    [log] = blocks(LOG_FORMAT, "text")
    (tmp_path / "mytrainer.toml").write_text(toml)
    (tmp_path / "mytrainer.log").write_text(log)
    result = read_log(tmp_path / "mytrainer.log", LogHints(formats=(tmp_path,)))
    assert result.format == "mytrainer"
    assert [row["step"] for row in result.tables["log_checkpoints"]] == [1200]
    assert result.step_lines == {"mytrainer": 1}


def test_the_examples_of_the_guides_format_are_lines_of_its_log():
    [toml] = blocks(LOG_FORMAT, "toml")
    [log] = blocks(LOG_FORMAT, "text")
    patterns = tomllib.loads(toml)["pattern"]
    examples = [example["line"] for item in patterns for example in item["example"]]
    assert examples == log.splitlines()


def test_the_signature_of_the_guide_fits_the_table_and_names_its_example(tmp_path):
    shipped = catalog_dir() / "log_signatures.csv"
    [added] = blocks(FAILURE_RULE, "csv")
    header, row = added.splitlines()
    assert header == shipped.read_text().splitlines()[0]
    (tmp_path / "log_signatures.csv").write_text(header + "\n" + row + "\n")
    [entry] = csv.DictReader(io.StringIO(added))
    use_catalog(tmp_path)
    try:
        found = load_signatures().match(entry["example"].encode())
        other = load_signatures().match(entry["counter_example"].encode())
    finally:
        use_catalog(None)
    assert (found.id, found.failure_class, other) == ("gpu.example_lost", "gpu.lost", None)


def test_the_tables_that_the_guide_names_are_in_the_catalogue():
    text = (ROOT / FAILURE_RULE).read_text()
    names = [word for word in text.replace("`", " ").replace(",", " ").split() if ".csv" in word]
    named = {name.rsplit("/", 1)[-1].rstrip(".;:") for name in names}
    assert sorted(name for name in named if not (catalog_dir() / name).exists()) == []


@pytest.fixture(scope="module")
def empty_warehouse(tmp_path_factory):
    con = open_warehouse(make_empty_warehouse(tmp_path_factory.mktemp("guide")))
    yield con
    con.close()


def test_the_metric_of_the_guide_passes_its_own_test(tmp_path, empty_warehouse):
    [sql] = blocks(METRIC, "sql")
    path = tmp_path / "40_metrics" / "495_restarts.sql"
    path.parent.mkdir()
    path.write_text(sql)
    model = parse_model(path)
    assert model.grain == ["cluster", "metric", "scope", "scope_value"]
    [test] = blocks(METRIC, "python")
    program = {}
    exec(test, program)
    bench = ModelBench(empty_warehouse, models=[*find_models(), model])
    program["test_attempts_that_started_before_the_window_do_not_count"](bench)
    columns = [
        empty_warehouse.sql(f"describe {table}").fetchall()
        for table in ("metrics.restarts", "metrics.goodput")
    ]
    assert columns[0] == columns[1]


def test_the_presentation_of_the_guides_metric_has_the_usual_keys():
    [toml] = blocks(METRIC, "toml")
    [(name, entry)] = tomllib.loads(toml).items()
    shipped = tomllib.loads((catalog_dir() / "metrics.toml").read_text())
    assert set(entry) == set(shipped["goodput_paid"])
    assert name not in shipped


def test_the_typed_table_of_the_guide_is_imported(tmp_path):
    [commands] = blocks(SOURCE, "sh")
    write, _, _ = commands.partition(".venv/bin/goodput import")
    subprocess.run(["sh", "-ec", write], cwd=tmp_path, check=True)
    lake = Lake.open(tmp_path / "lake", create=True)
    result = import_files(lake, tmp_path / "tables")
    assert (result.rows_added, result.quarantined) == ({"nodes": 1}, 0)


def test_the_reader_of_the_guide_takes_tickets_and_quarantines_the_rest():
    [program] = blocks(SOURCE, "python")
    reader = types.ModuleType("tickets")
    sys.modules["tickets"] = reader
    exec(program, reader.__dict__)
    ticket = {"ticket": "repair", "node": "n-1", "opened": "2026-03-02T10:00:00Z"}
    text = json.dumps(ticket).encode() + b'\n{"ticket": "repair"}\ntruncat'
    assert reader.sniff(text, "tickets.json")
    assert not reader.sniff(b'{"kind": "Pod"}', "pods.json")
    tables = reader.read(io.BytesIO(text), {"cluster": "c"})
    [row] = tables["node_admin"]
    assert row == {
        "cluster": "c",
        "node_uid": "n-1",
        "kind": "repair",
        "from": "2026-03-02T10:00:00Z",
        "to": None,
    }
    assert set(row) <= set(raw_table("node_admin").columns)
    assert [refused["row_number"] for refused in tables["quarantine"]] == [2, 3]
