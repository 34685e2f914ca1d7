"""The files are what the tools would write, and the same seed writes the same bytes."""

import gzip
import hashlib
import json
from dataclasses import replace

import pytest

from goodput.synth.artefacts import write_artefacts
from goodput.synth.nodefiles import checkpoint_files
from goodput.synth.plan import simulate


@pytest.fixture(scope="module")
def folder(fleet, tmp_path_factory):
    out = tmp_path_factory.mktemp("artefacts")
    write_artefacts(fleet, out)
    return out


def digests(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_same_seed_gives_identical_bytes(week, folder, tmp_path):
    write_artefacts(simulate(int(week.start.timestamp()), 1), tmp_path)
    assert digests(tmp_path) == digests(folder)


def test_lists_hold_each_object_once(folder):
    for path in (folder / "kubernetes" / "lists").iterdir():
        document = json.loads(path.read_text())
        assert document["kind"] == "List"
        uids = [item["metadata"]["uid"] for item in document["items"]]
        assert len(uids) == len(set(uids)) > 30


def test_watch_streams_are_events_of_objects_shuffled_and_partly_doubled(folder):
    lines = (folder / "kubernetes/watch/pods-2026-11-24.ndjson").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert {e["type"] for e in events} == {"ADDED", "MODIFIED", "DELETED"}
    assert {e["object"]["kind"] for e in events} == {"Pod"}
    assert len(set(lines)) < len(lines)
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
    assert versions != sorted(versions)


def test_nothing_was_watched_in_the_hole(fleet, folder):
    lines = (folder / "kubernetes/events/events-2026-11-27.ndjson").read_text().splitlines()
    times = sorted(json.loads(line)["lastTimestamp"] for line in lines)
    assert not [t for t in times if "2026-11-27T03:00:00Z" <= t < "2026-11-27T03:45:00Z"]
    assert fleet.hole.end - fleet.hole.start == 2700


def test_every_line_of_a_training_log_has_its_time(folder):
    names = 0
    for path in (folder / "logs").rglob("0.log*"):
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        names += path.suffix == ".gz"
        times = [line.split(" ", 1)[0] for line in text.splitlines()]
        assert [t[:19] for t in times] == sorted(t[:19] for t in times)
    assert 20 < names < 60


def test_kernel_logs_name_their_host(folder):
    text = (folder / "kernel" / "train-a-05.log").read_text()
    xids = [line for line in text.splitlines() if "NVRM: Xid" in line]
    assert len(xids) == 4
    assert all(line.split()[1] == "train-a-05" for line in xids)


def test_a_path_is_listed_once(folder):
    for path in (folder / "checkpoints").iterdir():
        paths = [line.rsplit(" ", 1)[1] for line in path.read_text().splitlines()]
        assert len(set(paths)) == len(paths)


def test_a_dead_write_has_half_its_shards_and_no_commit(fleet):
    job = next(j for j in fleet.sim.jobs if j.spec.name == "llama-70b")
    dead = replace(job.checkpoints[0], committed=None)
    names = [path.split("/")[-1] for _, _, path in checkpoint_files(job, dead)]
    assert names == ["common.pt", *(f"__{n}_0.distcp" for n in range(4))]


def test_a_corrupt_checkpoint_is_committed_and_has_an_empty_shard(fleet):
    bad = [c for j in fleet.sim.jobs for c in j.checkpoints if c.corrupt]
    assert len(bad) == 1
    sizes = [
        size for _, size, path in checkpoint_files(bad[0].job, bad[0]) if path.endswith(".distcp")
    ]
    assert sorted(sizes)[:2] == [0, 1_732_608_000]
    assert bad[0].committed is not None
