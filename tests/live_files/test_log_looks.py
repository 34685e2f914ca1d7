"""What an open job did after somebody looked at its log last is unknown, and no hang."""

import os
import shutil
from datetime import timedelta

import duckdb
import polars as pl
import pytest
from click.testing import CliRunner
from collector_runs import DAY, put, touch

from goodput.cli import main
from goodput.sources.dump import collect_files
from goodput.sources.dumped import take_dump
from goodput.sources.log_lists import LogList
from goodput.sources.places import Place
from goodput.warehouse.build import build
from goodput.window import Window

DONE = ("A.productive.provisional", None)
HANG = ("A.hang", "unk.none")
UNSEEN = ("A.unknown", "unk.obs_gap")
OPEN = ("A.unknown", None)
JUNK = "2026-03-02T00:00:00Z "


def steps(count):
    """Ten seconds each, so that a minute of silence is a hang."""
    return "".join(
        f"2026-03-02T00:{n // 6:02d}:{n % 6}0Z completed step: {n}, seconds: 10.0\n"
        for n in range(1, count + 1)
    )


@pytest.fixture
def fleet(runs):
    """Publishes a node with a running job for each name."""

    def publish(*jobs, **more):
        for number, job in enumerate(jobs):
            key = {"job": job, "attempt": 1}
            pod = {"pod_uid": job, "node_uid": f"n{number}", "gpus": 8}
            bound = {"bound_at": DAY, "running_at": DAY}
            rows = {
                "nodes": {"node_uid": f"n{number}", "gpus": 8, "paid_from": DAY, "ready_at": DAY},
                "jobs": {"job": job, "state": "running"},
                "attempts": {**key, "start": DAY, "outcome": "running"},
                "pods": {**key, **pod, **bound},
                **more,
            }
            frames = {table: pl.DataFrame([row]) for table, row in rows.items()}
            runs.lake.publish(frames, ingested_from="test", ingested_at=None)

    return publish


@pytest.fixture
def warehouse(runs):
    """The build of the first two hours, as known at some second."""

    def made(as_of):
        window = Window(DAY, DAY + timedelta(hours=2))
        result = build(runs.lake, window, DAY + timedelta(seconds=as_of))
        # A log of a job that nothing else tells of is a warning, and none of what is asked here.
        broken = [check.name for check in result.checks if check.rows]
        assert set(broken) <= {"jobs_with_steps_hold_gpus"}
        return duckdb.connect(str(result.database), read_only=True)

    return made


@pytest.fixture
def ledger(warehouse):
    """States, causes and seconds of the GPUs of each job, in the order of the jobs."""

    def booked(as_of):
        with warehouse(as_of) as con:
            rows = con.execute(
                "select job, state, cause, epoch(started_at), epoch(ended_at) from ledger.gpu_time"
                " where gpu = 0 and job is not null order by job, started_at"
            ).fetchall()
        zero, booked = DAY.timestamp(), {}
        for job, state, cause, start, end in rows:
            booked.setdefault(job, []).append((state, cause, start - zero, end - zero))
        return list(booked.values())

    return booked


def test_a_silent_job_is_a_hang_as_long_as_somebody_looks(runs, fleet, ledger, tmp_path):
    fleet("llama", "phi")
    for job in ("llama", "phi"):
        put(tmp_path / job / "rank-0.log", steps(10), at=100)
    runs.logs(tmp_path / "llama", tmp_path / "phi", at=120)
    runs.logs(tmp_path / "llama", tmp_path / "phi", at=400)
    runs.logs(tmp_path / "phi", at=7200)
    productive = (*DONE, 0, 100)
    assert ledger(7200) == [
        [productive, (*HANG, 100, 400), (*UNSEEN, 400, 7200)],
        [productive, (*HANG, 100, 7200)],
    ]
    assert ledger(405) == [[productive, (*HANG, 100, 400), (*UNSEEN, 400, 405)]] * 2
    # As of then nobody had looked a second time; what was silent for 20 seconds had not hung.
    assert ledger(399) == [[productive, (*OPEN, 100, 120), (*UNSEEN, 120, 399)]] * 2


def test_what_was_found_late_is_what_it_was(runs, fleet, ledger, tmp_path):
    fleet("llama")
    log = put(tmp_path / "llama/rank-0.log", steps(10), at=100)
    runs.logs(tmp_path, at=120)
    put(log, steps(100), at=1000)
    assert ledger(1020) == [[(*DONE, 0, 100), (*OPEN, 100, 120), (*UNSEEN, 120, 1020)]]
    runs.logs(tmp_path, at=1030)
    assert ledger(1030) == [[(*DONE, 0, 1000), (*OPEN, 1000, 1030)]]


