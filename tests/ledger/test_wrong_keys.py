"""Imported rows whose keys or times fit no other row: a check tells of each until it is right."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

from goodput.cli import main

DAY = "2026-03-02T"


def at(clock):
    return f"{DAY}{clock}:00Z"


GOOD = {
    "nodes": [{"node_uid": "n", "pool": "train", "gpus": 1, "registered_at": at("00:00")}],
    "jobs": [{"job": "J", "state": "failed"}],
    "attempts": [
        {"job": "J", "attempt": 1, "start": at("01:00"), "end": at("03:00"), "outcome": "failed"},
        {"job": "J", "attempt": 2, "start": at("04:00"), "end": at("06:00"), "outcome": "failed"},
    ],
    "pods": [
        {"pod_uid": "a", "job": "J", "attempt": 1, "node_uid": "n", "gpus": 1,
         "bound_at": at("01:00"), "running_at": at("01:10"), "released_at": at("03:00")},
        {"pod_uid": "b", "job": "J", "attempt": 2, "node_uid": "n", "gpus": 1,
         "bound_at": at("04:00"), "running_at": at("04:10"), "released_at": at("06:00")},
    ],
    "steps": [
        {"job": "J", "attempt": 1, "step": 1, "start": at("01:20"), "end": at("01:30")},
        {"job": "J", "attempt": 2, "step": 2, "start": at("04:20"), "end": at("04:30")},
    ],
    "checkpoints": [{"job": "J", "attempt": 1, "step": 1, "write_start": at("01:30")}],
    "evidence": [
        {"source": "xid", "value": "79", "node_uid": "n", "t": at("02:59")},
        {"source": "log", "value": "boom", "job": "J", "attempt": 2, "t": at("05:59")},
        {"source": "exit", "value": "1", "pod_uid": "b", "node_uid": "n", "t": at("06:00")},
    ],
    "prices": [{"pool": "train", "from": at("00:00"), "microdollars_per_gpu_hour": 2_000_000}],
}  # fmt: skip
KEYS = (
    "checks.pods_stand_on_known_nodes",
    "checks.given_classes_are_known",
    "checks.evidence_speaks_of_what_is_known",
    "checks.prices_name_known_pools",
    "checks.checkpoints_belong_to_known_attempts",
    "checks.pods_run_after_they_are_bound",
    "checks.steps_follow_their_pods",
)


class Site:
    """A lake, and the command line on it."""

    def __init__(self, folder):
        self.folder = folder

    def goodput(self, *words):
        done = CliRunner().invoke(main, ["--lake", str(self.folder / "lake"), *map(str, words)])
        assert done.exit_code == 0, done.stderr
        return done

    def build(self, tables):
        """Imports rows and builds their week."""
        for table, rows in tables.items():
            (self.folder / f"{table}.ndjson").write_text("\n".join(map(json.dumps, rows)))
        assert "quarantined" not in self.goodput("import", self.folder).stderr
        self.goodput("build", "--week", "2026-W10")

    def told(self, check, columns):
        """What a check found, as texts."""
        shown = self.goodput("query", "-o", "csv", f"select {columns} from {check} order by all")
        return [tuple(row) for row in csv.reader(io.StringIO(shown.stdout))][1:]

    def warned(self):
        """The checks of this kind that found something."""
        return [check for check in KEYS if self.told(check, "1")]


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def changed(table, place, **cells):
    """The good rows of a table with some cells of one row changed."""
    rows = [dict(row) for row in GOOD[table]]
    rows[place].update(cells)
    return rows


def test_a_pod_or_class_is_told_until_the_row_is_corrected(site):
    wrong = {
        "pods": changed("pods", 0, node_uid="ghost"),
        "nodes": changed("nodes", 0, replaces_cause="made.up"),
    }
    site.build({**GOOD, **wrong})

    assert site.told(KEYS[0], "pod_uid, node_uid") == [("a", "ghost")]
    assert site.told(KEYS[1], "subject, class") == [("n", "made.up")]

    later = {"ingested_at": "2026-03-03T00:00:00Z"}
    site.build(
        {"pods": changed("pods", 0, **later), "nodes": changed("nodes", 0, **later)},
    )

    assert site.warned() == []

    again = {"ingested_at": "2026-03-04T00:00:00Z", "node_uid": "gone"}
    site.build({"pods": changed("pods", 0, **again)})

    assert site.told(KEYS[0], "pod_uid, node_uid") == [("a", "gone")]


def test_rows_that_fit_no_other_row_are_told(site):
    evidence = [
        {"source": "xid", "value": "79", "node_uid": "ghost", "t": at("02:59")},
        {"source": "exit", "value": "1", "pod_uid": "x", "node_uid": "n", "t": at("06:00")},
        {"source": "log", "value": "boom", "job": "J", "attempt": 9, "t": at("05:59")},
        {"source": "log", "value": "boom", "job": "J", "attempt": 9, "node_uid": "n",
         "t": at("05:59")},
    ]  # fmt: skip
    checkpoints = [
        {"job": "K", "step": 1, "write_start": at("01:30")},
        {"job": "J", "attempt": 9, "step": 2, "write_start": at("01:30")},
        {"job": "J", "step": 3, "write_start": at("01:30")},
    ]
    steps = changed("steps", 1, start="1970-01-01T00:20:00Z", end="1970-01-01T00:30:00Z")
    wrong = {
        "evidence": evidence,
        "checkpoints": checkpoints,
        "prices": changed("prices", 0, pool="trian"),
        "pods": changed("pods", 1, running_at=at("03:59")),
        "steps": steps,
    }
    site.build({**GOOD, **wrong})

    assert site.told(KEYS[2], "what, pod_uid, node_uid, job, attempt") == [
        ("attempt", "", "", "J", "9"),
        ("node", "", "ghost", "", ""),
        ("pod", "x", "n", "", ""),
    ]
    assert site.told(KEYS[3], "pool, unpriced_pools[1]") == [("trian", "train")]
    assert site.told(KEYS[4], "job, attempt, step") == [("J", "9", "2"), ("K", "", "1")]
    assert site.told(KEYS[5], "pod_uid") == [("b",)]
    assert site.told(KEYS[6], "job, attempt, step_count") == [("J", "2", "1")]

    site.build({"prices": GOOD["prices"]})

    assert site.told(KEYS[3], "pool") == []


def test_steps_are_told_whose_attempts_are_as_old(site):
    day = "1970-01-01T"
    wrong = {
        "attempts": changed("attempts", 0, start=f"{day}00:00:00Z", end=f"{day}02:00:00Z"),
        "steps": changed("steps", 0, start=f"{day}00:20:00Z", end=f"{day}00:30:00Z"),
    }
    site.build({**GOOD, **wrong})

    assert site.told(KEYS[6], "job, attempt, step_count, last_ended_at::varchar") == [
        ("J", "1", "1", "1970-01-01 00:30:00+00")
    ]
