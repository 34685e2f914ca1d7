"""From a real Prometheus to the state of each node in the ledger, through the command line."""

import json
from datetime import timedelta

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner
from fake_prometheus import failure, running
from prometheus_samples import DAY

from goodput.cli import main
from goodput.lake import Lake
from goodput.warehouse.build import build
from goodput.window import Window

CLUSTERS = ("lost", "holes", "moved", "cordons", "xids")


def run(lake, *words):
    return CliRunner().invoke(main, ["--lake", str(lake), "collect", "prometheus", *words])


@pytest.fixture(scope="module")
def warehouse(prometheus_url, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "lake"
    for cluster in (*CLUSTERS, "alone"):
        result = run(
            folder,
            f"--url={prometheus_url}",
            f"--cluster={cluster}",
            "--from=2026-03-02T00:00:00Z",
            "--to=2026-03-02T03:00:00Z",
            f'--match=cluster="{cluster}"',
        )
        assert result.exit_code == 0, result.output
    lake = Lake.open(folder)
    nodes = [
        {
            "cluster": cluster,
            "node_uid": f"u-{n}",
            "name": f"n-{n}",
            "gpus": 8,
            "registered_at": DAY,
        }
        for cluster in CLUSTERS
        for n in (1, 2)
    ]
    lake.publish({"nodes": pl.DataFrame(nodes)}, ingested_from="test", ingested_at=None)
    end = DAY + timedelta(hours=3)
    built = build(lake, Window(DAY, end), end + timedelta(days=1000))
    assert [check.name for check in built.checks if check.rows] == []
    with duckdb.connect(str(built.database), read_only=True) as con:
        con.execute("set timezone = 'UTC'")
        yield con


def test_each_node_has_the_state_that_its_samples_show_and_holes_are_stale(warehouse):
    rows = warehouse.execute(
        "select distinct cluster, node_uid, node_state,"
        " strftime(make_timestamp_ms(started_ms), '%H:%M:%S'),"
        " strftime(make_timestamp_ms(ended_ms), '%H:%M:%S')"
        " from ledger.device_health where node_state <> 'available' order by all"
    ).fetchall()

    assert rows == [
        ("cordons", "u-1", "cordoned", "01:00:12", "01:10:12"),
        ("cordons", "u-1", "unhealthy", "00:20:12", "00:30:12"),
        ("cordons", "u-1", "unhealthy", "00:30:12", "01:00:12"),
        ("cordons", "u-2", "cordoned", "01:30:12", "03:00:00"),
        ("holes", "u-1", "stale", "00:10:57", "00:11:12"),
        ("holes", "u-1", "stale", "00:20:57", "00:24:12"),
        ("holes", "u-1", "stale", "01:55:57", "02:05:12"),
        ("lost", "u-1", "not_ready", "00:55:12", "01:00:12"),
        ("lost", "u-1", "not_ready", "01:00:12", "01:05:12"),
    ]


def test_a_cluster_without_api_has_its_nodes_pods_and_jobs_from_samples(warehouse):
    rows = warehouse.execute(
        "select node_uid, job, namespace, split_part(state, '.', 1),"
        " strftime(min(started_at), '%H:%M:%S'), strftime(max(ended_at), '%H:%M:%S'),"
        " sum(unit_ms) // (8 * 5040)"
        " from ledger.gpu_time where cluster = 'alone' group by all order by min(started_at), job"
    ).fetchall()

    assert [row for row in rows if row[1]] == [
        ("n-1", "ml/train", "ml", "A", "00:30:12", "01:30:12", 3_600_000)
    ]
    assert sum(row[-1] for row in rows) == 3 * 3_600_000 - 12_345
    assert warehouse.execute(
        "select outcome from staged.attempts where job = 'ml/train'"
    ).fetchall() == [("succeeded",)]


def test_no_exit_code_is_told_of_a_pod_whose_failure_was_sampled_and_not_its_code(tmp_path):
    pod = {"namespace": "ml", "pod": "a", "uid": "u-a"}
    held = {"resource": "nvidia_com_gpu", "node": "n-1"}
    runs = [
        ("node_gpus_capacity", held, "8", 0, 119),
        ("pod_gpus", pod | held | {"container": "main"}, "8", 10, 119),
        ("pod_phase", pod, "Running", 10, 59),
        ("pod_phase", pod, "Failed", 60, 119),
    ]
    states = [
        {
            "cluster": "c",
            "query": query,
            "labels": json.dumps(labels),
            "value": value,
            "from": DAY + timedelta(minutes=first),
            "last_at": DAY + timedelta(minutes=last),
            "samples": last - first + 1,
            "interval_ms": 60_000,
        }
        for query, labels, value, first, last in runs
    ]
    end = DAY + timedelta(hours=2)
    slices = [
        {"cluster": "c", "query": query, "from": DAY, "to": end, "series": 1, "samples": 1}
        for query in {run[0] for run in runs}
    ]
    lake = Lake.open(tmp_path / "lake", create=True)
    lake.publish(
        {"prom_states": pl.DataFrame(states), "prom_slices": pl.DataFrame(slices)},
        ingested_from="test",
        ingested_at=None,
    )
    built = build(lake, Window(DAY, end), end + timedelta(days=1000))

    with duckdb.connect(str(built.database), read_only=True) as con:
        attempts = con.execute("select job, outcome from staged.attempts").fetchall()
        causes = con.execute("select class, rule from intervals.attribution").fetchall()
        evidence = con.execute("select source, value from ledger.evidence").fetchall()
    assert attempts == [("ml/a", "failed")]
    assert (causes, evidence) == ([("unk.none", "no evidence")], [])


def test_xids_are_evidence_once(warehouse):
    rows = warehouse.execute(
        "select cluster, node_uid, gpu, value, class, strftime(observed_at, '%H:%M:%S')"
        " from staged.evidence order by all"
    ).fetchall()

    assert [row[:4] + row[5:] for row in rows] == [
        ("xids", "u-1", 0, "79", "00:40:12"),
        ("xids", "u-1", 1, "94", "02:00:12"),
    ]


def test_holes_are_named_as_what_was_not_observed(warehouse):
    rows = warehouse.execute(
        "select cluster, source_name, strftime(started_at, '%H:%M:%S'),"
        " strftime(ended_at, '%H:%M:%S'), reason from staged.collector_gaps order by all"
    ).fetchall()

    assert rows == [
        ("holes", "prometheus", "00:09:42", "00:11:12", "no samples of node_condition"),
        ("holes", "prometheus", "00:19:42", "00:24:12", "no samples of node_condition"),
        ("holes", "prometheus", "01:54:42", "02:05:12", "no samples of node_condition"),
    ]


def test_the_same_hours_again_add_nothing_and_say_so(prometheus_url, tmp_path):
    words = (
        f"--url={prometheus_url}",
        "--from=2026-03-02T00:00:00Z",
        "--to=2026-03-02T02:00:00Z",
        "--query=node_condition",
        '--match=cluster="lost"',
    )
    first, second = run(tmp_path / "lake", *words), run(tmp_path / "lake", *words)

    assert first.stderr.splitlines() == [
        "node_condition: 720 samples in 2 hours",
        "prom_states: 4 new rows",
        "prom_slices: 2 new rows",
    ]
    assert second.stderr.splitlines() == [
        "node_condition: 720 samples in 2 hours",
        "prom_states: 0 new rows",
        "prom_slices: 0 new rows",
    ]
    assert first.stdout == second.stdout == ""


def test_hours_without_any_sample_are_said_to_have_none(prometheus_url, tmp_path):
    result = run(
        tmp_path / "lake",
        f"--url={prometheus_url}",
        "--from=2026-03-01T00:00:00Z",
        "--to=2026-03-01T02:00:00Z",
        "--query=node_condition",
    )

    assert result.exit_code == 4
    assert result.stderr.splitlines() == [
        "no samples of: node_condition",
        (
            f"error: {prometheus_url} has no sample of any query in these hours; see --match and"
            " --queries; nothing was recorded, and the next run reads them again"
        ),
    ]


def test_hours_without_any_sample_after_others_are_recorded_and_can_be_read_again(
    prometheus_url, tmp_path
):
    words = (f"--url={prometheus_url}", "--from=2026-03-02T00:00:00Z", "--to=2026-03-02T01:00:00Z")
    run(tmp_path / "lake", *words, "--query=node_condition", '--match=cluster="lost"')

    result = run(tmp_path / "lake", *words, "--query=node_condition", '--match=cluster="typo"')

    assert result.exit_code == 4
    assert result.stderr.splitlines() == [
        "no samples of: node_condition",
        "prom_slices: 1 new row",
        (
            f"error: {prometheus_url} has no sample of any query in these hours; see --match and"
            " --queries; they are recorded as empty, and only --from reads them again"
        ),
    ]


def test_what_gave_nothing_is_named_on_one_line(prometheus_url, tmp_path):
    result = run(
        tmp_path / "lake",
        f"--url={prometheus_url}",
        "--from=2026-03-02T00:00:00Z",
        "--to=2026-03-02T01:00:00Z",
        "--query=node_condition",
        "--query=gpu_xid",
        "--query=node_taint",
        '--match=cluster="lost"',
    )

    assert result.stderr.splitlines() == [
        "node_condition: 360 samples in 1 hour",
        "no samples of: node_taint, gpu_xid",
        "prom_states: 2 new rows",
        "prom_slices: 3 new rows",
    ]


def test_that_there_is_no_whole_hour_to_ask_for_is_said(prometheus_url, tmp_path):
    result = run(
        tmp_path / "lake",
        f"--url={prometheus_url}",
        "--from=2026-03-02T02:00:00Z",
        "--to=2026-03-02T02:59:00Z",
        "--query=node_condition",
    )

    assert result.exit_code == 0
    assert result.stderr == "there is no whole hour to ask for\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--user=a"], "--user and --password-file belong together"),
        (["--cert=a"], "--cert and --key belong together"),
        (["--header=nonsense"], "--header takes 'Name: value', not 'nonsense'"),
        (["--query=nonsense"], "there is no query 'nonsense'"),
        (["--url=http://me:secret@prometheus:9090"], "--url must not hold a password"),
        (["--url=prometheus:9090"], "is no http:// or https:// address"),
    ],
)
def test_words_that_are_off_are_said(tmp_path, words, message):
    result = run(tmp_path / "lake", "--url=http://127.0.0.1:9", *words)

    assert result.exit_code == 2
    assert message in result.stderr


def test_a_server_that_does_not_let_us_ask_is_unreachable(tmp_path):
    with running() as fake:
        fake.counts = failure(401, "no token")
        result = run(tmp_path / "lake", f"--url={fake.url}", "--query=gpu_xid")

    assert result.exit_code == 5
    assert result.stderr.startswith(f"error: {fake.url} does not let us ask (HTTP 401)")
