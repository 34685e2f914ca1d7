"""Each signature's example and counter-example are tests of it."""

import csv

import duckdb
import pytest

from goodput._resources import catalog_dir, catalog_rows
from goodput.errors import UsageError
from goodput.logs.findings import classes
from goodput.logs.formats import load_formats
from goodput.logs.regex import Regex
from goodput.logs.signatures import load_signatures, match

with (catalog_dir() / "log_signatures.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))
EACH = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])


@EACH
def test_each_signature_is_the_first_to_match_its_example(row):
    assert match(row["example"].encode()).id == row["id"]


@EACH
def test_no_signature_names_its_counter_example(row):
    assert row["counter_example"]
    found = match(row["counter_example"].encode())
    assert found is None or found.id != row["id"]


@EACH
def test_duckdb_matches_each_example_too(row):
    with duckdb.connect() as con:
        given = [row["example"], row["regex"]]
        found = con.execute("select regexp_matches(?, ?)", given).fetchall()
    assert found == [(True,)]


def test_classes_roles_and_strengths_are_known():
    lookups = {"xid.csv", "sxid.csv"}
    assert {row["class"] for row in ROWS} <= set(classes()) | lookups
    assert {row["role"] for row in ROWS} == {
        "root",
        "either",
        "cascade",
        "teardown",
        "info",
        "lookup",
    }
    assert {row["strength"] for row in ROWS} == {"0", "1", "2", "3"}
    for row in ROWS:
        if row["class"] not in lookups:
            assert row["domain"] == classes()[row["class"]].domain, row["id"]


def test_ids_are_unique_and_rows_stand_in_the_order_in_which_they_are_tried():
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    precedences = [int(row["precedence"]) for row in ROWS]
    assert precedences == sorted(precedences)


def test_a_signature_that_looks_up_a_code_gives_the_code():
    line = b"NVRM: Xid (PCI:0000:4e:00): 79, pid=21044, GPU has fallen off the bus."
    signature = match(line)
    code = signature.code(signature.regex.search(line))
    assert (signature.evidence_source, code) == ("xid", "79")


@pytest.mark.parametrize(
    "line",
    [
        b"iteration 10/ 100 | lm loss: 1.0E+00 | number of nan iterations: 0 |",
        b"[INFO] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
        b"{'loss': 2.3369, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.3}",
        b"gpu-1:40:40 [0] NCCL INFO NET/OFI Failed to initialize rdma protocol",
        b"wandb: Run data is saved locally in ./wandb/run-1",
        b"mlx5_core 0000:9a:00.0 ib0: Link up",
        b"        HW Power Brake Slowdown           : Not Active",
        b"PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at 0000:87:00.0 (capable of x16 link)",
    ],
)
def test_a_harmless_line_matches_no_signature(line):
    assert match(line) is None


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("[Fri Oct 14 14:56:49 2022] NVRM: Xid (PCI:000d:00:00): 31, pid=3234, SM Warp", "31"),
        ("Jun 10 03:09:55 n kernel: NVRM: Xid (PCI:0000:af:00): 13, pid=1, name=python, x", "13"),
        ("kernel: [257087.812628] NVRM: Xid (PCI:0000:90:1c): 64, ...", "64"),
        ("NVRM: Xid (0000:4e:00): 31, Ch 0000000b, engmask 00000120", "31"),
        ("NVRM: Xid (0002:00): 13, 0003 00000000 00008297 00000000", "13"),
        ("NVRM: Xid (PCI:0000:81:00 GPU-I:07): 94, pid=7194, Contained: SM (0x1)", "94"),
        ("NVRM: Xid (PCI:0018:01:00): 145, pid=8, name=ray::W, RLW_RXPIPE Nonfatal XC0", "145"),
        ("NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 00 (0x02", "149"),
        ("NVRM: Xid (PCI:0019:01:00): 154, GPU recovery action changed from 0x4 to 0x1", "154"),
        ("XidCriticalError: Xid=48 on Device=GPU-1a2b, the device will go unhealthy.", "48"),
        ("nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034, Fatal, Link 37 LTSSM Fault", "20034"),
        ("NVRM: Xid (invalid): some error", None),
        ("nvidia-nvswitch0: SXid (PCI:0000:00:00.0): xyz, Fatal error", None),
    ],
)
def test_every_form_of_an_xid_line_gives_its_code(line, code):
    found = match(line.encode())
    got = None if found is None else found.code(found.regex.search(line.encode()))
    assert got == code


HEADS = (
    "",
    "[Fri Oct 14 14:56:49 2022] ",  # dmesg -T
    "[  171.250000] ",  # dmesg
    "6,1234,171250000,-;",  # /dev/kmsg
    "Jun 10 03:09:55 node-a kernel: ",  # journalctl, syslog
    "Jun 10 03:09:55 node-a kernel: [257087.812628] ",
    "2026-03-02T10:00:00+0000 gpu-7 kernel: ",  # journalctl -o short-iso
)
TAILS = (
    "NVRM: Xid (PCI:0000:4e:00): {}, pid=21044, name=python3, text",
    "NVRM: Xid (PCI:0000:4e:00): {}, pid='<unknown>', name=<unknown>, text",
    "NVRM: Xid (PCI:0000:4e:00): {}, 0003 00000000",  # drivers before 450
    "NVRM: Xid (0000:4e:00): {}, Ch 0000000b",
)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("tail", TAILS)
def test_every_xid_of_the_catalogue_is_read_in_old_and_new_lines_of_every_source(head, tail):
    codes = [row["xid"] for row in catalog_rows("xid", (catalog_dir(),))]
    assert len(codes) > 150
    for code in codes:
        line = (head + tail.format(code)).encode()
        found = match(line)
        assert found.code(found.regex.search(line)) == code


def test_no_expression_needs_more_than_a_linear_time_engine():
    sources = [row["regex"] for row in ROWS]
    sources += [p.regex.source for f in load_formats() for p in f.patterns]
    for source in sources:
        Regex(source)  # refuses what RE2 does not know
    for source in ("(a)\\1", "(?=a)b", "(?<!a)b", "a{2000}"):
        with pytest.raises(UsageError, match="does not compile"):
            Regex(source)


def test_a_hostile_line_is_searched_in_no_time():
    # 256 KB on which a backtracking engine would work for hours.
    line = b"NVRM: GPU nvidia NVLink mlx5_core AER: pcieport Lustre: NCCL WARN " * 4000
    assert load_signatures().match(line) is None
    for format_ in load_formats():
        for pattern in format_.patterns:
            pattern.regex.search(b"iteration 1/ 2 | DLLL {'loss': Epoch 3: step: 3 " * 5000)
