"""Flags, environment and goodput.toml; what errors look like; the library."""

import pytest

import goodput as package
from goodput.lake import Lake


def test_flags_beat_the_environment_which_beats_the_file(goodput, tmp_path, tables, monkeypatch):
    lakes = {name: tmp_path / name for name in ("flag", "environment", "file")}
    for lake in lakes.values():
        Lake.open(lake, create=True)
    config = tmp_path / "goodput.toml"
    config.write_text(f'lake = "{lakes["file"]}"\ncluster = "c7"\n')

    goodput("--config", config, "import", tables, lake=False)
    monkeypatch.setenv("GOODPUT_LAKE", str(lakes["environment"]))
    goodput("--config", config, "import", tables, lake=False)
    goodput("--lake", lakes["flag"], "--config", config, "import", tables, lake=False)

    for lake in lakes.values():
        assert Lake.open(lake).snapshot().tables == ["jobs", "node_conditions", "nodes"]
    assert goodput("query", "-o", "csv", "select cluster from raw.jobs", lake=False).stdout == (
        "cluster\nc7\n"
    )


def test_an_unknown_setting_gets_a_hint(goodput, tmp_path):
    config = tmp_path / "goodput.toml"
    config.write_text('lakes = "x"\n')
    result = goodput("--config", config, "build", lake=False)

    assert result.exit_code == 2
    assert "has an unknown setting 'lakes'; did you mean 'lake'?" in result.stderr


def test_an_unexpected_error_is_one_line_and_debug_shows_all(goodput, tables, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr("goodput.sources.typed.import_files", broken)
    result = goodput("import", tables)
    debugged = goodput("--debug", "import", tables)

    assert result.exit_code == 1
    assert result.stderr == (
        "error: ZeroDivisionError: a (run `goodput --debug …` for the details)\n"
    )
    assert isinstance(debugged.exception, ZeroDivisionError)


def test_the_public_names_are_there():
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.usefixtures("built")
def test_the_warehouse_answers_in_frames(tmp_path):
    warehouse = package.open(tmp_path / "lake")

    assert warehouse.metrics("goodput_paid")["value"].to_list() == [0.5]
    assert warehouse.ledger(node="n1")["unit_ms"].sum() == 5040 * 120 * 60_000
    assert warehouse.ledger(job="J1").height == 5
    assert warehouse.sql("select ? + 1 as n", [41])["n"].to_list() == [42]
    assert warehouse.explain("J1").totals[0]["state"] == "A.productive"
    assert ("raw", "steps") in warehouse.tables().select("schema_name", "table_name").rows()
