"""What `goodput doctor` says of a real Prometheus, and that the scheduled job takes from it."""

import sys
from datetime import timedelta

import pytest
from fake_prometheus import failure
from prometheus_samples import DAY

from goodput.settings import load_settings
from goodput.sources.checkup import check_up
from goodput.sources.configured import configured_sources
from pipelines import collect as collect_job

NOON = DAY + timedelta(hours=3, minutes=4)


@pytest.fixture
def source(tmp_path):
    """A source of kind prometheus as a goodput.toml names it."""

    def make(url, more=""):
        config = tmp_path / "goodput.toml"
        config.write_text(
            f'lake = "{tmp_path}/lake"\ncluster = "xids"\n'
            f'[[source]]\nkind = "prometheus"\nurl = "{url}"\n'
            f'match = [\'cluster="xids"\']\nonly = ["gpu_xid", "gpu_throttle"]\n{more}\n'
        )
        [made] = configured_sources(load_settings(config))
        return made

    return make


def found(source, lake, now=NOON):
    return [(finding.state, finding.detail) for finding in check_up(source, lake, now)]


def test_metrics_that_are_there_and_those_that_are_not_are_named(source, prometheus_url, lake):
    assert found(source(prometheus_url), lake) == [
        ("ok", "at 2026-03-02 02:59 UTC it had gpu_xid (3 series)"),
        ("missing", "at 2026-03-02 02:59 UTC it had no series of gpu_throttle"),
        ("missing", "the lake has nothing of it for cluster xids"),
    ]


def test_how_far_the_lake_is_behind_is_told(source, prometheus_url, lake):
    made = source(prometheus_url, "first_hours = 2")
    made.take(lake, DAY + timedelta(hours=2, minutes=10), lambda _: None)
    assert found(made, lake)[-1] == (
        "ok",
        "its hours until 2026-03-02 02:00 UTC are in the lake, 0 hours behind",
    )
    assert found(made, lake, NOON + timedelta(hours=5))[-1] == (
        "ok",
        "its hours until 2026-03-02 02:00 UTC are in the lake, 5 hours behind",
    )
    assert found(made, lake, NOON + timedelta(hours=1))[-1][1].endswith(", 1 hour behind")


def test_a_prometheus_that_is_not_there_is_unreachable(source, lake):
    [(state, detail)] = found(source("http://127.0.0.1:9"), lake)
    assert state == "unreachable"
    assert detail.startswith("http://127.0.0.1:9 did not answer after 2 tries")


def test_a_prometheus_that_does_not_let_us_ask_is_unreachable(source, fake, lake):
    fake.counts = failure(403, "rbac")
    [(state, detail)] = found(source(fake.url), lake)
    assert state == "unreachable"
    assert "does not let us ask (HTTP 403)" in detail


def test_the_scheduled_job_takes_what_is_complete(source, prometheus_url, tmp_path, monkeypatch):
    source(prometheus_url, "first_hours = 3")
    (tmp_path / "pipelines.toml").write_text(
        f'reports = "{tmp_path}"\nstate = "{tmp_path}"\nnightly_days = 7\n'
    )
    words = ["job", "--config", str(tmp_path / "pipelines.toml"), "--now", NOON.isoformat()]
    monkeypatch.setattr(sys, "argv", words)
    assert collect_job.main() == 0
