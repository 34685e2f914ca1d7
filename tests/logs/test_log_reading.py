"""Blocks, literals and the search for lines: any bytes, any size."""

import gzip
import io
import re
import time

import pytest
import zstandard
from hypothesis import assume, given
from hypothesis import strategies as st

from goodput.errors import GoodputError, SourceUnreachable
from goodput.logs import LogHints, plans, read_log
from goodput.logs.formats import load_formats
from goodput.logs.gate import LineGate, NativeGate
from goodput.logs.literals import required_literals
from goodput.logs.reading import MAX_LINE_BYTES, Block, BlockReader, open_log
from goodput.logs.signatures import load_signatures

STEP = b"2026-01-05T00:00:10Z completed step: 3, seconds: 1.0, loss: 2\n"


def _read(data, **hints):
    return read_log(io.BytesIO(data), LogHints(path="x.log", **hints))


def _reasons(result):
    return [row["reason"].split(";")[0] for row in result.quarantine]


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_blocks_give_back_every_byte(parts):
    data = b"\n".join(parts)
    with open_log(io.BytesIO(b"#" + data)) as stream:
        reader = BlockReader(stream)
        blocks = list(reader)
    assert b"".join(block.data for block in blocks) == b"#" + data
    assert reader.size == len(data) + 1
    assert reader.lines == len((b"#" + data).splitlines()) or b"\r" in data or _odd_ends(data)


def _odd_ends(data):
    """Whether the text holds ends that only splitlines knows."""
    return any(end in data for end in (b"\v", b"\f", b"\x1c", b"\x1d", b"\x1e", b"\x85"))


@given(
    st.lists(
        st.sampled_from(["ab", "Error: x", "a\rb", "loss=1", "", "é error:", "error: loss"]),
        max_size=30,
    )
)
def test_the_gate_finds_the_lines_that_hold_a_literal(lines):
    block = "\n".join(lines).encode()
    expected = []
    for line in re.split(rb"[\r\n]", block):
        literals = {text for text in ("error:", "loss") if text.encode() in line.lower()}
        if literals:
            expected.append((line, literals))
    for gate in (LineGate(["error:", "loss"]), NativeGate(["error:", "loss"])):
        places = gate.lines(Block(block, 0, 1))
        texts = [block[a:b] for a, b in zip(places.starts, places.ends, strict=True)]
        found = [(text, gate.literals_of(text)) for text in texts]
        assert [block.count(b"\n", 0, start) + 1 for start in places.starts] == list(places.numbers)
        assert found == expected


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("global step: (\\d+) loss", {"global step: "}),
        ("(?i)(Foo|barbaz) \\d+ quux", {" quux"}),
        ("(Error|Exception): ", {"error: ", "exception: "}),
        ("x{1}abc?", {"xab"}),
        ("(one|two)+ \\d", {"one", "two"}),
        ("[ab]c\\d{3}", {"ac", "bc"}),
        ("(?:error|Timeout)\\d*: ", {"error", "timeout"}),
    ],
)
def test_literals_that_every_match_holds(pattern, literals):
    assert required_literals(pattern) == literals


