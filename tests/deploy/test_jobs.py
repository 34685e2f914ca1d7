"""The batch jobs: what they do, that a second run is harmless, and how a failure shows."""

import fcntl
import json
import re
import sys
from datetime import UTC, datetime

import pytest

from goodput import errors
from goodput.lake import Lake
from goodput.sources.typed import import_files
from pipelines import collect, job, nightly, weekly
from pipelines.nightly import last_days
from pipelines.weekly import last_week

MONDAY = "2026-03-09T04:40:00Z"

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "gpu-1",
        "uid": "u-1",
        "resourceVersion": "1",
        "creationTimestamp": "2026-03-02T00:00:00Z",
    },
    "status": {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "8"}},
}

NODES_CSV = """\
node_uid,pool,gpus,registered_at,ready_at
n-1,train,8,2026-03-01T00:00:00Z,2026-03-01T00:00:00Z
"""


@pytest.fixture
def site(tmp_path):
    """A site whose folders are all below tmp_path; `inbox` is what it collects."""
    (tmp_path / "inbox").mkdir()
    (tmp_path / "goodput.toml").write_text(
        f'lake = "{tmp_path / "lake"}"\n'
        'cluster = "east"\n'
        "[[source]]\n"
        'kind = "dump"\n'
        f'paths = ["{tmp_path / "inbox"}"]\n'
    )
    (tmp_path / "pipelines.toml").write_text(
        f'reports = "{tmp_path / "reports"}"\nstate = "{tmp_path / "state"}"\nnightly_days = 7\n'
    )
    return tmp_path


@pytest.fixture
def fleet(site):
    """A lake with one node of eight GPUs that nobody uses."""
    (site / "tables").mkdir()
    (site / "tables" / "nodes.csv").write_text(NODES_CSV)
    import_files(Lake.open(site / "lake", create=True), site / "tables", cluster="east")
    return site


@pytest.fixture
def start(monkeypatch):
    """Starts a job as its command line would; gives its exit code."""

    def run(module, site, now=MONDAY):
        words = ["job", "--config", str(site / "pipelines.toml"), "--now", now]
        monkeypatch.setattr(sys, "argv", words)
        return module.main()

    return run


def printed(capsys):
    return json.loads(capsys.readouterr().out)


def heartbeat(site, name):
    text = (site / "state" / "heartbeats" / f"{name}.prom").read_text()
    return {
        metric: float(value)
        for metric, value in re.findall(r"^goodput_pipeline_(\w+)\{.*\} (.+)$", text, re.MULTILINE)
    }


def test_collect_takes_what_lies_in_the_folder_and_a_second_run_adds_nothing(site, start, capsys):
    (site / "inbox" / "nodes.json").write_text(json.dumps(NODE))
    assert start(collect, site) == 0
    first = printed(capsys)
    assert first["job"] == "collect"
    assert first["rows_added"]["kube_objects"] == 1
    assert start(collect, site) == 0
    assert set(printed(capsys)["rows_added"].values()) == {0}


def test_collect_quarantines_what_it_cannot_read_and_goes_on(site, start, capsys):
    (site / "inbox" / "a.json").write_bytes(b"\x00\x01\x02")
    (site / "inbox" / "nodes.json").write_text(json.dumps(NODE))
    assert start(collect, site) == 0
    result = printed(capsys)
    assert result["quarantined"] == 1
    assert result["rows_added"]["kube_objects"] == 1


def test_a_source_of_an_unknown_kind_is_a_usage_error(site, start, capsys):
    config = site / "goodput.toml"
    config.write_text(config.read_text().replace('"dump"', '"telepathy"'))
    assert start(collect, site) == errors.UsageError.exit_code
    assert (
        "there is no source of kind 'telepathy'; known are checkpoints, dump"
        in capsys.readouterr().err
    )


def test_a_source_that_fails_does_not_keep_the_others_out(site, start, capsys):
    config = site / "goodput.toml"
    missing = site / "missing"
    config.write_text(
        config.read_text().replace(
            "[[source]]", f'[[source]]\nkind = "logs"\npaths = ["{missing}"]\n[[source]]'
        )
    )
    (site / "inbox" / "nodes.json").write_text(json.dumps(NODE))
    assert start(collect, site) == errors.NoData.exit_code
    assert f"logs: there is no file or folder {missing}" in capsys.readouterr().err
    assert len(Lake.open(site / "lake").files("kube_objects")) == 1


def test_a_folder_that_does_not_exist_is_named(site, start, capsys):
    (site / "inbox").rmdir()
    assert start(collect, site) == errors.NoData.exit_code
    assert str(site / "inbox") in capsys.readouterr().err


def test_nightly_leaves_the_metrics_of_its_build_beside_the_heartbeats(fleet, start):
    assert start(nightly, fleet) == 0

    text = (fleet / "state" / "heartbeats" / "goodput.prom").read_text()
    # 2026-03-09, 00:00 UTC.
    assert "\ngoodput_window_end_timestamp_seconds 1773014400\n" in text
    assert '\ngoodput_paid_ratio{cluster="east",scope="fleet"} 0\n' in text


def test_nightly_builds_the_last_whole_days(fleet, start, capsys):
    assert start(nightly, fleet) == 0
    result = printed(capsys)
    assert (result["from"], result["to"]) == (
        "2026-03-02 00:00:00+00:00",
        "2026-03-09 00:00:00+00:00",
    )
    assert Lake.open(fleet / "lake").built_warehouse().is_file()


