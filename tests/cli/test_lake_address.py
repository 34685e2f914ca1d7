"""The verbs over a lake in a bucket: credentials from the environment, the build for everybody."""

import pytest
from click.testing import CliRunner

from goodput.cli import main

CHECK = "select count(*)::int as n from raw.jobs"


@pytest.fixture
def aws(s3, monkeypatch, tmp_path):
    """The environment as a pod or a shell of S3's users has it, on a new machine each call."""
    s3.filesystem().create_dir("fleet")
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    machines = iter(range(100))

    def move():
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"machine-{next(machines)}"))

    move()
    return move


def goodput(*words):
    return CliRunner().invoke(main, ["--lake", "s3://fleet/lake", *map(str, words)])


def test_what_one_machine_builds_another_reads(aws, models, tables):
    assert models.is_dir()
    assert goodput("import", tables).exit_code == 0
    built = goodput("build", "--week", "2026-W10")
    assert (built.exit_code, built.stdout) == (0, ""), built.stderr
    here = goodput("metrics", "-o", "csv").stdout
    aws()
    assert goodput("metrics", "-o", "csv").stdout == here
    assert goodput("query", "-o", "csv", CHECK).stdout == "n\n1\n"
    lake = goodput("query", "-o", "csv", "select lake from meta.build").stdout
    assert lake == "lake\ns3://fleet/lake\n"
    doctor = goodput("doctor", "-o", "csv")
    assert doctor.exit_code == 0
    assert doctor.stderr.splitlines()[0] == "lake s3://fleet/lake: reachable, writable"
    assert "2026-03-02 00:00 to 2026-03-09 00:00" in doctor.stderr.splitlines()[1]
    compacted = goodput("compact", "--keep-hours", "0")
    assert compacted.exit_code == 0
    assert goodput("query", "-o", "csv", CHECK).stdout == "n\n1\n"
    assert goodput("explain", "J1").stdout == goodput("explain", "J1").stdout != ""


def test_who_may_only_read_is_told(aws, s3, monkeypatch, tables):
    aws()
    assert goodput("import", tables).exit_code == 0
    for name, value in s3.environment("reader").items():
        monkeypatch.setenv(name, value)
    doctor = goodput("doctor", "-o", "csv")
    assert doctor.exit_code == 0
    assert doctor.stderr.splitlines()[0] == "lake s3://fleet/lake: reachable, READ-ONLY"
    refused = goodput("import", tables, "--cluster", "other")
    assert refused.exit_code == 5
    assert refused.stderr.splitlines()[-1].startswith(
        "error: the lake s3://fleet/lake cannot be reached: AccessDenied"
    )


@pytest.mark.parametrize(
    ("address", "code", "said"),
    [
        ("s3://fleet/none", 4, "there is no lake at s3://fleet/none; make one: "),
        ("s3://absent/lake", 5, "NoSuchBucket: The specified bucket does not exist"),
        ("s3://fleet/x?colour=red", 2, "s3://fleet/x cannot be opened (UnknownConfigurationKey"),
        ("s4://fleet/x", 2, "an address with s4:// cannot be opened; the forms are s3://"),
        ("s3://", 2, "an address with s3:// cannot be opened; the forms are s3://"),
    ],
)
def test_an_address_that_does_not_do_is_a_sentence(aws, address, code, said):
    aws()
    result = CliRunner().invoke(main, ["--lake", address, "metrics"])
    assert result.exit_code == code
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_server_that_is_not_there_is_a_sentence(aws, monkeypatch):
    aws()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    result = goodput("doctor")
    assert result.exit_code == 5
    assert "the lake s3://fleet/lake cannot be reached: " in result.stderr
