"""A folder of the user's own laid over the shipped catalogue: in Python, SQL and settings."""

import io
import json

import duckdb
import pytest
from click.testing import CliRunner

from goodput._resources import use_catalog
from goodput.cli import main
from goodput.errors import UsageError
from goodput.logs.classify import classify_log
from goodput.logs.formats import load_formats
from goodput.logs.redact import redact
from goodput.logs.signatures import load_signatures, match
from goodput.warehouse.catalog_tables import load_catalog, make_signature_macros

HEADING = "id,precedence,source,regex,class,role,strength,example\n"
OWN = HEADING + (
    "own.acme,5,kernel,acme-gpu: device \\d+ fell,gpu.lost,root,3,acme-gpu: device 3 fell off\n"
    "g.assert,8010,python,AssertionError:,app.data,root,2,AssertionError: x\n"
)
REASON = (
    "scope,type,bad_status,reason,class,domain,role,strength,blocking,degrade,notes\n"
    "node_condition,AcmeHealthy,False,*,gpu.lost,infra,root,3,1,0,our agent\n"
)


@pytest.fixture
def own(tmp_path):
    """A folder that is in use while the test runs."""
    folder = tmp_path / "catalog"
    folder.mkdir()
    (folder / "log_signatures.csv").write_text(OWN)
    (folder / "k8s_reasons.csv").write_text(REASON)
    (folder / "redactions.toml").write_text(
        "[part]\nnumber = '\\d{6}'\n"
        "[[redaction]]\nlabel = \"badge\"\nregex = '''badge-(?&number)'''\n"
        "[[redaction]]\nlabel = \"card\"\nregex = 'K\\d+'\nholds = 'card: k'\n"
    )
    (folder / "formats").mkdir()
    (folder / "formats" / "own.toml").write_text(
        "name = \"own\"\n[[pattern]]\nevent = \"step\"\nregex = '''own step (?P<step>\\d+)'''\n"
    )
    use_catalog(folder)
    yield folder
    use_catalog(None)


@pytest.mark.usefixtures("own")
def test_a_users_signature_is_found_and_takes_the_place_of_a_shipped_one():
    assert match(b"acme-gpu: device 3 fell off").id == "own.acme"
    assert match(b"AssertionError: x").failure_class == "app.data"
    use_catalog(None)
    assert match(b"acme-gpu: device 3 fell off") is None
    assert match(b"AssertionError: x").failure_class == "app.code"


@pytest.mark.usefixtures("own")
def test_formats_and_redactions_are_added():
    assert "own" in [f.name for f in load_formats()]
    assert redact("badge-123456 of a@b.example") == "[badge] of [e-mail]"
    assert (redact("Card: K12"), redact("node K12")) == ("Card: [card]", "node K12")
    verdict = classify_log(io.BytesIO(b"own step 1\nown step 2\nacme-gpu: device 3 fell off\n"))
    assert (verdict.format, verdict.last.failure_class) == ("own", "gpu.lost")


@pytest.mark.usefixtures("own")
def test_sql_judges_by_the_same_rows():
    with duckdb.connect() as con:
        load_catalog(con)
        make_signature_macros(con)
        found = con.sql(
            "select log_signature('acme-gpu: device 3 fell off'),"
            " (select class from catalog.log_signatures where id = 'g.assert'),"
            " (select class from catalog.k8s_reasons where type = 'AcmeHealthy')"
        )
        assert found.fetchall() == [("own.acme", "app.data", "gpu.lost")]
        shipped = len(load_signatures().signatures)
        assert con.sql("select count(*) from catalog.log_signatures").fetchall() == [(shipped,)]


def test_without_lines_the_macros_over_signatures_give_null():
    with duckdb.connect() as con:
        make_signature_macros(con, have_lines=False)
        found = con.sql("select log_signature('CUDA error'), signature_code('g.assert', 'x')")
        assert found.fetchall() == [(None, None)]


def test_the_folder_is_a_setting(own, tmp_path):
    use_catalog(None)
    log = tmp_path / "x.log"
    log.write_text("acme-gpu: device 3 fell off\n")
    config = tmp_path / "goodput.toml"
    config.write_text(f'catalog = "{own}"\n')
    words = ["classify", "-o", "json", str(log)]
    by_file = CliRunner().invoke(main, ["--config", str(config), *words])
    by_variable = CliRunner().invoke(main, words, env={"GOODPUT_CATALOG": str(own)})
    without = CliRunner().invoke(main, words)
    classes = [json.loads(r.stdout)[0]["class"] for r in (by_file, by_variable, without)]
    assert classes == ["gpu.lost", "gpu.lost", None]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("states.csv", "a\n1\n", "states.csv extends nothing"),
        ("log_signatures.csv", "id,regex\nx,y\n", "has no column precedence"),
        ("redactions.toml", "[[redaction]]\nlabel = 'x'\n", "each .* has a label and a regex"),
        ("redactions.toml", "[[redaction]]\nlabel = 'x'\nregex = '(?&y)'\n", "cannot be used: 'y'"),
        ("redactions.toml", "part = 1\nredaction = []\n", "redactions.toml cannot be used"),
        (
            "log_signatures.csv",
            HEADING + "x,1,any,(a)\\1bc,gpu.lost,root,3,e\n",
            "does not compile",
        ),
        ("log_signatures.csv", HEADING + "x,1,any,\\d+,gpu.lost,root,3,e\n", "no fixed text"),
        ("log_signatures.csv", HEADING + "x,1,any,abc,gpu.gone,root,3,e\n", "no class of taxonomy"),
        ("log_signatures.csv", HEADING + "x,1,any,abc,gpu.lost,boss,3,e\n", "role is one of"),
        ("log_signatures.csv", HEADING + "x,top,any,abc,gpu.lost,root,3,e\n", "'x' cannot be used"),
    ],
)
def test_a_faulty_folder_is_named_with_its_fault(own, name, text, message):
    (own / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        _use_all(own)


def _use_all(folder):
    use_catalog(folder)
    load_signatures()
    redact("x")


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="is no folder"):
        use_catalog(tmp_path / "none")
