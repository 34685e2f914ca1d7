"""`goodput classify`: the JSON of the contract, the table, several files, standard input."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from goodput.cli import main

LOG = (
    "step=1 loss=2\nstep=2 loss=2\nsaved checkpoint at step 2\n"
    "NVRM: Xid (PCI:0000:4e:00): 79, pid=2, GPU has fallen off the bus.\n"
    "Sending process 7 closing signal SIGTERM\n"
)
END = {
    "outcome": "failed",
    "class": "gpu.lost",
    "group": "gpu_hardware",
    "confidence": 90,
    "root": {
        "line": 4,
        "text": "NVRM: Xid (PCI:0000:4e:00): 79, pid=2, GPU has fallen off the bus.",
        "signature": "k.xid",
    },
    "cascade_lines": 1,
    "steps": {"count": 2, "first": 1, "last": 2, "median_seconds": None},
    "checkpoints": [{"step": 2, "line": 3, "complete": True}],
}


def test_json_says_what_the_contract_names(goodput, tmp_path):
    path = tmp_path / "train.log"
    path.write_text(LOG)
    result = goodput("classify", "-o", "json", path, lake=False)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == [
        {
            "file": str(path),
            "format": "generic",
            **END,
            "xids": [79],
            "restarts": 0,
            "lines": 5,
            "bytes": len(LOG),
            "attempts": [{"first_line": 1, "last_line": 5, **END}],
        }
    ]


def test_standard_input_is_read_where_the_name_is_a_dash():
    result = CliRunner().invoke(main, ["classify", "-o", "json", "-"], input=LOG)
    (answer,) = json.loads(result.stdout)
    assert (answer["file"], answer["class"]) == ("-", "gpu.lost")


def test_a_file_that_cannot_be_read_does_not_keep_the_others_from_their_answer(goodput, tmp_path):
    path = tmp_path / "train.log"
    path.write_text(LOG)
    result = goodput("classify", tmp_path / "none.log", path, lake=False)
    assert result.exit_code == 5
    assert "none.log" in result.stderr
    assert "gpu.lost" in result.stdout


def test_the_table_has_a_line_for_each_file(goodput, tmp_path):
    path = tmp_path / "train.log"
    path.write_text(LOG)
    result = goodput("classify", path, lake=False)
    heading, row = result.stdout.splitlines()
    assert heading.split() == [
        "file",
        "format",
        "outcome",
        "class",
        "confidence",
        "steps",
        "line",
        "root",
    ]
    assert row.split()[1:7] == ["generic", "failed", "gpu.lost", "90", "1..2", "4"]


def test_empty_files_are_no_data(goodput, tmp_path):
    path = tmp_path / "empty.log"
    path.touch()
    result = goodput("classify", path, lake=False)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        4,
        "error: there is nothing in these files; name logs that have been written to",
    )


@pytest.mark.parametrize("words", [["classify"], ["classify", "--tz", "Mars/Here", "-"]])
def test_wrong_words_are_usage_errors(words):
    assert CliRunner().invoke(main, words, input=LOG).exit_code == 2


def test_a_name_that_is_no_utf_8_is_shown_with_escapes(goodput, tmp_path, monkeypatch):
    path = os.fsencode(tmp_path) + b"/odd\xff.log"
    Path(os.fsdecode(path)).write_text(LOG)
    name = "odd\\xff.log"

    (said,) = json.loads(goodput("classify", "-o", "json", os.fsdecode(path), lake=False).stdout)
    assert (said["file"], said["class"]) == (f"{tmp_path}/{name}", "gpu.lost")
    monkeypatch.chdir(tmp_path)
    row = goodput("classify", os.fsdecode(b"odd\xff.log"), lake=False).stdout.splitlines()[1]
    assert row.split()[0] == name


def test_a_missing_file_whose_name_is_no_utf_8_is_named(goodput):
    result = goodput("classify", os.fsdecode(b"/none\xff.log"), lake=False)
    assert result.exit_code == 5
    said = r"error: cannot read /none\xff.log: No such file or directory; check the path and its"
    assert result.stderr.splitlines()[-1] == f"{said} permissions"


def test_a_closed_standard_input_is_said():
    done = subprocess.run(
        [sys.executable, "-m", "goodput", "classify", "-"],
        preexec_fn=lambda: os.close(0),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "error: standard input is closed; name a file, or pipe a log into -",
    )


@pytest.mark.parametrize("begin", [b"", LOG.encode()])
def test_a_file_that_cannot_be_read_on_does_not_keep_the_others_from_their_answer(
    goodput, tmp_path, monkeypatch, begin
):
    good, bad = tmp_path / "train.log", tmp_path / "bad.log"
    good.write_text(LOG)
    bad.write_text(LOG)
    opened = Path.open

    class Broken(io.RawIOBase):
        parts = [begin] if begin else []

        def readable(self):
            return True

        def readinto(self, room):
            if not self.parts:
                raise OSError(5, "Input/output error")
            part = self.parts.pop()
            room[: len(part)] = part
            return len(part)

    def open_path(path, *words, **more):
        return io.BufferedReader(Broken()) if path == bad else opened(path, *words, **more)

    monkeypatch.setattr(Path, "open", open_path)
    result = goodput("classify", "-o", "json", bad, good, lake=False)
    assert result.exit_code == 5
    assert [said["file"] for said in json.loads(result.stdout)] == [str(good)]
    assert f"cannot read {bad}" in result.stderr
    assert "no rows" not in result.stderr
    assert "Input/output error" in result.stderr


def test_binary_bytes_in_a_log_are_noted(goodput, tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(LOG.encode() + b"\0\1\2\n")
    result = goodput("classify", "-o", "json", path, lake=False)
    assert result.exit_code == 0
    assert result.stderr == (
        f"note: {path}: binary bytes (NUL) in the log; the lines around them were read, the bytes"
        f" were not, at line {LOG.count(chr(10)) + 1}\n"
    )


def test_a_packed_log_that_is_cut_off_is_noted_with_the_line_up_to_which_it_was_read(
    goodput, tmp_path
):
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress(LOG.encode())[:-6])
    result = goodput("classify", "-o", "json", path, lake=False)
    (said,) = json.loads(result.stdout)
    assert (result.exit_code, said["class"], said["lines"]) == (0, "gpu.lost", 5)
    assert result.stderr == (
        f"note: {path}: the compressed data are cut off or damaged; the part before was read,"
        " up to line 5\n"
    )
