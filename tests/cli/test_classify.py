"""`goodput classify`: the JSON of the contract, the table, several files, standard input."""

import json

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
