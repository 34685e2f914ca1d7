"""A lake in an object store: the same rows as on disk, whoever writes, dies or reads elsewhere."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from goodput.errors import GoodputError, NoData, SourceUnreachable
from goodput.lake import Lake
from goodput.warehouse.query import open_session

LATER = date(2026, 4, 1)
NOW = timedelta(0)


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """Opens a lake as on a machine that has never seen it."""
    machines = iter(range(100))

    def visit(url, **options):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"machine-{next(machines)}"))
        return Lake.open(url, **options)

    return visit


@pytest.fixture
def lake(bucket, elsewhere):
    return elsewhere(bucket.url("team/lake"), create=True)


def publish(lake, frame):
    return lake.publish({"steps": frame}, ingested_from="a test", ingested_at=None)


def test_rows_are_seen_from_everywhere(lake, bucket, elsewhere, step_rows, steps_in):
    published = publish(lake, step_rows([1, 2, 30]))
    again = publish(elsewhere(bucket.url("team/lake")), step_rows([30, 2, 3]))

    assert (published.rows_added, again.rows_added) == ({"steps": 3}, {"steps": 1})
    assert steps_in(elsewhere(bucket.url("team/lake"))) == [1, 2, 3, 30]
    assert bucket.objects() == [
        "team/lake/manifest/.lake",
        f"team/lake/manifest/{published.run_id}.json",
        f"team/lake/manifest/{again.run_id}.json",
        f"team/lake/raw/steps/day=2026-03-02/{published.run_id}.parquet",
        f"team/lake/raw/steps/day=2026-03-02/{again.run_id}.parquet",
        f"team/lake/raw/steps/day=2026-03-03/{published.run_id}.parquet",
    ]
    assert lake.url == f"{bucket.scheme}://{bucket.name}/team/lake"


def test_there_is_no_lake_until_one_is_made(bucket, elsewhere, steps_in):
    with pytest.raises(NoData, match=f"there is no lake at {bucket.scheme}://{bucket.name}/x; "):
        Lake.open(bucket.url("x"))
    elsewhere(bucket.url("x"), create=True)
    Lake.open(bucket.url("x"), create=True)
    assert bucket.objects() == ["x/manifest/.lake"]
    assert steps_in(Lake.open(bucket.url("x"))) == []
    assert Lake.open(bucket.url("x")).is_writable()
    assert bucket.objects() == ["x/manifest/.lake"]


def test_what_was_read_once_is_not_fetched_again(lake, bucket, step_rows, steps_in):
    publish(lake, step_rows([1, 30]))
    assert steps_in(lake) == [1, 30]
    bucket.delete("team/lake/raw")

    assert steps_in(lake) == [1, 30]


def test_writers_at_once_lose_no_commit(lake, bucket, step_rows, steps_in):
    def write(writer):
        mine = Lake.open(bucket.url("team/lake"))
        for number in range(5):
            publish(mine, step_rows([writer * 10 + number]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))

    assert steps_in(lake) == [writer * 10 + number for writer in range(4) for number in range(5)]
    assert len(lake.snapshot().commits) == 20


def test_a_commit_whose_name_is_taken_gets_another(lake, step_rows):
    publish(lake, step_rows([1]))
    [first] = lake.snapshot().commits
    [entry] = first.files
    lake._commit(replace(first, files=(replace(entry, path=f"{entry.path}.other"),)))

    names = [commit.name for commit in lake.snapshot().commits]
    assert len(names) == 2
    assert names[0] == first.name
    assert names[1].startswith(f"{first.run_id}-")
    assert [commit.files[0].path for commit in lake.snapshot().commits] == [
        entry.path,
        f"{entry.path}.other",
    ]


DYING = """
import os, signal, sys
import polars as pl
from goodput.lake import Lake
from goodput.stores import ObjectStore

url, rows, last = sys.argv[1:]
create, calls = ObjectStore.create, 0

def dying(self, path, content):
    global calls
    calls += 1
    if calls == int(last):
        os.kill(os.getpid(), signal.SIGKILL)
    create(self, path, content)

