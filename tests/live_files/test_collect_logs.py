"""`collect logs` over runs: growth, rotation, packing, damage; the same rows whatever happens."""

import gzip
import shutil

import pytest
import zstandard
from collector_runs import Runs, put, touch

from goodput.errors import NoData, UsageError
from goodput.logs import read_log
from goodput.sources.dump import NOTHING_FOUND
from goodput.sources.live_logs import path_pattern
from goodput.sources.places import Place

STEPS = ("line", "first", "last", "started_at", "ended_at", "ingested_at")


def step(number, at):
    return f"{stamp(at)} completed step: {number}, seconds: 10.0\n"


def stamp(at):
    return f"2026-03-02T00:{at // 60:02d}:{at % 60:02d}Z"


def steps(first, last):
    """Steps of 10 s each; step n ends at n * 10 s."""
    return "".join(step(n, n * 10) for n in range(first, last + 1))


def test_what_a_log_tells_and_whose_it_is(runs, tmp_path):
    log = put(tmp_path / "run7/rank-3.log", steps(1, 2), at=20)
    assert runs.logs(log, at=100, job="J", attempt=2, cluster="c", tz="Asia/Tokyo") == {
        "log_files": 1,
        "log_segments": 1,
        "log_steps": 2,
        "log_reads": 1,
    }
    columns = ("cluster", "path", "format", "lines", "job", "attempt", "rank", "path_job", "tz")
    assert runs.rows("log_files", *columns) == [
        ("c", str(log), "maxtext", 2, "J", 2, 3, "run7", "Asia/Tokyo")
    ]
    assert runs.rows("log_steps", *STEPS) == [(1, 1, 1, 0, 10, 100), (2, 2, 2, 10, 20, 100)]
    assert runs.said == [f"{log}: maxtext: 1 log_segments, 2 log_steps"]


def test_a_log_that_nothing_names_a_job_for_says_so(runs, tmp_path):
    (tmp_path / "logs").mkdir()
    log = put(tmp_path / "logs/train.log", steps(1, 2), at=20)
    runs.logs(log, at=100)
    runs.logs(log, at=200, job="J")
    read = f"{log}: maxtext: 1 log_segments, 2 log_steps"
    assert runs.said == [f"{read}; no job is named, --job or --path-pattern can", read]


def test_a_file_that_is_as_it_was_is_not_opened(runs, tmp_path, monkeypatch):
    put(tmp_path / "run7/rank-3.log", steps(1, 2), at=20)
    runs.logs(tmp_path / "run7", at=2000)
    with monkeypatch.context() as patch:
        patch.setattr("goodput.sources.places.Place.read", lambda *_: pytest.fail("was opened"))
        assert runs.logs(tmp_path / "run7", at=3000) == {}
    assert (runs.taken.files, runs.taken.unchanged, runs.taken.known) == (1, 1, 1)


def test_a_file_that_is_read_again_adds_nothing(runs, tmp_path):
    put(tmp_path / "run7/rank-3.log", steps(1, 2), at=20)
    runs.logs(tmp_path / "run7", at=2000)
    assert runs.logs(tmp_path / "run7", at=3000, again=True) == {}
    assert runs.taken.unchanged == 0


def test_growth_adds_the_new_rows_only(runs, tmp_path):
    log = put(tmp_path / "rank-0.log", steps(1, 2), at=20)
    runs.logs(log, at=100)
    put(log, steps(1, 4), at=40)
    assert runs.logs(log, at=200) == {
        "log_files": 1,
        "log_segments": 1,
        "log_steps": 2,
        "log_reads": 1,
    }
    assert runs.rows("log_steps", *STEPS) == [
        (1, 1, 1, 0, 10, 100),
        (2, 2, 2, 10, 20, 100),
        (3, 3, 3, 20, 30, 200),
        (4, 4, 4, 30, 40, 200),
    ]
    assert runs.rows("log_segments", "last_line", "last_step", "ingested_at") == [
        (2, 2, 100),
        (4, 4, 200),
    ]


def test_a_line_that_is_being_written_waits_until_it_is_whole(runs, tmp_path):
    log = put(tmp_path / "rank-0.log", steps(1, 2) + stamp(30) + " completed step: 1", at=30)
    runs.logs(log, at=100)
    assert runs.rows("log_reads", "lines", "file_bytes", "unread_bytes") == [(2, 146, 38)]
    assert runs.logs(log, at=200) == {}
    put(log, steps(1, 2) + stamp(30) + " completed step: 100, seconds: 10.0\n", at=210)
    runs.logs(log, at=300)
    assert runs.rows("log_steps", "line", "last", "ingested_at") == [
        (1, 1, 100),
        (2, 2, 100),
        (3, 100, 300),
    ]


