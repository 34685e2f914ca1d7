"""`collect checkpoints` over runs: what is there, what is whole, what went, what came back."""

import os
import shutil

import pytest
from collector_runs import put, touch

from goodput.errors import NoData, SourceUnreachable, UsageError

HF = {"trainer_state.json": "{}", "model.safetensors": "x" * 4000}
# A layout's own files, what makes it whole taken away, and what is said then.
LAYOUTS = {
    "torch-dcp": (
        "step-100",
        {".metadata": "m" * 700, "__0_0.distcp": "x" * 4000, "__1_0.distcp": "x" * 4000},
        ".metadata",
        "none of .metadata, */.metadata is there",
    ),
    "megatron-dist": (
        "iter_0000100",
        {".metadata": "m", "common.pt": "c" * 900, "__0_0.distcp": "x", "__1_0.distcp": "x"},
        "__0_0.distcp",
        "1 of 2 ranks are missing",
    ),
    "deepspeed": (
        "global_step100",
        {
            "mp_rank_00_model_states.pt": "x" * 4000,
            "zero_pp_rank_0_mp_rank_00_optim_states.pt": "x" * 4000,
            "zero_pp_rank_1_mp_rank_00_optim_states.pt": "x" * 4000,
        },
        "zero_pp_rank_0_mp_rank_00_optim_states.pt",
        "1 of 2 ranks are missing",
    ),
    "hf-trainer": (
        "checkpoint-100",
        {
            "trainer_state.json": "{}",
            "model-00001-of-00002.safetensors": "x" * 4000,
            "model-00002-of-00002.safetensors": "x" * 4000,
        },
        "model-00002-of-00002.safetensors",
        "1 of 2 shards of model are missing",
    ),
    "lightning": (
        "epoch=1-step=100.ckpt",
        {"meta.pt": "x" * 4000, "__0_0.distcp": "x" * 4000},
        "meta.pt",
        "none of checkpoint/*model_states.pt, meta.pt, .metadata is there",
    ),
    "nemo": (
        "llm--val_loss=2.1-step=100-consumed_samples=800.0",
        {"weights/.metadata": "m", "weights/__0_0.distcp": "x" * 4000},
        "weights/.metadata",
        "none of weights/.metadata, weights/metadata.json is there",
    ),
    "orbax": (
        "100",
        {
            "_CHECKPOINT_METADATA": "{}",
            "items/_METADATA": "{}",
            "items/manifest.ocdbt": "m" * 120,
            "items/d/0a1b": "x" * 4000,
        },
        "items/manifest.ocdbt",
        "items/manifest.ocdbt is not there",
    ),
    "composer": (
        ".",
        {"ep0-ba100-rank0.pt": "x" * 4000, "ep0-ba100-rank1.pt": "x" * 4000},
        "ep0-ba100-rank0.pt",
        "1 of 2 ranks are missing",
    ),
}


def save(folder, files, *, at):
    for name, content in files.items():
        put(folder / name, content, at=at)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_is_whole_by_its_own_rule(runs, tmp_path, layout):
    name, files, needed, defect = LAYOUTS[layout]
    save(tmp_path / "whole" / name, files, at=100)
    save(tmp_path / "part" / name, files, at=100)
    (tmp_path / "part" / name / needed).unlink()
    runs.checkpoints(tmp_path / "whole", tmp_path / "part", at=1000)
    assert runs.rows("checkpoint_files", "origin", "layout", "step", "is_complete", "defect") == [
        (str(tmp_path / "part"), layout, 100, False, defect),
        (str(tmp_path / "whole"), layout, 100, True, None),
    ]


# What is looked at as a whole: a folder, or where the checkpoint is files, those beside each other.
FOLDERS = sorted(set(LAYOUTS) - {"composer"})