ObjectStore.create = dying
frame = pl.read_ndjson(rows).with_columns(pl.col("end").str.to_datetime(time_zone="UTC"))
Lake.open(url).publish({"steps": frame}, ingested_from="a test", ingested_at=None)
"""


@pytest.mark.parametrize("put", [1, 2, 3])
def test_a_killed_writer_leaves_nothing_visible_and_a_rerun_completes(
    lake, bucket, step_rows, steps_in, tmp_path, put
):
    publish(lake, step_rows([1]))
    rows = tmp_path / "rows.ndjson"
    rows.write_text(
        "\n".join(
            json.dumps({**row, "end": row["end"].isoformat()})
            for row in step_rows([2, 30]).to_dicts()
        )
    )
    url = bucket.url("team/lake")
    died = subprocess.run([sys.executable, "-c", DYING, url, str(rows), str(put)], check=False)
    assert died.returncode == -signal.SIGKILL
    assert steps_in(lake) == [1]

    publish(lake, step_rows([2, 30]))

    assert steps_in(lake) == [1, 2, 30]
    assert len([key for key in bucket.objects() if key.endswith(".parquet")]) == 3 + (put - 1)
    assert lake.compact(today=LATER).files_removed == 0  # young files may be a writer's at work
    assert lake.compact(today=LATER, keep=NOW).files_removed == 2 + (put - 1)
    assert steps_in(lake) == [1, 2, 30]


def test_compaction_lets_go_of_old_files_here_and_there(
    lake, bucket, step_rows, steps_in, elsewhere
):
    for numbers in ([1, 2], [3, 25], [4, 26]):
        publish(lake, step_rows(numbers))
    before = lake.snapshot()
    first = lake.compact(today=LATER)
    assert (first.files_before, first.files_after, first.files_removed) == (5, 2, 0)
    assert pl.read_parquet(before.files("steps"), hive_partitioning=False).height == 6

    second = lake.compact(today=LATER, keep=NOW)
    assert (second.files_before, second.files_after, second.files_removed) == (2, 2, 5)
    assert [key.split("/")[2] for key in bucket.objects()] == ["manifest"] * 2 + ["raw"] * 2
    assert steps_in(elsewhere(bucket.url("team/lake"))) == [1, 2, 3, 4, 25, 26]

    lake.files("steps")
    copies = list(lake.local_root.rglob("*.parquet"))
    for copy in copies:
        os.utime(copy, (0, 0))
    lake.snapshot()
    assert (len(copies), len(list(lake.local_root.rglob("*.parquet")))) == (7, 2)


def test_a_file_that_went_is_a_sentence(lake, bucket, step_rows):
    publish(lake, step_rows([1]))
    snapshot = lake.snapshot()
    bucket.delete("team/lake/raw")

    with pytest.raises(GoodputError, match=r"a file of raw\.steps went from .*; run it again"):
        snapshot.files("steps")


def test_a_file_of_another_length_is_not_taken(lake, bucket, elsewhere, step_rows):
    publish(lake, step_rows([1]))
    [entry] = lake.snapshot().entries
    bucket.put(f"team/lake/{entry.path}", b"PAR1")

    with pytest.raises(GoodputError, match="is not as long as its manifest says"):
        elsewhere(bucket.url("team/lake")).files("steps")


def test_the_last_build_is_everybodys(lake, bucket, elsewhere, tmp_path):
    def build(content):
        scratch = lake.local_root / ".scratch"
        lake.local_root.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(content)
        return lake.install_warehouse(scratch)

    other = elsewhere(bucket.url("team/lake"))
    assert other.built_warehouse() is None
    first = build(b"one")
    assert lake.built_warehouse() == first
    fetched = other.built_warehouse()
    assert fetched.read_bytes() == b"one"
    assert tmp_path / "machine-1" in fetched.parents
    build(b"the other")
    assert other.built_warehouse().read_bytes() == b"the other"
    assert fetched.read_bytes() == b"one"  # a session that has it open keeps it
    assert [path.read_bytes() for path in (first, lake.built_warehouse())] == [b"one", b"the other"]


def test_a_lost_answer_is_no_second_commit(gcs, elsewhere, step_rows, steps_in):
    lake = elsewhere(gcs.url("lost/lake"), create=True)
    gcs.lost_answers = 2  # of the data file and of the commit
    publish(lake, step_rows([1]))

    assert steps_in(lake) == [1]
    assert len(lake.snapshot().commits) == 1
    assert {only_if for path, only_if in gcs.puts if path.startswith("lost/")} == {"0"}


def test_a_store_that_cannot_be_used_is_said_to_be(s3, elsewhere):
    url = s3.url("nowhere/lake")
    with pytest.raises(SourceUnreachable, match=r"the lake s3://nowhere/lake .*NoSuchBucket"):
        elsewhere(url)
    wrong = url.replace("not-a-secret", "a-wrong-one")
    with pytest.raises(SourceUnreachable, match="SignatureDoesNotMatch") as caught:
        elsewhere(wrong, create=True)
    assert "a-wrong-one" not in str(caught.value)


def test_a_session_reads_copies_and_nothing_else(lake, step_rows):
    publish(lake, step_rows([1, 2]))
    with open_session(lake) as session:
        assert session.ask("select count(*) from raw.steps", lambda rows: rows.fetchall()) == [(2,)]
        [path] = lake.files("steps")
        assert Path(path).is_relative_to(lake.raw_root)
    assert datetime.fromtimestamp(Path(path).stat().st_mtime, UTC).year >= 2026
