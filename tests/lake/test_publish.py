import json
from datetime import UTC, datetime

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodput.errors import GoodputError, NoData, SourceUnreachable, UsageError
from goodput.lake import Lake

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def publish(lake, frame, table="steps", at=None):
    return lake.publish({table: frame}, ingested_from="a test", ingested_at=at)


def test_rows_come_back_with_their_provenance(lake, step_rows):
    published = publish(lake, step_rows([1]), at=NOON)

    [file] = lake.files("steps")
    [row] = pl.read_parquet(file, hive_partitioning=False).to_dicts()
    assert {name: value for name, value in row.items() if value is not None} == {
        "cluster": "default",
        "job": "A",
        "attempt": 1,
        "step": 1,
        "end": datetime(2026, 3, 2, 1, tzinfo=UTC),
        "ingested_at": NOON,
        "ingested_from": "a test",
        "run_id": published.run_id,
        "row_id": "e117df1a2caa354b07086bc7",  # see test_row_ids
    }


def test_files_lie_by_table_and_day(lake, step_rows, tmp_path):
    published = publish(lake, step_rows([1, 23, 24]))

    found = sorted(str(p.relative_to(tmp_path / "lake")) for p in tmp_path.rglob("*.parquet"))
    assert found == [
        f"raw/steps/day=2026-03-02/{published.run_id}.parquet",
        f"raw/steps/day=2026-03-03/{published.run_id}.parquet",
    ]
    assert [(e.day, e.rows) for e in lake.snapshot().entries] == [
        ("2026-03-02", 2),
        ("2026-03-03", 1),
    ]


def test_rows_without_a_time_have_a_partition_of_their_own(lake):
    publish(lake, pl.DataFrame({"job": ["A"], "offset_s": [90.0]}), "clock_offsets")

    assert [entry.day for entry in lake.snapshot().entries] == ["none"]


def test_files_are_sorted_by_time(lake, step_rows, tmp_path):
    publish(lake, step_rows([5, 3, 9, 1]))

    [file] = tmp_path.rglob("*.parquet")
    assert pl.read_parquet(file)["step"].to_list() == [1, 3, 5, 9]


def test_files_of_steps_are_sorted_by_attempt_and_time(lake, step_rows, tmp_path):
    """`-- sorted by` of the table's header: what is read together lies together."""
    again = step_rows([2, 4]).with_columns(pl.lit(2, pl.Int64).alias("attempt"))
    publish(lake, pl.concat([step_rows([5, 1], "B"), again, step_rows([9, 3])]))

    [file] = tmp_path.rglob("*.parquet")
    assert pl.read_parquet(file).select("job", "attempt", "step").rows() == [
        ("A", 1, 3),
        ("A", 1, 9),
        ("A", 2, 2),
        ("A", 2, 4),
        ("B", 1, 1),
        ("B", 1, 5),
    ]


def test_publishing_twice_adds_nothing(lake, step_rows, steps_in):
    first = publish(lake, step_rows([1, 2, 30]), at=NOON)
    commits = lake.snapshot().commits
    again = publish(lake, step_rows([30, 2, 1]), at=datetime(2026, 4, 1, tzinfo=UTC))

    assert (first.rows_added, again.rows_added) == ({"steps": 3}, {"steps": 0})
    assert lake.snapshot().commits == commits
    assert steps_in(lake) == [1, 2, 30]


def test_late_rows_join_the_day_they_belong_to(lake, step_rows, steps_in):
    publish(lake, step_rows([1, 30]))
    late = publish(lake, step_rows([1, 2]))

    assert late.rows_added == {"steps": 1}
    assert steps_in(lake) == [1, 2, 30]


def test_duplicates_inside_a_batch_collapse(lake, step_rows, steps_in):
    published = publish(lake, step_rows([7, 7, 8, 7]))

    assert published.rows_given == {"steps": 4}
    assert steps_in(lake) == [7, 8]


def test_one_run_may_publish_several_times(lake, step_rows, steps_in):
    for number in (1, 2, 3):
        lake.publish(
            {"steps": step_rows([number])},
            ingested_from="a test",
            ingested_at=None,
            run_id="20260302T000000000Z-run",
        )

    assert steps_in(lake) == [1, 2, 3]
    assert {entry.run_id for entry in lake.snapshot().entries} == {"20260302T000000000Z-run"}


def test_a_publish_is_one_commit_over_all_tables(lake, step_rows, tmp_path):
    jobs = pl.DataFrame({"job": ["A"], "state": ["running"]})
    lake.publish({"steps": step_rows([1]), "jobs": jobs}, ingested_from="a test", ingested_at=None)

    [commit] = (tmp_path / "lake" / "manifest").iterdir()
    document = json.loads(commit.read_text())
    assert [(file["table"], file["rows"]) for file in document["files"]] == [
        ("steps", 1),
        ("jobs", 1),
    ]