def test_a_root_that_fails_says_nothing_while_another_works(runs, fleet, ledger, tmp_path):
    fleet("llama", "phi")
    for job in ("llama", "phi"):
        put(tmp_path / job / "rank-0.log", steps(10), at=100)
    roots = (tmp_path / "llama", tmp_path / "phi")
    runs.logs(*roots, at=120)
    shutil.move(tmp_path / "llama", tmp_path / "elsewhere")
    runs.logs(*roots, at=400)
    assert runs.rows("log_lists", "root", "listed_at", "is_complete", "reason", "files") == [
        (str(roots[0]), 120, True, None, 1),
        (str(roots[1]), 120, True, None, 1),
        (
            str(roots[0]),
            400,
            False,
            f"there is no file or folder {roots[0]}; check the path",
            0,
        ),
        (str(roots[1]), 400, True, None, 1),
    ]
    productive = (*DONE, 0, 100)
    assert ledger(500) == [
        [productive, (*OPEN, 100, 120), (*UNSEEN, 120, 500)],
        [productive, (*HANG, 100, 400), (*UNSEEN, 400, 500)],
    ]


def test_an_empty_folder_may_be_a_mount_that_is_missing(runs, tmp_path):
    log = put(tmp_path / "logs/llama/rank-0.log", steps(10), at=100)
    runs.logs(tmp_path / "logs", at=120)
    log.unlink()
    runs.logs(tmp_path / "logs", at=400)
    reason = "nothing is there, which looks the same when a mount is missing"
    assert runs.rows("log_lists", "is_complete", "reason", "unseen")[1] == (False, reason, None)


def test_a_folder_that_cannot_be_listed_hides_what_lies_below_and_nothing_else(
    runs, fleet, ledger, tmp_path, monkeypatch
):
    fleet("llama", "llama2")
    for job in ("llama", "llama2"):
        put(tmp_path / job / "rank-0.log", steps(10), at=100)
    runs.logs(tmp_path, at=120)
    scandir = os.scandir

    def refuse(folder):
        if folder == str(tmp_path / "llama"):
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    with monkeypatch.context() as patch:
        patch.setattr("os.scandir", refuse)
        runs.logs(tmp_path, at=400)
    assert runs.rows("log_lists", "is_complete", "reason", "files", "unseen")[1] == (
        False,
        f"{tmp_path}/llama: Permission denied",
        1,
        [f"{tmp_path}/llama"],
    )
    productive = (*DONE, 0, 100)
    assert ledger(400) == [
        [productive, (*OPEN, 100, 120), (*UNSEEN, 120, 400)],
        [productive, (*HANG, 100, 400)],
    ]


def test_a_log_that_cannot_be_read_was_not_looked_at(runs, tmp_path, monkeypatch):
    logs = [put(tmp_path / job / "rank-0.log", steps(10), at=100) for job in ("llama", "phi")]
    runs.logs(tmp_path, at=120)
    touch(logs[0], 390)
    monkeypatch.setattr("goodput.sources.places.Place.read", _broken)
    runs.logs(tmp_path, at=400)
    assert runs.rows("log_lists", "is_complete", "files", "reason", "unseen")[1] == (
        False,
        2,
        f"{logs[0]}: the file cannot be read: Stale file handle",
        [str(logs[0])],
    )


def test_a_log_that_goes_while_it_is_listed_was_not_looked_at(runs, tmp_path, monkeypatch):
    logs = [put(tmp_path / job / "rank-0.log", steps(10), at=100) for job in ("llama", "phi")]
    runs.logs(tmp_path, at=120)
    put(logs[0], steps(20), at=390)
    read = Place.read

    def rotated(place, stored):
        logs[0].unlink()
        return read(place, stored)

    monkeypatch.setattr("goodput.sources.places.Place.read", rotated)
    assert runs.logs(tmp_path, at=400) == {}
    assert runs.rows("log_lists", "is_complete", "reason", "unseen")[1] == (
        False,
        f"{logs[0]}: it went while it was being listed",
        [str(logs[0])],
    )


def _broken(*_):
    raise OSError(116, "Stale file handle")


def test_before_the_first_step_it_is_init_up_to_the_last_look(runs, fleet, ledger, tmp_path):
    fleet("llama")
    put(tmp_path / "llama/rank-0.log", "2026-03-02T00:00:01Z [rank0]: loading\n", at=1)
    runs.logs(tmp_path, at=100, job="llama", attempt=1)
    runs.logs(tmp_path, at=900, job="llama", attempt=1)
    assert ledger(7200) == [[("A.init", "base.overhead", 0, 900), (*UNSEEN, 900, 7200)]]