@pytest.mark.parametrize("pattern", ["\\d+", "a?b?", "(abc)?", "x|yyy", "\\d+G \\d+: "])
def test_a_pattern_without_fixed_text_is_refused(pattern):
    with pytest.raises(GoodputError, match="has no fixed text"):
        required_literals(pattern)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_packed_logs_are_read(pack):
    assert len(_read(pack(STEP)).steps) == 1


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_of_a_packed_log_that_is_cut_off_the_beginning_is_read(pack):
    lines = b"".join(
        b"2026-01-05T00:00:10Z completed step: %d, seconds: 1.0, loss: %d\n" % (i, i * 7919 % 1009)
        for i in range(50_000)
    )
    packed = pack(lines)
    result = _read(packed[: len(packed) // 2])
    assert 10_000 < len(result.steps) < 50_000
    assert _reasons(result) == ["the compressed data are cut off or damaged"]


@pytest.mark.parametrize("damage", [lambda packed: packed[:-9], lambda packed: packed + b"junk"])
def test_damage_behind_the_text_of_a_gzip_log_loses_none_of_it(damage):
    data = b"".join(b"%d %d\n" % (i, i * 7919 % 1009) for i in range(20_000))
    with open_log(io.BytesIO(damage(gzip.compress(data)))) as stream:
        reader = BlockReader(stream)
        assert len(b"".join(block.data for block in reader)) >= len(data) - 1
    assert len(reader.flaws) == 1


@pytest.mark.parametrize("end", [b"", b"\0" * 512])
@pytest.mark.parametrize(
    "pack", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress]
)
def test_a_changed_byte_of_a_packed_log_is_always_told(pack, end):
    lines = b"".join(b"2026-01-05T00:00:10Z %d of %d\n" % (i, i * 7919 % 1009) for i in range(300))
    packed = pack(lines) + end * (pack is gzip.compress)
    untold = []
    for place in range(4, len(pack(lines))):
        changed = bytearray(packed)
        changed[place] ^= 4
        with open_log(io.BytesIO(bytes(changed))) as stream:
            reader = BlockReader(stream)
            text = b"".join(block.data for block in reader)
        if text != lines and reader.damage is None:
            untold.append(place)
    assert untold == []


def test_before_damage_in_a_small_gzip_log_its_text_is_read():
    packed = bytearray(gzip.compress(b"".join(b"%d\n" % (i * 7919) for i in range(4000))))
    packed[-8] ^= 1
    packed += gzip.compress(b"more\n")
    with open_log(io.BytesIO(bytes(packed))) as stream:
        reader = BlockReader(stream)
        text = b"".join(block.data for block in reader)
    assert text.startswith(b"0\n7919\n")
    assert len(text) > 10_000
    assert [flaw.reason.split(";")[0] for flaw in reader.flaws] == [
        "the compressed data are cut off or damaged"
    ]


def test_a_time_between_carriage_returns_is_that_of_the_line_below():
    bar = b"\rloading %d" * 40
    data = (
        b"2026-01-05 00:00:00 begin"
        + bar % tuple(range(40))
        + b"\r2026-01-05 00:01:00 loaded\rValueError: it is\n"
    )
    result = _read(data)
    assert [row["observed_at"].minute for row in result.tables["log_evidence"]] == [1]
    assert result.tables["log_files"][0]["first_at"].minute == 0
    assert _read(data[30:]).tables["log_files"][0]["first_at"].minute == 1


@pytest.mark.parametrize("prefix", ["[rank%s]: ", "[1,%s]<stdout>:"])
@pytest.mark.parametrize("digits", [1, 9, 10, 40, 5000])
@pytest.mark.parametrize("text", [STEP.decode(), "ValueError: it is\n"])
def test_a_rank_is_read_as_far_as_it_can_be_one(prefix, digits, text):
    result = _read((prefix % ("7" * digits) + text).encode())
    assert len(result.steps) + len(result.evidence) == 1
    if result.evidence:
        assert result.evidence[0].rank == (int("7" * digits) if digits < 10 else None)


def test_lines_are_numbered_over_blocks():
    result = _read(b"".join(b"%d\n" % i for i in range(300_000)) + STEP)
    assert result.tables["log_files"][0]["lines"] == 300_001
    assert [step.line for step in result.steps] == [300_001]


def test_both_engines_read_the_same_from_a_log(monkeypatch):
    formats = [example for f in load_formats() for p in f.patterns for example in p.examples]
    lines = [s.example for s in load_signatures().signatures] + [e["line"] for e in formats]
    data = "\n".join(lines).encode()
    natively = _read(data)
    monkeypatch.setattr(plans, "make_gate", lambda literals: LineGate(sorted(literals)))
    plainly = _read(data)
    assert len(plainly.evidence) > 150
    assert (plainly.tables, plainly.quarantine) == (natively.tables, natively.quarantine)


def test_an_empty_log_is_quarantined():
    result = _read(b"")
    assert _reasons(result) == ["the log is empty"]
    assert result.tables["log_files"][0]["lines"] == 0


def test_one_line_of_100_megabytes_costs_little_and_the_rest_is_read():
    data = b"loss step=1 error " * 5_600_000 + b"\n" + STEP
    began = time.process_time()
    result = _read(data)
    assert time.process_time() - began < 5
    assert [step.last for step in result.steps] == [3]
    assert _reasons(result) == [f"the line is longer than {MAX_LINE_BYTES} bytes"]
    assert result.tables["log_files"][0]["bytes"] == len(data)
    assert result.tables["log_files"][0]["lines"] == 2


def test_binary_bytes_are_reported_and_the_rest_is_read():
    result = _read(b"begin\n" + bytes(range(256)) * 4000 + b"\n" + STEP)
    assert [step.last for step in result.steps] == [3]
    assert _reasons(result)[0] == "binary bytes (NUL) in the log"
    assert result.quarantine[0]["row_number"] == 2


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_utf16_is_read_as_the_text_that_it_is(encoding, pack):
    text = "\ufeffbegin äöü €\n" + STEP.decode()
    result = _read(pack(text.encode(encoding)))
    assert [step.last for step in result.steps] == [3]
    assert result.tables["log_files"][0]["lines"] == 2
    assert result.quarantine == []


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_a_mark_of_utf8_is_no_part_of_the_first_line(pack):
    error = "OSError: [Errno 30] Read-only file system: x"
    result = _read(pack(f"{error}\n".encode("utf-8-sig") + STEP))
    assert [row["text"] for row in result.tables["log_evidence"]] == [error]
    assert result.tables["log_files"][0]["bytes"] == len(f"{error}\n") + len(STEP)


def test_a_line_of_carriage_returns_is_read_in_linear_time():
    line = "\r".join(
        f" 45%|##  | {i}/90000 [{i // 3600}:{i // 60 % 60:02d}:{i % 60:02d}<00:00, 1.0s/it]"
        for i in range(1, 40_001)
    )
    began = time.process_time()
    result = _read(b"2026-01-05 00:00:00 start\n" + line.encode())
    assert time.process_time() - began < 10
    assert result.steps[-1].last == 40_000
    assert result.tables["log_files"][0]["last_at"].isoformat() == "2026-01-05T00:00:00+00:00"


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(SourceUnreachable, match=r"none\.log: No such file"):
        read_log(tmp_path / "none.log")


@pytest.mark.parametrize("place", [-8, -1])
def test_of_a_gzip_log_with_a_wrong_check_sum_all_is_read_and_the_damage_said(place):
    packed = bytearray(gzip.compress(STEP * 5))
    packed[place] ^= 1
    result = _read(bytes(packed))
    assert result.tables["log_files"][0]["lines"] == 5
    assert _reasons(result) == ["the compressed data are cut off or damaged"]


@given(
    st.lists(st.binary(max_size=3000), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(1, 4000),
)
def test_gzip_members_are_unpacked_one_after_another(members, padding, size):
    assume(not b"".join(members).startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")))
    packed = b"".join(map(gzip.compress, members)) + b"\0" * (512 * padding)
    with open_log(io.BytesIO(packed)) as stream:
        assert b"".join(iter(lambda: stream.read1(size), b"")) == b"".join(members)