def test_a_last_line_without_an_end_counts_once_the_file_is_quiet(runs, tmp_path):
    log = put(tmp_path / "rank-0.log", steps(1, 2).rstrip("\n"), at=20)
    assert runs.logs(log, at=100)["log_steps"] == 1
    assert runs.logs(log, at=919) == {}
    assert runs.logs(log, at=920)["log_steps"] == 1
    assert runs.logs(log, at=2000) == {}
    assert runs.rows("log_steps", "last", "ingested_at") == [(1, 100), (2, 920)]


def test_a_progress_bar_need_not_end_its_line(runs, tmp_path):
    bars = "".join(f"\r{n * 10}%|#| {n}/10 [00:{n * 5:02d}<00:10, 5.00s/it]" for n in (1, 2, 3))
    log = put(tmp_path / "rank-0.log", f"{stamp(0)} start\n{bars}", at=20)
    runs.logs(log, at=100)
    [(lines, unread)] = runs.rows("log_reads", "lines", "unread_bytes")
    assert (lines, unread) == (1, len("30%|#| 3/10 [00:15<00:10, 5.00s/it]"))


@pytest.mark.parametrize("way", ["rename", "copytruncate"])
def test_rotation_between_runs_neither_loses_nor_doubles(runs, tmp_path, way):
    log = put(tmp_path / "rank-0.log", steps(1, 2), at=20)
    runs.logs(tmp_path, at=100)
    put(log, steps(1, 3), at=30)  # written after the last run, before the rotation
    rotated = tmp_path / "rank-0.log.1"
    if way == "rename":
        log.rename(rotated)
    else:
        shutil.copy2(log, rotated)
        log.write_text("")
    put(log, steps(4, 5), at=50)
    assert runs.logs(tmp_path, at=200)["log_steps"] == 3
    assert runs.logs(tmp_path, at=300) == {}
    # Again, with the older part packed, as logrotate's delaycompress does.
    put(tmp_path / "rank-0.log.2.gz", gzip.compress(steps(1, 3).encode()), at=30)
    shutil.move(log, rotated)
    put(log, steps(6, 6), at=60)
    assert runs.logs(tmp_path, at=400)["log_steps"] == 1
    assert runs.rows("log_steps", "first", "ended_at", "ingested_at") == [
        (1, 10, 100),
        (2, 20, 100),
        (3, 30, 200),
        (4, 40, 200),
        (5, 50, 200),
        (6, 60, 400),
    ]
    assert len({log_id for (log_id,) in runs.rows("log_steps", "log_id")}) == 3


@pytest.mark.parametrize(
    "name",
    [
        "rank-0.log.7",
        "rank-0.log.7.gz",
        "rank-0.log-20260302",
        "rank-0.log-20260302.gz",
        "rank-0.log-2026030210",
        "rank-0.log-20260302-1772445600",
        "rank-0.log.2026-03-02",
        "rank-0.log.2026-03-02_10",
        "rank-0.log.2026-03-02_10-15-00.zst",
        "rank-0.log.20260302-101500.gz",
    ],
)
def test_every_way_to_name_a_rotated_file_keeps_the_log(runs, tmp_path, name):
    log = put(tmp_path / "rank-0.log", steps(1, 2), at=20)
    runs.logs(tmp_path, at=100)
    log.rename(tmp_path / name)
    assert runs.logs(tmp_path, at=2000) == {"log_files": 1, "log_reads": 1}
    assert len(set(runs.rows("log_files", "log_id"))) == 1


def test_a_file_that_was_begun_anew_with_the_same_banner_is_another_log(runs, tmp_path):
    banner = "using world size: 8, data-parallel size: 8\n"
    log = put(tmp_path / "rank-0.log", banner + steps(1, 3), at=30)
    runs.logs(log, at=100)
    put(log, banner + steps(3, 4), at=40)
    runs.logs(log, at=200)
    put(log, banner + steps(3, 5), at=50)
    runs.logs(log, at=300)
    rows = runs.rows("log_steps", "log_id", "line", "first", "ingested_at")
    first, second = rows[0][0], rows[-1][0]
    assert rows == [
        (first, 2, 1, 100),
        (first, 3, 2, 100),
        (first, 4, 3, 100),
        (second, 2, 3, 200),
        (second, 3, 4, 200),
        (second, 4, 5, 300),
    ]
    assert first != second


def test_a_packed_file_that_was_cut_off_is_read_to_the_cut_and_later_whole(runs, tmp_path):
    packed = gzip.compress(steps(1, 50).encode(), compresslevel=0)
    log = put(tmp_path / "rank-0.log.gz", packed[: len(packed) // 2], at=20)
    added = runs.logs(log, at=1000)
    assert (added["log_steps"], added["quarantine"]) == (25, 1)
    assert runs.rows("quarantine", "file", "reason") == [
        (str(log), "the compressed data are cut off or damaged; the part before was read")
    ]
    assert runs.logs(log, at=1500) == {}
    put(log, packed, at=1600)
    assert runs.logs(log, at=2000)["log_steps"] == 25
    assert [first for (first,) in sorted(runs.rows("log_steps", "first"))] == [*range(1, 51)]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress, bytes])
