"""Whose a listed checkpoint is: names in its path, whole ones, the longest first."""

import duckdb
import pytest

from goodput.warehouse.models import find_models

MODELS = {model.table: model.sql for model in find_models()}


@pytest.fixture
def owner():
    """The job that a checkpoint of cluster c at root and path is given to."""
    con = duckdb.connect()
    con.execute("create schema raw; create schema observed")
    for table in ("raw.jobs", "raw.checkpoint_files"):
        con.execute(MODELS[table])
    for source in ("kube", "log", "tracker"):
        con.execute(f"create table observed.jobs_{source} as select * from raw.jobs")

    def ask(jobs, path, root=None, job=None):
        con.execute("delete from raw.jobs; delete from raw.checkpoint_files")
        for cluster, key, name, lineage in jobs:
            con.execute(
                "insert into raw.jobs (cluster, job, name, lineage) values (?, ?, ?, ?)",
                [cluster, key, name, lineage],
            )
        con.execute(
            "insert into raw.checkpoint_files"
            " (cluster, job, layout, root, path, step, last_written_at)"
            " values ('c', ?, 'file', ?, ?, 7, timestamptz '2026-03-02 00:00Z')",
            [job, root, path],
        )
        rows = con.sql(MODELS["observed.checkpoints_listing"]).select("job").fetchall()
        return [job for (job,) in rows]

    with con:
        yield ask


LLAMA = ("c", "uid-1", "llama", None)


@pytest.mark.parametrize(
    ("jobs", "path", "expected"),
    [
        ([LLAMA], "/ckpt/llama/step-7", ["uid-1"]),
        ([LLAMA], "llama", ["uid-1"]),
        ([LLAMA], "s3://models/team/llama/step-7", ["uid-1"]),
        ([LLAMA], "/ckpt/uid-1/step-7", ["uid-1"]),
        ([LLAMA], "/ckpt/llama-2/step-7", []),  # a part of a name is no name
        ([LLAMA], "/ckpt/my-llama", []),
        ([("other", "uid-1", "llama", None)], "/ckpt/llama/step-7", []),
        # Several names in a row, as a lineage has them; slashes around it do not matter.
        ([("c", "a", None, "/team/llama/"), LLAMA], "/ckpt/team/llama/step-7", ["a"]),
        ([("c", "a", None, "team/llama"), LLAMA], "/ckpt/team/x/llama", ["uid-1"]),
        ([("c", "a", None, "x/y/z"), ("c", "b", None, "y/z")], "/w/y/z", ["b"]),
        # The longest text counts, not the most names; of two jobs of one name the first key.
        ([("c", "a", "a/b", None), ("c", "z", "long-name", None)], "/a/b/long-name/7", ["z"]),
        ([("c", "z", "llama", None), ("c", "b", "llama", None)], "/ckpt/llama/7", ["b"]),
        # Names that are nothing match nothing.
        ([("c", "a", "", "/"), ("c", "b", None, "//")], "//ckpt//7", []),
    ],
)
def test_names_in_the_path_tell(owner, jobs, path, expected):
    assert owner(jobs, path) == expected


def test_a_name_may_lie_in_the_root_and_the_users_word_counts_first(owner):
    assert owner([LLAMA], "step-7", root="/mnt/llama") == ["uid-1"]
    assert owner([LLAMA], "step-7", root="/mnt/llama", job="mine") == ["mine"]
