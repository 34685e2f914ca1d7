from datetime import UTC, date, datetime, timedelta

import duckdb
import polars as pl
import pytest

from goodput.lake import Lake

LATER = date(2026, 4, 1)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOW = timedelta(0)


def publish(lake, frame, at=None):
    lake.publish({"steps": frame}, ingested_from="a test", ingested_at=at)


@pytest.fixture
def busy(lake, step_rows):
    """A lake with three small files on one day and two on the next."""
    for numbers in ([1, 2], [3, 25], [4, 26]):
        publish(lake, step_rows(numbers))
    return lake


def test_closed_days_become_one_file_each(busy, steps_in, tmp_path):
    done = busy.compact(today=LATER)

    assert (done.files_before, done.files_after, done.duplicate_rows) == (5, 2, 0)
    assert [(entry.day, entry.rows) for entry in busy.snapshot().entries] == [
        ("2026-03-02", 4),
        ("2026-03-03", 2),
    ]
    assert steps_in(busy) == [1, 2, 3, 4, 25, 26]
    assert len(list((tmp_path / "lake/manifest").iterdir())) == 1


def test_the_open_day_is_left_alone(busy):
    busy.compact(today=date(2026, 3, 3))

    assert [entry.day for entry in busy.snapshot().entries] == [
        "2026-03-02",
        "2026-03-03",
        "2026-03-03",
    ]


def test_replaced_files_stay_for_readers_until_their_time_is_over(busy, steps_in, tmp_path):
    before = busy.snapshot()
    first = busy.compact(today=LATER)
    with duckdb.connect() as con:
        seen = con.execute(
            "select count(*) from read_parquet(?)", [before.files("steps")]
        ).fetchall()
    second = busy.compact(today=LATER, keep=NOW)

    assert seen == [(6,)]
    assert (first.files_removed, second.files_removed) == (0, 5)
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
    assert steps_in(busy) == [1, 2, 3, 4, 25, 26]


def test_orphans_of_killed_writers_are_swept(busy, tmp_path, steps_in):
    orphan = tmp_path / "lake/raw/steps/day=2026-03-02/orphan.parquet"
    scratch = tmp_path / "lake/manifest/.orphan.tmp"
    orphan.write_bytes(b"PAR1")
    scratch.write_bytes(b"{")
    busy.compact(today=LATER)
    assert orphan.exists()  # it may belong to a writer that is still at work

    busy.compact(today=LATER, keep=NOW)

    assert not orphan.exists()
    assert not scratch.exists()
    assert steps_in(busy) == [1, 2, 3, 4, 25, 26]


def test_compacting_again_changes_nothing(busy):
    busy.compact(today=LATER)
    entries = busy.snapshot().entries
    busy.compact(today=LATER)

    assert busy.snapshot().entries == entries


def test_of_copies_the_one_that_was_known_first_stays(lake, step_rows, monkeypatch):
    empty = lake.snapshot()
    publish(lake, step_rows([1]), at=NOON + timedelta(hours=1))
    monkeypatch.setattr(Lake, "snapshot", lambda _: empty)
    publish(lake, step_rows([1]), at=NOON)
    monkeypatch.undo()

    done = lake.compact(today=LATER)

    [file] = lake.files("steps")
    assert done.duplicate_rows == 1
    assert pl.read_parquet(file)["ingested_at"].to_list() == [NOON]


def test_rows_published_after_a_compaction_are_still_known(busy, step_rows, steps_in):
    busy.compact(today=LATER)
    publish(busy, step_rows([1, 2, 3, 4, 5]))

    assert steps_in(busy) == [1, 2, 3, 4, 5, 25, 26]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("method", ["_put", "_delete"])
@pytest.mark.parametrize("call", range(1, 9))
def test_readers_see_the_old_files_or_the_new_whenever_it_is_killed(
    busy, steps_in, monkeypatch, method, call
):
    busy.compact(today=date(2026, 3, 3), keep=timedelta(days=1))
    calls = 0
    original = getattr(Lake, method)

    def dying(self, *arguments):
        nonlocal calls
        calls += 1
        if calls == call:
            raise Killed
        return original(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Lake, method, dying)
        try:
            busy.compact(today=LATER, keep=NOW)
        except Killed:
            assert steps_in(busy) == [1, 2, 3, 4, 25, 26]

    busy.compact(today=LATER, keep=NOW)
    assert steps_in(busy) == [1, 2, 3, 4, 25, 26]


def test_a_reader_that_meets_a_folding_lists_again(busy, monkeypatch, steps_in):
    original = Lake._read_commits
    waiting = [lambda: busy.compact(today=LATER)]

    def slow(self):
        names = [file.path for file in self._list("manifest")]
        if waiting:
            waiting.pop()()
            assert names != [file.path for file in self._list("manifest")]
            raise FileNotFoundError(names[0])
        return original(self)

    monkeypatch.setattr(Lake, "_read_commits", slow)

    assert steps_in(busy) == [1, 2, 3, 4, 25, 26]