def test_a_packed_log_gives_the_rows_of_the_plain_one(runs, tmp_path, pack):
    put(tmp_path / "rank-0.log", pack(steps(1, 2).encode()), at=20)
    runs.logs(tmp_path, at=100)
    assert runs.rows("log_steps", *STEPS) == [(1, 1, 1, 0, 10, 100), (2, 2, 2, 10, 20, 100)]


def test_a_reading_that_more_of_the_log_contradicts_no_longer_counts(runs, tmp_path):
    # Progress bars are steps while there is nothing better; then the trainer's own lines are.
    bars = "".join(
        f"{stamp(n * 10)} {n}%|#| {n}/100 [00:{n * 10:02d}<10:00, 10.00s/it]\n" for n in (1, 2, 3)
    )
    log = put(tmp_path / "rank-0.log", bars, at=30)
    runs.logs(log, at=100)
    [old] = {log_id for (log_id,) in runs.rows("log_steps", "log_id")}
    put(log, bars + steps(4, 5), at=50)
    runs.logs(log, at=200)
    [(new, replaces)] = runs.rows("log_reads", "log_id", "replaces")[1:]
    assert replaces == old
    assert runs.rows("log_steps", "log_id", "line", "last") == [
        (old, 1, 1),
        (old, 2, 2),
        (old, 3, 3),
        (new, 4, 4),
        (new, 5, 5),
    ]
    put(log, bars + steps(4, 6), at=60)
    assert runs.logs(log, at=300)["log_steps"] == 1
    assert runs.rows("log_reads", "log_id", "replaces")[-1] == (new, None)


def test_folders_patterns_and_files_name_each_file_once(runs, tmp_path):
    for name in ("a/rank-0.log", "a/b/rank-1.log", "a/.hidden.log", "a/.git/x.log"):
        put(tmp_path / name, steps(1, 1), at=10)
    runs.logs(tmp_path / "a", tmp_path / "a/*.log", tmp_path / "a/rank-0.log", at=100)
    assert runs.taken.files == 2
    runs.logs(tmp_path / "**/rank-1.log", at=200)
    assert (runs.taken.files, runs.taken.unchanged) == (1, 0)


def test_what_is_no_log_is_refused_once_and_with_a_reason(runs, tmp_path):
    put(tmp_path / "model.bin", bytes(range(32)) * 400, at=10)
    put(tmp_path / "notes.txt", "buy milk\n", at=10)
    put(tmp_path / "empty.log", "", at=10)
    runs.logs(tmp_path, at=100)
    assert runs.rows("quarantine", "file", "reason") == [
        (str(tmp_path / "model.bin"), "binary bytes; only text, gzip and zstd are read"),
        (str(tmp_path / "notes.txt"), NOTHING_FOUND),
    ]
    assert runs.said[1:2] == [f"{tmp_path}/model.bin: no log: 1 quarantined"]
    assert runs.logs(tmp_path, at=2000) == {}


def test_a_path_that_is_not_there_does_not_stop_the_others(runs, tmp_path):
    log = put(tmp_path / "rank-0.log", steps(1, 1), at=10)
    assert runs.logs(tmp_path / "none", tmp_path / "*.out", log, at=100)["log_steps"] == 1
    assert [(type(error), str(error)) for error in runs.taken.errors] == [
        (NoData, f"there is no file or folder {tmp_path}/none; check the path"),
        (NoData, f"no file or folder has a name like {tmp_path}/*.out; check the pattern"),
    ]


def test_what_the_user_says_anew_is_read_anew(runs, tmp_path):
    log = put(tmp_path / "rank-0.log", steps(1, 1), at=10)
    runs.logs(log, at=100)
    assert runs.logs(log, at=200, job="J") == {"log_files": 1, "log_reads": 1}
    assert runs.logs(log, at=300, job="J") == {}
    assert runs.rows("log_files", "job", "ingested_at") == [(None, 100), ("J", 200)]


def test_a_file_that_is_rotated_while_others_are_read_is_found_at_the_next_run(runs, tmp_path):
    log = put(tmp_path / "rank-1.log", steps(1, 2), at=20)
    put(tmp_path / "rank-0.log", steps(1, 2), at=20)
    runs.say = lambda _: log.exists() and log.rename(tmp_path / "rank-1.log.1")
    assert runs.logs(tmp_path, at=1000)["log_steps"] == 2
    assert runs.rows("quarantine", "reason") == []
    assert runs.logs(tmp_path, at=2000)["log_steps"] == 2