@pytest.mark.parametrize("name", ["tmp-{}", "{}.tmp", "{}_tmp.1", "{}.partial", "{}.incomplete"])
@pytest.mark.parametrize("layout", FOLDERS)
def test_a_folder_under_a_temporary_name_is_not_finished(runs, tmp_path, layout, name):
    usual, files, _, _ = LAYOUTS[layout]
    save(tmp_path / "c" / name.format(usual), files, at=100)
    runs.checkpoints(tmp_path / "c", at=1000)
    assert runs.rows("checkpoint_files", "step", "is_complete", "defect") == [
        (100, False, "its writer had not finished it")
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_was_deleted_later_was_whole_all_the_same(runs, tmp_path, layout):
    name, files, _, _ = LAYOUTS[layout]
    save(tmp_path / "c" / name, files, at=100)
    put(tmp_path / "c/notes.txt", "stays", at=100)
    runs.checkpoints(tmp_path / "c", at=1000)
    for file in files:
        (tmp_path / "c" / name / file).unlink()
    runs.checkpoints(tmp_path / "c", at=2000)
    assert runs.rows("checkpoint_files", "layout", "step", "is_complete", "deleted_at") == [
        (layout, 100, True, None),
        (layout, 100, True, 2000.0),
    ]


@pytest.mark.parametrize(
    ("name", "size", "defect"),
    [
        ("checkpoint_100.pt", 4000, None),
        ("epoch=3-step=100.ckpt", 4000, None),
        ("model-step100.safetensors", 4000, None),
        ("checkpoint_100.pt", 126, "has 126 bytes: a Git LFS pointer, or cut off"),
        ("checkpoint_100.pt", 0, "has 0 bytes: a Git LFS pointer, or cut off"),
        ("checkpoint_100.pt.tmp", 4000, "its writer had not finished it"),
        ("step_100.nemo.partial", 4000, "its writer had not finished it"),
    ],
)
def test_a_checkpoint_that_is_one_file(runs, tmp_path, name, size, defect):
    put(tmp_path / "c" / name, "x" * size, at=100)
    runs.checkpoints(tmp_path / "c", at=1000)
    [(layout, step, is_complete, said)] = runs.rows(
        "checkpoint_files", "layout", "step", "is_complete", "defect"
    )
    assert (layout, step, is_complete) == ("file", 100, defect is None)
    assert (said or "").endswith(defect or "")


def test_a_checkpoint_has_place_size_and_times(runs, tmp_path):
    root = tmp_path / "ckpt"
    put(root / "run1/checkpoint-100/model.safetensors", "x" * 4000, at=90.123)
    put(root / "run1/checkpoint-100/trainer_state.json", "{}", at=95)
    assert runs.checkpoints(root, at=1000, job="J") == {
        "checkpoint_files": 1,
        "checkpoint_lists": 1,
    }
    columns = ("job", "root", "path", "files", "bytes", "first_written_at", "last_written_at")
    assert runs.rows("checkpoint_files", *columns, "origin", "origin_line", "ingested_at") == [
        (
            "J",
            f"{root}/run1",
            f"{root}/run1/checkpoint-100",
            2,
            4002,
            90.123,
            95,
            str(root),
            None,
            1000,
        )
    ]
    assert runs.said == [f"{root}: 1 checkpoint, 1 whole; 1 new or changed, 0 deleted"]


def test_a_run_that_is_repeated_adds_its_listing_and_nothing_else(runs, tmp_path):
    save(tmp_path / "c/checkpoint-100", HF, at=100)
    runs.checkpoints(tmp_path / "c", at=1000)
    assert runs.checkpoints(tmp_path / "c", at=1300) == {"checkpoint_lists": 1}
    columns = ("root", "listed_at", "is_complete", "reason", "files", "checkpoints")
    assert runs.rows("checkpoint_lists", *columns) == [
        (str(tmp_path / "c"), 1000, True, None, 2, 1),
        (str(tmp_path / "c"), 1300, True, None, 2, 1),
    ]
    # The same instant, as two collectors at once would have it: not even that.
    assert runs.checkpoints(tmp_path / "c", at=1300) == {}


FATES = ("step", "is_complete", "deleted_at", "returned_at", "ingested_at")


def test_what_a_later_run_does_not_see_is_deleted_as_of_that_run(runs, tmp_path):
    root = tmp_path / "c"
    for step in (100, 200):
        save(root / f"checkpoint-{step}", HF, at=step)
    runs.checkpoints(root, at=1000)
    shutil.rmtree(root / "checkpoint-100")
    assert runs.checkpoints(root, at=2000) == {"checkpoint_files": 1, "checkpoint_lists": 1}
    assert runs.checkpoints(root, at=3000) == {"checkpoint_lists": 1}
    assert runs.rows("checkpoint_files", *FATES) == [
        (100, True, None, None, 1000),
        (200, True, None, None, 1000),
        (100, True, 2000, None, 2000),
    ]


def test_a_checkpoint_that_was_moved_away_and_back_returned(runs, tmp_path):
    root, away = tmp_path / "c", tmp_path / "away"
    save(root / "checkpoint-100", HF, at=100)
    save(root / "checkpoint-200", HF, at=200)
    for second, (source, target) in enumerate(
        [(root, away), (away, root), (root, away), (away, root)], start=1
    ):
        runs.checkpoints(root, at=1000 * second)
        target.mkdir(exist_ok=True)
        (source / "checkpoint-100").rename(target / "checkpoint-100")
    runs.checkpoints(root, at=5000)
    assert [row for row in runs.rows("checkpoint_files", *FATES) if row[0] == 100] == [
        (100, True, None, None, 1000),
        (100, True, 2000, None, 2000),
        (100, True, None, 3000, 3000),
        (100, True, 4000, None, 4000),
        (100, True, None, 5000, 5000),
    ]


def test_a_folder_that_is_empty_proves_no_deletion_below_it(runs, tmp_path):
    """A mount below the root may be missing; what lies beside it was seen."""
    root = tmp_path / "c"
    for path in (
        "a/checkpoint-1",
        "a/checkpoint-2",
        "b/checkpoint-1",
        "b/checkpoint-2",
        "d/checkpoint-1",
    ):
        save(root / path, HF, at=1000)
    runs.checkpoints(root, at=1200)
    shutil.move(root / "a", tmp_path / "unmounted")
    (root / "a").mkdir()
    shutil.rmtree(root / "b/checkpoint-1")
    shutil.rmtree(root / "d")
    assert runs.checkpoints(root, at=2000) == {"checkpoint_files": 2, "checkpoint_lists": 1}
    gone = [row for row in runs.rows("checkpoint_files", "path", "deleted_at") if row[1]]
    assert gone == [(f"{root}/b/checkpoint-1", 2000), (f"{root}/d/checkpoint-1", 2000)]
    (root / "a").rmdir()
    shutil.move(tmp_path / "unmounted", root / "a")
    assert runs.checkpoints(root, at=3000) == {"checkpoint_lists": 1}


def test_one_that_is_being_deleted_was_whole_and_is_gone(runs, tmp_path):
    root = tmp_path / "c"
    save(root / "checkpoint-100", HF, at=100)
    save(root / "checkpoint-200", HF, at=200)
    runs.checkpoints(root, at=1000)
    (root / "checkpoint-100/model.safetensors").unlink()
    runs.checkpoints(root, at=2000)
    runs.checkpoints(root, at=3000)
    shutil.rmtree(root / "checkpoint-100")
    runs.checkpoints(root, at=4000)
    assert [row for row in runs.rows("checkpoint_files", *FATES) if row[0] == 100] == [
        (100, True, None, None, 1000),
        (100, True, 2000, None, 2000),
    ]


def test_one_that_is_written_anew_changes(runs, tmp_path):
    save(tmp_path / "checkpoint-100", HF, at=100)
    runs.checkpoints(tmp_path, at=1000)
    put(tmp_path / "checkpoint-100/model.safetensors", "x" * 5000, at=1500)
    runs.checkpoints(tmp_path, at=2000)
    columns = ("bytes", "last_written_at", "is_complete", "deleted_at", "ingested_at")
    assert runs.rows("checkpoint_files", *columns) == [
        (4002, 100, True, None, 1000),
        (5002, 1500, True, None, 2000),
    ]


def test_one_that_was_written_just_now_is_not_yet_known_to_be_whole(runs, tmp_path):
    save(tmp_path / "checkpoint-100", HF, at=970)
    runs.checkpoints(tmp_path, at=1000)
    runs.checkpoints(tmp_path, at=1030)
    assert runs.rows("checkpoint_files", "is_complete", "defect", "ingested_at") == [
        (None, "written to just before it was listed: it may still be being written", 1000),
        (True, None, 1030),
    ]


@pytest.mark.parametrize("missing", ["emptied", "unreadable"])
def test_a_root_that_cannot_be_seen_whole_proves_no_deletion(runs, tmp_path, missing, monkeypatch):
    root = tmp_path / "c"
    save(root / "run1/checkpoint-100", HF, at=100)
    save(root / "run2/checkpoint-200", HF, at=100)
    runs.checkpoints(root, at=1000)
    if missing == "emptied":
        shutil.rmtree(root)
        root.mkdir()
        files, there = 0, 0
        reason = (
            "nothing is there: an empty folder may be a mount that is missing, so it proves no"
            " deletion"
        )
    else:
        scandir = os.scandir

        def refuse(folder):
            if str(folder).endswith("run1"):
                raise PermissionError(13, "Permission denied")
            return scandir(folder)

        monkeypatch.setattr("os.scandir", refuse)
        reason = f"{root}/run1: Permission denied"
        files, there = 2, 1
    assert runs.checkpoints(root, at=2000) == {"checkpoint_lists": 1}
    assert runs.rows("checkpoint_lists", "listed_at", "is_complete", "reason", "files")[-1] == (
        2000,
        False,
        reason,
        files,
    )
    assert runs.taken.checkpoints == there


def test_a_root_that_is_not_there_does_not_stop_the_others(runs, tmp_path):
    save(tmp_path / "c/checkpoint-100", HF, at=100)
    added = runs.checkpoints(tmp_path / "none", tmp_path / "c", at=1000)
    assert added == {"checkpoint_files": 1, "checkpoint_lists": 1}
    [error] = runs.taken.errors
    assert isinstance(error, NoData)
    assert str(error) == f"there is no file or folder {tmp_path}/none; check the path"


def test_pointers_and_temporary_folders_are_no_checkpoints(runs, tmp_path):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 9\n"
    save(tmp_path / "step-100", {".metadata": "m", "__0_0.distcp": pointer}, at=100)
    save(tmp_path / "step-200", {".metadata": "m", "__0_0.distcp": "a small shard"}, at=200)
    save(tmp_path / "tmp-checkpoint-300", HF, at=300)
    save(tmp_path / "checkpoint-400", {**HF, "model.safetensors": pointer}, at=400)
    runs.checkpoints(tmp_path, at=1000)
    assert sorted(runs.rows("checkpoint_files", "step", "is_complete", "defect")) == [
        (100, False, f"{tmp_path}/step-100/__0_0.distcp is a Git LFS pointer"),
        (200, True, None),
        (300, False, "its writer had not finished it"),
        (400, False, "model.safetensors has 126 bytes: a Git LFS pointer, or cut off"),
    ]


def test_nothing_but_a_small_shards_beginning_is_opened(runs, tmp_path, monkeypatch):
    for name, files, _, _ in LAYOUTS.values():
        save(tmp_path / "c" / name, files, at=100)
    opened = []

    def note(_, stored, offset, size):
        opened.append((stored.name.rsplit("/", 1)[-1], offset, size))
        return b""

    monkeypatch.setattr("goodput.sources.places.Place.read_at", note)
    monkeypatch.setattr("goodput.sources.places.Place.read", lambda *_: pytest.fail("was read"))
    runs.checkpoints(tmp_path / "c", at=1000)
    assert sorted(opened) == [("__0_0.distcp", 0, 40), ("__1_0.distcp", 0, 40)]


def test_links_are_not_followed_and_snapshots_are_not_looked_into(runs, tmp_path):
    save(tmp_path / "c/checkpoint-100", HF, at=100)
    save(tmp_path / "c/.snapshot/hourly/checkpoint-50", HF, at=50)
    (tmp_path / "c/checkpoint-999").symlink_to(tmp_path / "c/checkpoint-100")
    (tmp_path / "c/loop").symlink_to(tmp_path / "c")
    runs.checkpoints(tmp_path / "c", at=1000)
    assert runs.rows("checkpoint_files", "step") == [(100,)]


def test_a_pattern_is_no_root(runs):
    with pytest.raises(UsageError, match="is no root"):
        runs.checkpoints("s3://bucket/run*?region=us-east-1", at=0)


def test_keys_in_an_address_are_shown_nowhere(runs):
    url = "s3://AKIAKEY:hunter2@models/run1?endpoint_override=127.0.0.1:9&scheme=http"
    assert runs.checkpoints(f"{url}&region=us-east-1", at=0) == {}
    [error] = runs.taken.errors
    assert isinstance(error, SourceUnreachable)
    assert str(error).startswith("s3://models/run1 cannot be listed: ")
    assert not {"AKIAKEY", "hunter2"} & {word for text in runs.said for word in text.split(":")}
    with pytest.raises(UsageError) as caught:
        runs.checkpoints("s4://AKIAKEY:hunter2@models", at=0)
    assert "hunter2" not in str(caught.value)


def test_a_touch_of_the_folder_changes_nothing(runs, tmp_path):
    save(tmp_path / "c/checkpoint-100", HF, at=100)
    runs.checkpoints(tmp_path / "c", at=1000)
    touch(tmp_path / "c/checkpoint-100", 1500)
    assert runs.checkpoints(tmp_path / "c", at=2000) == {"checkpoint_lists": 1}
