"""The small tables of docs/bring-your-own-data.md: copied, and imported as the page says."""

import re
import shlex
import subprocess
import sys

from fenced import ROOT, blocks

PAGE = "docs/bring-your-own-data.md"
SECTION = re.compile(r"^### Small tables to copy$(.*?)^### ", re.MULTILINE | re.DOTALL)


def test_the_small_tables_give_the_ledger_that_the_page_shows(tmp_path):
    [section] = SECTION.findall((ROOT / PAGE).read_text(encoding="utf-8"))
    names = re.findall(r"^`(tables/\w+\.csv)`$", section, re.MULTILINE)
    tables = dict(zip(names, blocks(PAGE, "csv"), strict=True))
    (tmp_path / "tables").mkdir()
    for name, rows in tables.items():
        (tmp_path / name).write_text(rows, encoding="utf-8")
    commands = "".join(re.findall(r"^    .*\n", section, re.MULTILINE)).split("    goodput ")[1:]

    answers = [run(tmp_path, shlex.split(command)) for command in commands]

    assert [answer.returncode for answer in answers] == [0, 0, 0]
    assert "quarantined" not in answers[0].stderr
    [expected] = blocks(PAGE, "text")
    assert [line.split() for line in answers[2].stdout.splitlines()] == [
        line.split() for line in expected.splitlines()
    ]


def run(folder, words):
    command = [sys.executable, "-m", "goodput", "--lake", "lake", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