def test_a_file_that_may_not_be_read_is_refused_and_the_others_are_taken(
    runs, tmp_path, monkeypatch
):
    put(tmp_path / "rank-0.log", steps(1, 2), at=20)
    put(tmp_path / "rank-1.log", steps(1, 2), at=20)
    read = Place.read

    def refuse(place, stored):
        if stored.name.endswith("rank-0.log"):
            raise PermissionError(13, "Permission denied")
        return read(place, stored)

    monkeypatch.setattr("goodput.sources.places.Place.read", refuse)
    assert runs.logs(tmp_path, at=1000)["log_steps"] == 2
    assert runs.rows("quarantine", "file", "reason") == [
        (f"{tmp_path}/rank-0.log", "the file cannot be read: Permission denied")
    ]


def test_a_pattern_says_what_paths_mean(runs, tmp_path):
    pattern = path_pattern(r"/(?P<job>[^/]+)/try(?P<attempt>\d+)/w(?P<rank>\d+)\.txt")
    put(tmp_path / "moe/try3/w12.txt", steps(1, 1), at=10)
    put(tmp_path / "else/x.txt", steps(1, 1), at=10)
    runs.logs(tmp_path, at=1000, pattern=pattern)
    assert runs.rows("log_files", "job", "attempt", "rank") == [(None, None, None), ("moe", 3, 12)]
    assert runs.logs(tmp_path, at=2000, pattern=pattern) == {}
    assert runs.logs(tmp_path, at=3000, pattern=pattern, job="J", attempt=1)["log_files"] == 2
    assert sorted(set(runs.rows("log_reads", "job", "attempt")), key=str) == [
        ("J", 1),
        ("moe", 3),
        (None, None),
    ]


@pytest.mark.parametrize("text", ["(", "run", "(?P<owner>x)"])
def test_a_pattern_that_says_nothing_is_refused(text):
    with pytest.raises(UsageError, match=r"regular expression|needs named groups"):
        path_pattern(text)


def test_a_touched_file_is_read_and_adds_only_the_reading(runs, tmp_path):
    log = put(tmp_path / "rank-0.log", steps(1, 1), at=10)
    runs.logs(log, at=1000)
    touch(log, 500)
    assert runs.logs(log, at=2000) == {"log_reads": 1}


def test_two_collectors_at_once_leave_each_row_once(runs, tmp_path):
    for rank in (0, 1):
        put(tmp_path / f"rank-{rank}.log", steps(1, 2), at=20)
    other = Runs(runs.folder)
    # The other one begins and ends while this one is between two files.
    runs.say = lambda _: other.logs(tmp_path, at=101)
    runs.logs(tmp_path, at=100)
    assert sorted(runs.rows("log_steps", "ingested_from", "first")) == [
        (f"{tmp_path}/rank-{rank}.log", first) for rank in (0, 1) for first in (1, 2)
    ]
    assert len(runs.rows("log_reads", "path")) == 2


def test_a_collector_that_is_killed_leaves_nothing_half(runs, tmp_path):
    for rank in (0, 1):
        put(tmp_path / f"rank-{rank}.log", steps(1, 2), at=20)

    def kill(_):
        raise KeyboardInterrupt

    runs.say = kill
    with pytest.raises(KeyboardInterrupt):
        runs.logs(tmp_path, at=100)
    assert runs.rows("log_steps", "first") == []
    runs.say = runs.said.append
    assert runs.logs(tmp_path, at=200)["log_steps"] == 4


def test_a_row_that_breaks_the_contract_is_refused_and_names_its_file(runs, tmp_path, monkeypatch):
    put(tmp_path / "rank-0.log", steps(1, 2), at=20)
    put(tmp_path / "rank-1.log", steps(1, 2), at=20)

    def spoilt(source, hints):
        result = read_log(source, hints)
        if hints.path.endswith("rank-1.log"):
            result.tables["log_steps"] = rows = list(result.tables["log_steps"])
            rows[1]["last"] = 0
        return result

    monkeypatch.setattr("goodput.sources.one_log.read_log", spoilt)
    assert runs.logs(tmp_path, at=1000)["log_steps"] == 3
    assert runs.rows("log_steps", "ingested_from", "first") == [
        (f"{tmp_path}/rank-0.log", 1),
        (f"{tmp_path}/rank-0.log", 2),
        (f"{tmp_path}/rank-1.log", 1),
    ]
    assert runs.rows("quarantine", "file", "table_name", "column_name", "value", "reason") == [
        (
            f"{tmp_path}/rank-1.log",
            "log_steps",
            "last",
            "0",
            "breaks the order: last is below first",
        )
    ]
    assert runs.taken.quarantined == 1
