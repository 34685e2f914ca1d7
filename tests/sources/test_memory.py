"""What a process holds of the files that it was loaded from."""

import subprocess
import sys

import pytest

from goodput._memory import _clean_mappings

CODE = "7f0000001000-7f0000003000 r-xp 00001000 fe:00 1234                       /lib/a name.so"
HEAD = "7f0000000000-7f0000001000 r--p 00000000 fe:00 1234                       /lib/a name.so"
CLEAN = "Anonymous:             0 kB\nSwap:                  0 kB\nSwapPss:               0 kB"
WRITTEN = CLEAN.replace("Anonymous:             0", "Anonymous:             4")
SWAPPED = CLEAN.replace("Swap:                  0", "Swap:                  4")


def mapping(head, fields):
    return f"{head}\nSize:                  4 kB\n{fields}\nVmFlags: rd ex mr mw me\n"


def test_mappings_of_files_that_are_as_their_file_has_them_are_clean():
    smaps = mapping(HEAD, CLEAN) + mapping(CODE, CLEAN)
    assert list(_clean_mappings(smaps)) == [
        (0x7F0000000000, 0x7F0000001000),
        (0x7F0000001000, 0x7F0000003000),
    ]


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        (HEAD, WRITTEN),
        (HEAD, SWAPPED),
        (HEAD, "Swap:                  0 kB"),
        (HEAD.replace("r--p", "rw-p"), CLEAN),
        (HEAD.replace("r--p", "r--s"), CLEAN),
        (HEAD.replace("r--p", "---p"), CLEAN),
        (HEAD.replace(" 1234 ", " 0 "), CLEAN),
    ],
    ids=["written", "swapped", "unsaid", "writable", "shared", "guard", "no file"],
)
def test_what_could_be_lost_is_kept(head, fields):
    smaps = mapping(head, fields) + mapping(CODE, CLEAN)
    assert list(_clean_mappings(smaps)) == [(0x7F0000001000, 0x7F0000003000)]


_GIVEN_BACK = """
import duckdb
from pathlib import Path
from goodput._memory import give_file_pages_back

def mapped_kb():
    return int(Path("/proc/self/status").read_text().split("RssFile:")[1].split()[0])

con = duckdb.connect()
before = mapped_kb()
give_file_pages_back()
after = mapped_kb()
print(after < before / 2, con.execute("select sum(i) from range(10) as t(i)").fetchall())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_loading_read_goes_and_comes_back_when_it_is_used():
    command = [sys.executable, "-c", _GIVEN_BACK]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "True [(45,)]\n"