def test_steps_that_were_imported_do_not_depend_on_looks(runs, fleet, ledger, tmp_path):
    step = {"job": "llama", "attempt": 1, "first": 1, "last": 10, "start": DAY}
    fleet("llama", steps={**step, "end": DAY + timedelta(seconds=100)})
    put(tmp_path / "llama/rank-0.log", steps(10), at=100)
    put(tmp_path / "other/rank-0.log", steps(10), at=100)
    runs.logs(tmp_path, at=120)
    assert ledger(7200) == [[(*DONE, 0, 100), (*HANG, 100, 7200)]]


def test_below_another_root_a_log_is_read_once(runs, tmp_path):
    put(tmp_path / "llama/rank-0.log", steps(10), at=100)
    runs.logs(tmp_path, at=120)
    pattern = tmp_path / "*/rank-*.log"
    assert runs.logs(pattern, at=200) == {"log_reads": 1}
    assert runs.rows("log_reads", "root") == [(str(tmp_path),), (str(pattern),)]
    for second, root in ((300, tmp_path), (400, pattern), (500, tmp_path)):
        assert runs.logs(root, at=second) == {}
    assert runs.rows("log_lists", "root", "listed_at")[-2:] == [
        (str(pattern), 400),
        (str(tmp_path), 500),
    ]


@pytest.mark.parametrize(
    ("address", "root"),
    [
        (
            "s3://key:secret@bucket/logs/**/*.log?secret_access_key=hidden",
            "s3://bucket/logs/**/*.log",
        ),
        ("s3://key:sec/ret@bucket/logs", "s3://bucket/logs"),
        ("az://account:se+cr/et@logs/**/*.log", "az://logs@account/**/*.log"),
    ],
)
def test_the_name_of_a_root_holds_no_secret(address, root):
    place = Place.open(address)
    assert (place.root, place.name.partition("*")[0]) == (root, place.name)
    assert LogList(place.root).root == root


def test_what_was_not_looked_at_is_in_the_report(runs, fleet, warehouse, tmp_path):
    fleet("llama")
    put(tmp_path / "llama/rank-0.log", steps(10), at=100)
    runs.logs(tmp_path, at=3600)
    with warehouse(10_800) as con:
        gaps = con.execute(
            "select root, epoch(started_at), epoch(ended_at) from report.log_gaps"
        ).fetchall()
        [hours] = con.execute(
            "select amount from report.not_observed where topic = 'collector_gaps'"
        ).fetchall()
        coverage = con.execute(
            "select distinct observed, whole, is_below from report.data_quality"
            " where basis = 'logs' and cluster = 'default'"
        ).fetchall()
    zero = DAY.timestamp()
    assert gaps == [(str(tmp_path), zero + 3600, zero + 10_800)]
    assert hours == (1.0,)
    assert coverage == [(1.0, 2.0, True)]
    result = CliRunner().invoke(main, ["--lake", str(runs.folder), "explain", "llama"])
    assert result.stdout.splitlines()[-1] == (
        f"  llama/1: logs of {tmp_path} were last looked at 2026-03-02T01:00:00Z;"
        " what the job did since then is unknown"
    )


def test_a_log_that_is_not_there_any_more_is_not_looked_at(runs, fleet, ledger, tmp_path):
    fleet("llama", "phi")
    for job in ("llama", "phi"):
        put(tmp_path / job / "rank-0.log", steps(10), at=100)
    runs.logs(tmp_path, at=120)
    runs.logs(tmp_path, at=300)
    shutil.move(tmp_path / "llama", tmp_path.parent / "unmounted")
    (tmp_path / "llama").mkdir()
    assert runs.logs(tmp_path, at=400) == {"log_reads": 1}
    assert f"{tmp_path}: not there any more: 1 log that earlier runs read" in runs.said
    assert runs.logs(tmp_path, at=500) == {}
    productive = (*DONE, 0, 100)
    assert ledger(600) == [
        [productive, (*HANG, 100, 300), (*UNSEEN, 300, 600)],
        [productive, (*HANG, 100, 500), (*UNSEEN, 500, 600)],
    ]
    # When it is mounted again, it was silent all the time.
    (tmp_path / "llama").rmdir()
    shutil.move(tmp_path.parent / "unmounted", tmp_path / "llama")
    assert runs.logs(tmp_path, at=700) == {"log_reads": 1}
    assert runs.logs(tmp_path, at=800) == {}
    assert ledger(800) == [[productive, (*HANG, 100, 800)]] * 2
    assert runs.rows("log_reads", "gone_at", "returned_at") == [
        (None, None),
        (None, None),
        (400, None),
        (None, 700),
    ]


