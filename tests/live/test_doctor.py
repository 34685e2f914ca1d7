"""`goodput doctor` before real sockets: what it says of each source, and its exit code."""

import pytest
from click.testing import CliRunner

from goodput.cli import main


@pytest.fixture
def doctor(tmp_path, lake):
    """Runs it over the lake and the sources of a goodput.toml; gives exit code and what it said."""

    def run(sources):
        config = tmp_path / "goodput.toml"
        config.write_text(f'lake = "{lake.url}"\ncluster = "east"\n{sources}')
        result = CliRunner().invoke(main, ["--config", str(config), "doctor"])
        return result.exit_code, result.stderr.splitlines()

    return run


def kubernetes(kubeconfig, more=""):
    return f'[[source]]\nkind = "kubernetes"\nkubeconfig = "{kubeconfig}"\n{more}\n'


def test_a_cluster_that_lets_us_read_is_fine(doctor, kubeconfig):
    code, said = doctor(kubernetes(kubeconfig))
    assert code == 0
    assert [line for line in said if "kubernetes" in line] == [
        "ok kubernetes east: the API server answers: v1.37.0",
        "ok kubernetes east: this account may read all 5 resources",
    ]


def test_each_right_that_lacks_is_named(doctor, kubeconfig, cluster):
    cluster.forbidden = {"pods", "jobs"}
    code, said = doctor(kubernetes(kubeconfig, 'namespaces = ["a", "b"]'))
    lacking = "list pods in a, list pods in b, list jobs.batch in a, list jobs.batch in b"
    assert code == 0
    assert said[-2:] == [
        f"refused kubernetes east: this account may not {lacking}; see its RBAC",
        "the lake has no rows yet; `goodput import DIR` or `goodput collect` brings some",
    ]


def test_reading_logs_is_a_right_of_its_own(doctor, kubeconfig, cluster):
    cluster.forbidden = {"pods/log"}
    source = kubernetes(kubeconfig).replace("kubernetes", "pod-logs", 1)
    assert (
        "refused pod-logs east: this account may not get pods/log; see its RBAC"
        in (doctor(source)[1])
    )


def test_a_cluster_that_does_not_let_us_in_is_refused_and_named(doctor, kubeconfig, cluster):
    cluster.tokens = set()
    code, said = doctor(kubernetes(kubeconfig))
    assert code == 0
    assert (
        "refused kubernetes east: the API server refused the credentials (401: Unauthorized);"
        " check that the token or certificate is for this cluster and has not run out"
    ) in said


def test_a_cluster_that_is_not_there_is_unreachable(doctor, kubeconfig):
    kubeconfig.write_text(kubeconfig.read_text().replace("http://127.0.0.1:", "http://127.0.0.1:1"))
    code, said = doctor(kubernetes(kubeconfig))
    assert code == 5
    [line] = [line for line in said if line.startswith("unreachable kubernetes east: ")]
    assert "the API server does not answer (" in line
    assert line.endswith("); check the address")
    assert said[-1] == "error: not reachable: kubernetes east"


def test_places_are_touched(doctor, tmp_path):
    (tmp_path / "logs").mkdir()
    code, said = doctor(
        f'[[source]]\nkind = "logs"\npaths = ["{tmp_path}/logs"]\n'
        f'[[source]]\nkind = "checkpoints"\nroots = ["{tmp_path}/gone", "{tmp_path}/logs"]\n'
        f'[[source]]\nkind = "dump"\npaths = ["{tmp_path}/*.json"]\n'
    )
    assert code == 5
    assert said[2:-1] == [
        f"ok logs: {tmp_path}/logs can be read",
        f"unreachable checkpoints: {tmp_path}/gone cannot be read: No such file or directory",
        f"ok checkpoints: {tmp_path}/logs can be read",
        f"unreachable dump: no file or folder has a name like {tmp_path}/*.json; check the pattern",
        "the lake has no rows yet; `goodput import DIR` or `goodput collect` brings some",
    ]


def test_sources_are_looked_at_when_the_lake_is_not_there(tmp_path, kubeconfig):
    config = tmp_path / "goodput.toml"
    config.write_text(f'lake = "{tmp_path}/none"\ncluster = "east"\n{kubernetes(kubeconfig)}')
    result = CliRunner().invoke(main, ["--config", str(config), "doctor"])
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "the lake does not exist yet; the first collect makes it",
        "ok kubernetes east: the API server answers: v1.37.0",
        "ok kubernetes east: this account may read all 5 resources",
    ]
    assert not (tmp_path / "none").exists()


def test_each_failure_has_a_line_of_its_own(tmp_path):
    (tmp_path / "file").write_text("no folder")
    config = tmp_path / "goodput.toml"
    missing = f'[[source]]\nkind = "logs"\npaths = ["{tmp_path}/a", "{tmp_path}/b"]\n'
    config.write_text(f'lake = "{tmp_path}/file/lake"\n{missing}')
    result = CliRunner().invoke(main, ["--config", str(config), "doctor"])
    assert result.exit_code == 5
    impossible = "and none can be made there; check the path and its permissions"
    assert result.stderr.splitlines() == [
        f"unreachable lake: no lake is at {tmp_path}/file/lake, {impossible}",
        f"unreachable logs: {tmp_path}/a cannot be read: No such file or directory",
        f"unreachable logs: {tmp_path}/b cannot be read: No such file or directory",
        "error: not reachable: lake, logs",
    ]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            'kind = "telepathy"',
            "there is no source of kind 'telepathy'; known are checkpoints, dump",
        ),
        ('url = "http://x"', "there is no source of kind None"),
        ('kind = "loki"\nurl = "http://x"', "kind 'loki' cannot be used: Object missing required"),
        ('kind = "logs"\npaths = "a"', "kind 'logs' cannot be used: Expected `array`, got `str`"),
        ('kind = "dump"\npaths = []\nroots = []', "kind 'dump' has no option 'roots'"),
    ],
)
def test_a_source_that_is_wrong_is_a_usage_error(doctor, source, reason):
    code, said = doctor(f"[[source]]\n{source}\n")
    assert code == 2
    assert reason in said[-1]