@settings(max_examples=25, deadline=None)
@given(
    batches=st.lists(st.lists(st.integers(0, 60), max_size=8), min_size=1, max_size=4),
    seed=st.randoms(use_true_random=False),
)
def test_order_repetition_and_slicing_change_nothing(
    tmp_path_factory, step_rows, steps_in, batches, seed
):
    lake = Lake.open(tmp_path_factory.mktemp("lake"), create=True)
    everything = sorted({step for batch in batches for step in batch})
    for batch in [*batches, *seed.sample(batches, len(batches)), everything]:
        publish(lake, step_rows(batch))

    assert steps_in(lake) == everything


class Killed(BaseException):
    """The process is gone: nothing after this line of the writer runs."""


def kill_at(monkeypatch, method, call):
    """Lets a method of Lake die at its n-th call, before it does anything."""
    calls = 0
    original = getattr(Lake, method)

    def dying(self, *arguments):
        nonlocal calls
        calls += 1
        if calls == call:
            raise Killed
        return original(self, *arguments)

    monkeypatch.setattr(Lake, method, dying)


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_killed_writer_leaves_nothing_visible_and_a_rerun_completes(
    lake, step_rows, steps_in, tmp_path, monkeypatch, call
):
    publish(lake, step_rows([1]))
    with monkeypatch.context() as patch:
        kill_at(patch, "_put", call)  # the files of two days, then the manifest
        with pytest.raises(Killed):
            publish(lake, step_rows([2, 30]))
    assert steps_in(lake) == [1]

    publish(lake, step_rows([2, 30]))

    assert steps_in(lake) == [1, 2, 30]
    assert len(list(tmp_path.rglob("*.parquet"))) == 3 + (call - 1)  # orphans wait for compact


def test_a_half_written_data_file_is_not_read(lake, step_rows, steps_in, tmp_path):
    publish(lake, step_rows([1]))
    (tmp_path / "lake/raw/steps/day=2026-03-02/orphan.parquet").write_bytes(b"PAR1half")
    (tmp_path / "lake/manifest/.half.tmp").write_bytes(b'{"version": 1, "fil')

    publish(lake, step_rows([2]))

    assert steps_in(lake) == [1, 2]


def test_two_writers_of_the_same_row_cost_a_copy_that_row_ids_reveal(lake, step_rows, monkeypatch):
    empty = lake.snapshot()
    publish(lake, step_rows([1]), at=NOON)
    monkeypatch.setattr(Lake, "snapshot", lambda _: empty)  # what a writer saw a moment earlier
    publish(lake, step_rows([1]), at=NOON)
    monkeypatch.undo()

    files = lake.files("steps")
    with duckdb.connect() as con:
        found = con.execute(
            "select count(*), count(distinct row_id) from read_parquet(?)", [files]
        ).fetchall()
    assert found == [(2, 1)]


def test_a_column_that_the_contract_does_not_have_is_refused(lake):
    frame = pl.DataFrame({"job": ["A"], "gpu_count": [8]})
    with pytest.raises(GoodputError, match=r"raw\.jobs has no column 'gpu_count'"):
        publish(lake, frame, "jobs")


def test_a_value_of_the_wrong_type_is_refused(lake):
    frame = pl.DataFrame({"job": ["A"], "attempt": ["first"], "end": [NOON]})
    with pytest.raises(GoodputError, match=r"rows for raw\.steps do not fit its types"):
        publish(lake, frame)


def test_a_table_that_the_contract_does_not_have_is_refused(lake):
    with pytest.raises(GoodputError, match="there is no raw table 'stages'"):
        publish(lake, pl.DataFrame({"a": [1]}), "stages")


def test_a_missing_lake_is_no_data(tmp_path):
    with pytest.raises(NoData, match="there is no lake at"):
        Lake.open(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_place_that_cannot_be_reached_is_said_to_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceUnreachable, match="cannot be reached"):
        Lake.open(tmp_path / "file" / "lake", create=True)
    with pytest.raises(UsageError, match="an address with gopher:// cannot be opened; the forms"):
        Lake.open("gopher://host/lake")


def test_a_file_url_is_the_same_lake(lake, step_rows, tmp_path, steps_in):
    publish(lake, step_rows([1]))

    assert steps_in(Lake.open((tmp_path / "lake").as_uri())) == [1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is damaged"),
        (b'{"version": 1}', "is damaged"),
        (b'{"version": 2}', "was written by a later goodput; upgrade this one"),
    ],
)
def test_a_manifest_that_cannot_be_understood_is_an_error(lake, tmp_path, content, message):
    (tmp_path / "lake/manifest/20260302.json").write_bytes(content)
    with pytest.raises(GoodputError, match=message):
        lake.snapshot()