def test_weekly_writes_the_report_of_the_last_week_and_again_the_same(fleet, start, capsys):
    assert start(weekly, fleet) == 0
    assert printed(capsys)["week"] == "2026-W10"
    folder = fleet / "reports" / "2026-W10"
    assert sorted(path.name for path in folder.iterdir()) == [
        "digest.md",
        "email.eml",
        "email.html",
        "report.html",
        "report.json",
        "report.prom",
        "slack.json",
    ]
    first = json.loads((folder / "report.json").read_text())
    assert start(weekly, fleet) == 0
    second = json.loads((folder / "report.json").read_text())
    assert second == first


def test_weekly_names_the_weeks_that_it_left_out(fleet, start, capsys):
    assert start(weekly, fleet) == 0
    said = capsys.readouterr()
    left_out = json.loads(said.out)["left_out"]
    reason = "the lake holds no row that tells of a fleet at work"
    assert left_out == [f"2026-W0{week}: {reason}" for week in (6, 7, 8, 9)]
    for week in left_out:
        assert f"left out of the weeks before: {week}\n" in said.err
    assert f"to compare with (2026-W09: {reason})" in said.err


def test_a_job_without_a_lake_says_so_and_its_heartbeat_shows_it(site, start, capsys):
    assert start(nightly, site) == errors.NoData.exit_code
    assert "there is no lake" in capsys.readouterr().err
    assert heartbeat(site, "nightly")["last_exit_code"] == errors.NoData.exit_code
    assert not (site / "state" / "heartbeats" / "nightly_success.prom").exists()


@pytest.mark.parametrize("module", [nightly, weekly])
def test_days_in_which_no_gpu_was_paid_for_are_no_success(site, start, capsys, module):
    name = module.__name__.removeprefix("pipelines.")
    lake = Lake.open(site / "lake", create=True)
    assert start(module, site) == errors.NoData.exit_code
    said = capsys.readouterr()
    assert said.out == ""
    assert "it knows of no node; import or collect some" in said.err
    assert heartbeat(site, name)["last_exit_code"] == errors.NoData.exit_code
    assert sorted(path.name for path in (site / "state" / "heartbeats").iterdir()) == [
        f"{name}.prom"
    ]
    assert lake.built_warehouse() is None
    assert not (site / "reports").exists()


@pytest.mark.parametrize("module", [nightly, weekly])
def test_days_before_the_first_node_leave_the_build_before(fleet, start, capsys, module):
    assert start(nightly, fleet) == 0
    before = Lake.open(fleet / "lake").built_warehouse().stat()
    metrics = (fleet / "state" / "heartbeats" / "goodput.prom").read_text()
    assert start(module, fleet, now="2026-02-20T04:40:00Z") == errors.NoData.exit_code
    assert "its first node is from 2026-03-01 00:00" in capsys.readouterr().err
    after = Lake.open(fleet / "lake").built_warehouse().stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert (fleet / "state" / "heartbeats" / "goodput.prom").read_text() == metrics


def test_a_success_leaves_a_time_to_alert_on(site, start):
    before = datetime.now(UTC).timestamp()
    assert start(collect, site) == 0
    assert heartbeat(site, "collect")["last_exit_code"] == 0
    assert heartbeat(site, "collect_success")["last_success_timestamp_seconds"] >= before - 1


def test_an_unforeseen_error_is_in_the_heartbeat_too(site, start, monkeypatch):
    monkeypatch.setattr(collect, "collect", lambda _site, _now: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        start(collect, site)
    assert heartbeat(site, "collect")["last_exit_code"] == 1


def test_a_run_beside_a_stuck_one_gives_up(site, start, monkeypatch, capsys):
    monkeypatch.setattr(job, "LOCK_WAIT_SECONDS", -1)
    lock = site / "state" / "collect.lock"
    lock.parent.mkdir()
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert start(collect, site) == errors.GoodputError.exit_code
    assert f"another run still holds {lock}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("nightly_days = 7\n", "", "lacks 'nightly_days'"),
        ("nightly_days", "nihgtly_days", "lacks 'nightly_days'"),
        ("nightly_days = 7\n", "nightly_days = 7\nwindow = 1\n", "does not know 'window'"),
        ("nightly_days = 7", "nightly_days =", "cannot be used as config"),
    ],
)
def test_a_mistake_in_the_config_is_named(site, start, capsys, old, new, said):
    config = site / "pipelines.toml"
    config.write_text(config.read_text().replace(old, new))
    assert start(collect, site) == errors.UsageError.exit_code
    assert said in capsys.readouterr().err


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_the_last_days_end_at_midnight():
    window = last_days(at("2026-03-09T02:20:00"), 7)
    assert (window.start, window.end) == (at("2026-03-02"), at("2026-03-09"))


@pytest.mark.parametrize(
    ("now", "week"),
    [
        ("2026-03-09T04:40:00", "2026-W10"),
        ("2026-03-15T23:59:59", "2026-W10"),
        ("2027-01-04T00:00:00", "2026-W53"),
    ],
)
def test_the_last_week_is_the_one_that_is_closed(now, week):
    assert last_week(at(now)).iso_week == week