def test_a_log_whose_file_is_another_one_now_is_not_looked_at(runs, fleet, ledger, tmp_path):
    """Two hosts that call their folders alike and collect for one cluster."""
    fleet("llama", "phi")
    log = tmp_path / "rank-0.log"
    for at in (120, 300):
        put(log, f"{JUNK}llama\n{steps(10)}", at=100)
        runs.logs(tmp_path, at=at, job="llama", attempt=1)
        put(log, f"{JUNK}phi\n{steps(10)}", at=101)
        runs.logs(tmp_path, at=at + 10, job="phi", attempt=1)
    productive = (*DONE, 0, 100)
    assert ledger(500) == [
        [productive, (*HANG, 100, 300), (*UNSEEN, 300, 500)],
        [productive, (*HANG, 100, 310), (*UNSEEN, 310, 500)],
    ]


@pytest.mark.parametrize("content", ["", b"\x00\x01\x02" * 100])
def test_a_file_that_holds_the_log_no_more_is_no_look(runs, fleet, ledger, tmp_path, content):
    fleet("llama")
    log = put(tmp_path / "llama/rank-0.log", steps(10), at=100)
    put(tmp_path / "other/rank-0.log", steps(10), at=100)
    runs.logs(tmp_path, at=120)
    put(log, content, at=380)
    runs.logs(tmp_path, at=400)
    assert ledger(500) == [[(*DONE, 0, 100), (*OPEN, 100, 120), (*UNSEEN, 120, 500)]]


def test_a_pattern_does_not_say_which_folders_it_could_not_list(runs, fleet, ledger, tmp_path):
    fleet("llama", "phi")
    for job in ("llama", "phi"):
        put(tmp_path / job / "rank-0.log", steps(10), at=100)
    runs.logs(tmp_path / "*/rank-*.log", at=120)
    (tmp_path / "llama").rename(tmp_path / ".llama")
    runs.logs(tmp_path / "*/rank-*.log", at=400)
    assert ledger(500) == [
        [(*DONE, 0, 100), (*OPEN, 100, 120), (*UNSEEN, 120, 500)],
        [(*DONE, 0, 100), (*HANG, 100, 400), (*UNSEEN, 400, 500)],
    ]


def test_roots_of_one_name_see_what_one_of_them_has(runs, fleet, ledger, tmp_path, monkeypatch):
    fleet("llama", "phi")
    for job in ("llama", "phi"):
        put(tmp_path / job / "rank-0.log", steps(10), at=100)
    # As when a key in the address was all that told them apart.
    monkeypatch.setattr("goodput.sources.places.Place.root", "s3://logs")
    both = (tmp_path / "llama", tmp_path / "phi")
    for at in (120, 300):
        assert ("log_reads" in runs.logs(*both, at=at)) == (at == 120)
    shutil.move(tmp_path / "llama", tmp_path / "elsewhere")
    runs.logs(*both, at=400)
    assert ledger(400) == [
        [(*DONE, 0, 100), (*HANG, 100, 300), (*UNSEEN, 300, 400)],
        [(*DONE, 0, 100), (*HANG, 100, 400)],
    ]


def test_what_rotates_away_is_no_gap_while_the_log_goes_on(runs, fleet, ledger, tmp_path):
    fleet("llama")
    lines = steps(20).splitlines(keepends=True)
    old = put(tmp_path / "llama/rank-0.log.1", "".join(lines[:10]), at=100)
    put(tmp_path / "llama/rank-0.log", "".join(lines[10:]), at=200)
    runs.logs(tmp_path, at=220)
    old.unlink()
    runs.logs(tmp_path, at=400)
    assert ledger(400) == [[(*DONE, 0, 200), (*HANG, 200, 400)]]


def test_a_dump_is_one_look_at_the_newest_instant_that_it_tells_of(runs, fleet, ledger, tmp_path):
    fleet("llama", "phi")
    for folder, job, count in (("one", "llama", 10), ("one", "phi", 40), ("two", "phi", 60)):
        put(tmp_path / folder / job / "rank-0.log", steps(count), at=7000)

    def dump(folder, at):
        reports = collect_files([tmp_path / folder], now=DAY + timedelta(seconds=at))
        take_dump(runs.lake, reports, cluster="default", now=DAY + timedelta(seconds=at))

    dump("one", 1000)
    silent = [(*DONE, 0, 100), (*HANG, 100, 400), (*UNSEEN, 400, 7200)]
    assert ledger(7200) == [silent, [(*DONE, 0, 400), (*UNSEEN, 400, 7200)]]
    # A later dump says nothing of a job whose log is not in it.
    dump("two", 2000)
    assert ledger(7200) == [silent, [(*DONE, 0, 600), (*UNSEEN, 600, 7200)]]
    # Whoever looks at the log itself knows that the job was silent.
    runs.logs(tmp_path / "one/llama", at=7150)
    assert ledger(7200)[0] == [(*DONE, 0, 100), (*HANG, 100, 7150), (*UNSEEN, 7150, 7200)]
