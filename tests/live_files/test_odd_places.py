"""Folders as they are: very deep, below two roots at once, with pipes and links to nothing."""

import inspect
import os
import sys
from pathlib import Path

import pytest
from collector_runs import put

from goodput.sources.log_lists import LogList
from goodput.sources.places import Place

STEP = "2026-03-02T00:00:10Z completed step: 1, seconds: 10.0\n"


def test_folders_may_be_nested_deeper_than_python_calls(tmp_path):
    depth = 200
    put(tmp_path.joinpath(*["d"] * depth, "rank-0.log"), STEP, at=10)
    place = Place.open(str(tmp_path))
    before = sys.getrecursionlimit()
    # The tree itself stays shallow enough for what cleans up after the tests.
    sys.setrecursionlimit(len(inspect.stack(0)) + depth // 2)
    try:
        entries = place.listing().entries
    finally:
        sys.setrecursionlimit(before)
    assert [entry.is_directory for entry in entries] == [True] * depth + [False]


def test_a_link_to_nothing_does_not_spoil_a_pattern(runs, tmp_path):
    log = put(tmp_path / "run-1.log", STEP, at=10)
    (tmp_path / "latest.log").symlink_to(tmp_path / "run-0.log")
    assert runs.logs(tmp_path / "*.log", at=1000)["log_steps"] == 1
    assert not runs.taken.errors
    log.unlink()
    runs.logs(tmp_path / "*.log", at=2000)
    assert runs.rows("log_lists", "is_complete", "files") == [(True, 1), (False, 0)]


def test_a_match_that_cannot_be_looked_at_hides_only_itself(runs, tmp_path):
    put(tmp_path / "run-1.log", STEP, at=10)
    loop = tmp_path / "run-2.log"
    loop.symlink_to(loop)
    assert runs.logs(tmp_path / "*.log", at=1000)["log_steps"] == 1
    assert runs.rows("log_lists", "is_complete", "files", "unseen") == [(False, 1, [str(loop)])]
    [error] = runs.taken.errors
    assert str(error).startswith(f"{loop}: cannot be listed: ")


def test_a_log_below_two_roots_is_there_below_both(runs, tmp_path):
    put(tmp_path / "llama/rank-0.log", STEP, at=10)
    inner = tmp_path / "llama"
    runs.logs(inner, at=100)
    assert runs.logs(tmp_path, inner, at=200) == {"log_reads": 1}
    for at, roots in ((300, (inner, tmp_path)), (400, (tmp_path, inner)), (500, (inner,))):
        assert runs.logs(*roots, at=at) == {}
    assert "not there" not in "".join(runs.said)


def test_what_cannot_be_read_below_one_root_was_not_seen_below_the_other(
    runs, tmp_path, monkeypatch
):
    log = put(tmp_path / "llama/rank-0.log", STEP, at=10)
    inner = tmp_path / "llama"
    runs.logs(tmp_path, inner, at=100)
    runs.logs(inner, at=200)
    put(log, STEP * 2, at=290)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("goodput.sources.places.Place.read", refuse)
    runs.logs(tmp_path, inner, at=300)
    assert runs.rows("log_lists", "listed_at", "unseen")[-2:] == [(300, [str(log)])] * 2
    assert runs.rows("log_reads", "gone_at") == [(None,), (None,)]


def test_names_that_are_no_text_stay_apart(runs, tmp_path):
    for odd in (b"\xfe", b"\xff"):
        put(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + odd + b".log")), STEP, at=10)
    assert runs.logs(tmp_path, at=1000)["log_steps"] == 2
    names = [(f"{tmp_path}/\\xfe.log",), (f"{tmp_path}/\\xff.log",)]
    assert runs.rows("log_reads", "path") == names


def test_a_pattern_over_folders_and_what_lies_in_them_counts_each_file_once(runs, tmp_path):
    put(tmp_path / "a/b/rank-0.log", STEP, at=10)
    runs.logs(tmp_path / "**", at=1000)
    assert runs.rows("log_lists", "files") == [(1,)]


@pytest.mark.parametrize("read", [Place.read, lambda *what: Place.read_at(*what, 0, 1)])
def test_a_pipe_that_took_the_place_of_a_file_is_not_waited_for(tmp_path, read):
    log = put(tmp_path / "rank-0.log", STEP, at=10)
    place = Place.open(str(tmp_path))
    [stored] = place.listing().entries
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(OSError, match="it is no file any more"):
        read(place, stored)


def test_a_place_that_was_missed_twice_is_named_once():
    listed = LogList("/logs", files=1)
    listed.miss("/logs/a", "first")
    listed.miss("/logs/a", "second")
    assert list(listed.unseen) == ["/logs/a"]
