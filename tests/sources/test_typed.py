import gzip
import io
import json
import os
from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goodput import contract
from goodput.contract import raw_table, raw_tables
from goodput.errors import NoData
from goodput.lake import Lake
from goodput.sources.rowfiles import MAX_LINE_BYTES
from goodput.sources.rule_words import broken_words
from goodput.sources.typed import import_files

STEP = {"job": "A", "attempt": 1, "step": 1, "end": "2026-03-02T01:00:00Z"}


@pytest.fixture
def take(tmp_path):
    """Imports files given as name to content; gives the result and a way to ask the lake."""
    lake = Lake.open(tmp_path / "lake", create=True)
    folder = tmp_path / "tables"
    folder.mkdir()

    def run(files, cluster="default"):
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (folder / name).write_bytes(data)
        result = import_files(lake, folder, cluster=cluster)

        def rows(table, columns):
            files = lake.files(table)
            if not files:
                return []
            with duckdb.connect() as con:
                con.execute("set TimeZone = 'UTC'")
                return con.execute(
                    f"select {columns} from read_parquet($1) order by all", [files]
                ).fetchall()

        return result, rows

    return run


def ndjson(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def csv(*lines):
    return "\n".join(lines) + "\n"


def parquet(**columns):
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


QUARANTINE = "file, row_number, table_name, column_name, value, reason"


def refused(rows):
    return rows("quarantine", QUARANTINE)


# ------------------------------------------------------------------ good input

INSTANT = datetime(2026, 3, 2, 1, 0, 0, 123000, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-02T01:00:00.123Z",
        "2026-03-02T01:00:00.123999999Z",
        "2026-03-02t01:00:00.123z",
        "2026-03-02 02:00:00.123+01:00",
        "2026-03-01T19:30:00.123-0530",
        " 2026-03-02T01:00:00.123+00 ",
        1772413200.123,
        "1772413200.1239",
    ],
)
def test_instants_are_rfc_3339_or_epoch_seconds_floored_to_milliseconds(take, text):
    _, rows = take({"steps.ndjson": ndjson({**STEP, "end": text})})

    assert rows("steps", '"end"') == [(INSTANT,)]


@pytest.mark.parametrize(
    ("given", "taken"),
    [(8, 8), ("8", 8), (" 8 ", 8), ("8.0", 8), (8.0, 8), ("+8", 8), (1e3, 1000), ("", None)],
)
def test_whole_numbers_may_be_spelt_in_many_ways(take, given, taken):
    result, rows = take({"pods.ndjson": ndjson({"pod_uid": "p", "gpus": given})})

    assert (rows("pods", "gpus"), result.quarantined) == ([(taken,)], 0)


@pytest.mark.parametrize(
    ("given", "taken"),
    [(True, True), ("true", True), ("Yes", True), (1, True), ("0", False), ("f", False)],
)
def test_booleans_may_be_spelt_in_many_ways(take, given, taken):
    _, rows = take({"jobs.ndjson": ndjson({"job": "A", "instrumented": given})})

    assert rows("jobs", "instrumented") == [(taken,)]


def test_large_numbers_stay_exact(take):
    checkpoint = {"job": "A", "step": 1, "write_start": 0, "bytes": 2**63 - 1}
    _, rows = take({"checkpoints.ndjson": ndjson(checkpoint)})

    assert rows("checkpoints", "bytes") == [(2**63 - 1,)]


def test_a_number_in_a_column_of_texts_is_its_text(take):
    _, rows = take({"evidence.ndjson": ndjson({"t": 0, "source": "xid", "value": 79})})

    assert rows("evidence", "value") == [("79",)]


def test_nested_values_come_from_json_csv_and_parquet_alike(take):
    beats = [["2026-03-02T00:00:00Z", 1772409660, 60]]
    check = {"node_uid": "n", "check": "dcgm", "required": True, "stale_after_s": 180}
    start, end = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 2, 0, 1, tzinfo=UTC)
    _, rows = take(
        {
            "health_checks.ndjson": ndjson(
                {**check, "beats": beats},
                {**check, "node_uid": "m", "beats": [{"from": 0, "to": 60, "every_s": 0.5}]},
            ),
            "pods.csv": csv("pod_uid,devices", 'p1,"[0, 3]"', "p2,"),
            "pods.parquet": parquet(pod_uid=["p3"], devices=[[1, 2]]),
            "step_logs.jsonl": ndjson({"job": "A", "attempt": 1, "tz": "UTC", "lines": ["", "é"]}),
        }
    )

    zero = datetime(1970, 1, 1, tzinfo=UTC)
    assert rows("health_checks", "node_uid, beats") == [
        ("m", [{"from": zero, "to": zero + timedelta(seconds=60), "every_s": 0.5}]),
        ("n", [{"from": start, "to": end, "every_s": 60.0}]),
    ]
    assert rows("pods", "pod_uid, devices") == [("p1", [0, 3]), ("p2", None), ("p3", [1, 2])]
    assert rows("step_logs", "lines") == [(["", "é"],)]


def test_the_same_row_from_any_kind_of_file_is_one_row(take):
    header = "job,attempt,step,end"
    result, rows = take(
        {
            "steps.ndjson": ndjson(STEP),
            "steps.jsonl.gz": gzip.compress(ndjson(STEP).encode()),
            "steps.csv": csv(header, "A,1,1,2026-03-02T01:00:00Z"),
            "steps.csv.gz": gzip.compress(csv(header, "A,1,1.0,1772413200").encode()),
            "steps.parquet": parquet(
                job=["A"], attempt=[1], step=[1], end=[datetime(2026, 3, 2, 1, tzinfo=UTC)]
            ),
            "steps.parquet.gz": gzip.compress(
                parquet(job=["A"], attempt=[1], step=[1], end=[1772413200.0])
            ),
        }
    )

    assert (result.rows_taken, result.rows_added) == ({"steps": 6}, {"steps": 1})
    assert rows("steps", "job, attempt, step") == [("A", 1, 1)]


def test_every_typed_table_is_taken(take):
    files = {f"{table}.csv": csv("cluster") for table in contract.TYPED_TABLES}
    result, _ = take({**files, "steps.ndjson": ndjson(STEP)})

    assert set(result.rows_taken) == set(contract.TYPED_TABLES)


def test_the_cluster_is_that_of_the_row_else_that_of_the_import(take):
    _, rows = take({"jobs.ndjson": ndjson({"job": "A"}, {"job": "B", "cluster": "c2"})}, "c1")

    assert rows("jobs", "cluster, job") == [("c1", "A"), ("c2", "B")]


def test_a_row_may_bring_its_knowledge_time_and_is_known_from_the_start_without(take):
    late = {"job": "A", "state": "failed", "ingested_at": "2026-03-02T01:00:00.123Z"}
    _, rows = take({"jobs.ndjson": ndjson({"job": "A"}, late)})

    assert rows("jobs", "ingested_at, state") == [(INSTANT, "failed"), (None, None)]


def test_importing_again_adds_nothing_not_even_to_quarantine(take):
    files = {"steps.ndjson": ndjson(STEP, {**STEP, "step": "8k"})}
    first, _ = take(files)
    again, rows = take(files)

    assert (first.rows_added, again.rows_added) == (
        {"steps": 1, "quarantine": 1},
        {"steps": 0, "quarantine": 0},
    )
    assert again.rows_taken == {"steps": 1}
    assert len(refused(rows)) == 1


def test_a_single_file_is_taken_too(tmp_path):
    lake = Lake.open(tmp_path / "lake", create=True)
    (tmp_path / "steps.ndjson").write_text(ndjson(STEP))

    assert import_files(lake, str(tmp_path / "steps.ndjson")).rows_taken == {"steps": 1}
    with pytest.raises(NoData, match=r"steps\.csv is not there"):
        import_files(lake, tmp_path / "steps.csv")


def test_rows_and_blocks_of_any_number_are_taken_whole(take, monkeypatch):
    monkeypatch.setattr("goodput.sources.rowfiles.CHUNK_BYTES", 1000)
    monkeypatch.setattr("goodput.sources.rowfiles.BLOCK_ROWS", 7)
    steps = [{**STEP, "step": number} for number in range(100)]
    table = [f"A,1,{number},1772413200" for number in range(100, 200)]
    result, rows = take(
        {
            "steps.ndjson": ndjson(*steps).removesuffix("\n"),
            "steps.csv": csv("job,attempt,step,end", *table),
        }
    )

    assert result.rows_added == {"steps": 200}
    assert [step for (step,) in rows("steps", "step")] == list(range(200))


# ------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        (
            "end",
            "2026-03-02T01:00:00",
            "has no time zone; write Z for UTC or an offset such as +01:00",
        ),
        ("end", "1772413200123", "is too large for epoch seconds; are these milliseconds?"),
        (
            "end",
            "yesterday",
            "is not a time; write RFC 3339 with a zone, or epoch seconds",
        ),
        (
            "end",
            "2026-02-30T00:00:00Z",
            "is not a time; write RFC 3339 with a zone, or epoch seconds",
        ),
        ("step", "8k", "is not a whole number of 64 bits"),
        ("step", "8.5", "is not a whole number of 64 bits"),
        ("world", "4294967296", "is not a whole number of 32 bits"),
        ("step", "0x10", "is not a whole number of 64 bits"),
    ],
)
def test_a_bad_cell_is_refused_with_its_reason_and_the_rest_is_taken(take, column, value, reason):
    result, rows = take({"steps.ndjson": ndjson(STEP, {**STEP, column: value})})

    assert refused(rows) == [("steps.ndjson", 2, "steps", column, value, reason)]
    assert (result.rows_taken, result.quarantined) == ({"steps": 1}, 1)


@pytest.mark.parametrize(
    ("table", "row", "column", "value", "reason"),
    [
        ("jobs", {"job": "A", "instrumented": "maybe"}, "instrumented", "maybe",
         "is neither true nor false"),
        ("clock_offsets", {"job": "A", "offset_s": "NaN"}, "offset_s", "NaN",
         "is not a finite number"),
        ("pods", {"pod_uid": "p", "devices": [0, "gpu1"]}, "devices", '[0,"gpu1"]',
         "is not a JSON list for INTEGER[]"),
        ("pods", {"pod_uid": "p", "devices": "0,1"}, "devices", "0,1",
         "is not a JSON list for INTEGER[]"),
        ("jobs", {"state": "running"}, "job", None, "is required and missing"),
        ("jobs", {"job": ""}, "job", None, "is required and missing"),
        ("jobs", {"job": "A", "state": "done"}, "state", "state=done",
         "is none of running, succeeded, failed, cancelled"),
        ("commitments", {"pool": "a", "gpus": 8, "from": 20, "to": 10}, "to", "to=10, from=20",
         "breaks the order: to is before from"),
        ("queue", {**STEP, "pool": "p", "pods": 0, "gpus_per_pod": 8, "from": 20}, "pods",
         "pods=0", "is not above 0"),
        ("nodes", {"node_uid": "n", "gpus": 99999, "paid_from": 0}, "gpus", "gpus=99999",
         "is not between 0 and 16,384"),
        ("nodes", {"node_uid": "n", "gpus": 8}, "registered_at", "registered_at=, paid_from=",
         "is missing, and so is paid_from"),
        ("pods", {"pod_uid": "p", "devices": [0, 0]}, "devices", "devices=[0,0]",
         "names a device twice, or one below 0"),
        ("pods", {"pod_uid": "p", "share": "3/2"}, "share", "share=3/2",
         "is no part of one GPU such as 1/2, of at least 1/5040"),
    ],
)  # fmt: skip
def test_what_breaks_the_contract_is_refused_with_its_reason(
    take, table, row, column, value, reason
):
    result, rows = take({f"{table}.ndjson": ndjson(row), "steps.ndjson": ndjson(STEP)})

    assert refused(rows) == [(f"{table}.ndjson", 1, table, column, value, reason)]
    assert result.rows_added == {"steps": 1, "quarantine": 1}


def test_beats_need_all_three_values(take):
    check = {"node_uid": "n", "check": "dcgm", "stale_after_s": 180, "beats": [[0, 600]]}
    _, rows = take({"health_checks.ndjson": ndjson(check)})

    [(_, row, _, column, value, reason)] = refused(rows)
    assert (row, column, value) == (1, "beats", "[[0,600]]")
    assert reason.startswith("is not a JSON list for STRUCT(")


def test_each_bad_cell_of_a_row_is_told(take):
    _, rows = take({"steps.ndjson": ndjson({"job": "A", "attempt": "x", "end": "y", "step": 1})})

    assert [(row, column) for _, row, _, column, _, _ in refused(rows)] == [
        (1, "attempt"),
        (1, "end"),
    ]


@pytest.mark.parametrize(
    ("line", "value", "reason"),
    [
        (b'{"job": "A", "atte', '{"job": "A", "atte', "is not valid JSON; is the line cut off?"),
        (b"[1, 2]", "[1, 2]", "is no JSON object"),
        (b"null", "null", "is no JSON object"),
        (b'{"job": "\xff\xfe"}', '{"job": "\\xff\\xfe"}', "is not UTF-8 text"),
        (b"\x00\x01\x02", "\x00\x01\x02", "is not valid JSON; is the line cut off?"),
        (b'{"job": "\\ud800"}', '{"job": "\\ud800"}', "is not valid JSON; is the line cut off?"),
    ],
)
def test_a_line_that_is_no_object_is_refused_and_the_rest_is_taken(take, line, value, reason):
    content = (
        ndjson(STEP).encode() + b"\n  \n" + line + b"\n" + ndjson({**STEP, "step": 2}).encode()
    )
    result, rows = take({"steps.ndjson": content})

    assert refused(rows) == [("steps.ndjson", 4, "steps", None, value, reason)]
    assert result.rows_taken == {"steps": 2}


def test_an_overlong_line_costs_only_itself(take):
    huge = b'{"job": "' + b"x" * (100 << 20) + b'"}\n'
    result, rows = take(
        {"steps.ndjson": ndjson(STEP).encode() + huge + ndjson({**STEP, "step": 2}).encode()}
    )

    reason = f"a line of {len(huge) - 1} bytes is longer than {MAX_LINE_BYTES >> 20} MiB"
    assert refused(rows) == [("steps.ndjson", 2, "steps", None, None, reason)]
    assert result.rows_taken == {"steps": 2}


def test_overlong_lines_at_every_border_of_a_chunk_are_found(take, monkeypatch):
    monkeypatch.setattr("goodput.sources.rowfiles.MAX_LINE_BYTES", 100)
    for chunk in range(60, 400, 7):
        monkeypatch.setattr("goodput.sources.rowfiles.CHUNK_BYTES", chunk)
        long = json.dumps({**STEP, "job": "x" * 100}) + "\n"
        content = long + ndjson(STEP) + long + long + ndjson({**STEP, "step": chunk}) + long
        result, rows = take({"steps.ndjson": content})
        assert result.rows_taken == {"steps": 2}
        assert result.quarantined == 4
    assert [row for _, row, *_ in refused(rows)] == [1, 3, 4, 6]


def test_an_empty_file_is_told(take):
    result, rows = take({"pods.csv": b"", "nodes.parquet": b"", "steps.ndjson": ndjson(STEP)})

    assert [(file, row, reason) for file, row, _, _, _, reason in refused(rows)] == [
        ("nodes.parquet", None, "the file is empty"),
        ("pods.csv", None, "the file is empty"),
    ]
    assert "pods.csv: 1 quarantined, the first: the file is empty" in result.messages


def test_binary_bytes_in_place_of_a_file_are_told(take):
    noise = bytes(range(256)) * 50
    result, rows = take(
        {
            "jobs.ndjson": noise,
            "pods.csv": noise,
            "nodes.parquet": noise,
            "queue.ndjson.gz": noise,
            "steps.ndjson": ndjson(STEP),
        }
    )

    assert result.rows_added["steps"] == 1
    assert {file for file, *_ in refused(rows)} == {
        "jobs.ndjson",
        "pods.csv",
        "nodes.parquet",
        "queue.ndjson.gz",
    }


def test_a_compressed_file_that_breaks_off_gives_what_came_before(take):
    steps = ndjson(*({**STEP, "step": number} for number in range(5000)))
    packed = gzip.compress(steps.encode())
    result, rows = take({"steps.ndjson.gz": packed[: len(packed) // 2]})

    assert 0 < result.rows_taken["steps"] < 5000
    reasons = [reason for *_, reason in refused(rows)]
    assert any(reason.startswith("the compressed file is damaged") for reason in reasons)


def test_a_cut_parquet_file_is_told(take):
    data = parquet(job=["A"], attempt=[1])
    _, rows = take({"steps.parquet": data[:-8], "jobs.ndjson": ndjson({"job": "A"})})

    [(file, row, _, _, _, reason)] = refused(rows)
    assert (file, row) == ("steps.parquet", None)
    assert reason.startswith("is not a whole Parquet file: ")


def test_times_without_a_zone_in_parquet_are_refused(take):
    data = parquet(job=["A"], attempt=[1], step=[1], end=[datetime(2026, 3, 2)])  # noqa: DTZ001
    _, rows = take({"steps.parquet": data})

    assert refused(rows) == [
        (
            "steps.parquet",
            1,
            "steps",
            "end",
            "2026-03-02 00:00:00",
            "has no time zone; write Z for UTC or an offset such as +01:00",
        )
    ]


def test_ragged_and_foreign_lines_of_csv_are_refused(take):
    content = (
        b'\xef\xbb\xbfjob, state\nA,running\nB\n"C\nC",failed,extra\n\xff,running\nD,"failed"\n'
    )
    result, rows = take({"jobs.csv": content})

    assert rows("jobs", "job, state") == [("A", "running"), ("D", "failed")]
    assert refused(rows) == [
        ("jobs.csv", 3, "jobs", None, "B", "has 1 cells where the header names 2"),
        ("jobs.csv", 4, "jobs", None, "C\nC,failed,extra", "has 3 cells where the header names 2"),
        ("jobs.csv", 6, "jobs", None, "\\xff,running", "is not UTF-8 text"),
    ]
    assert result.quarantined == 3


@pytest.mark.parametrize("header", ["job,job", "job,"])
def test_a_header_that_names_no_columns_is_refused(take, header):
    _, rows = take({"jobs.csv": csv(header, "A,B"), "steps.ndjson": ndjson(STEP)})

    reason = "the header names a column twice or not at all"
    assert refused(rows) == [("jobs.csv", 1, "jobs", None, header, reason)]


CSV = csv("job,state", "A,failed", "B,running")
LINES = ndjson({"job": "A"}, {"job": "B"})


@pytest.mark.parametrize(
    ("name", "data", "row", "reason"),
    [
        ("jobs.csv", CSV.encode("utf-16"), None, "is UTF-16 text; save it as UTF-8"),
        (
            "jobs.csv",
            b"\xfe\xff" + CSV.encode("utf-16-be"),
            None,
            "is UTF-16 text; save it as UTF-8",
        ),
        (
            "jobs.csv",
            CSV.encode("utf-16-le"),
            1,
            "the header holds NUL bytes; save the file as CSV in UTF-8",
        ),
        ("jobs.ndjson", LINES.encode("utf-16"), None, "is UTF-16 text; save it as UTF-8"),
        (
            "jobs.csv",
            gzip.compress(CSV.encode()),
            None,
            "is compressed with gzip; let its name end in .gz",
        ),
        (
            "jobs.csv",
            b"PK\x03\x04\x14\0\xf7",
            None,
            "is a ZIP archive or a workbook; unpack it, or save its sheet as CSV in UTF-8",
        ),
        (
            "jobs.ndjson",
            parquet(job=["A"]),
            None,
            "is a Parquet file; let its name end in .parquet",
        ),
        (
            "jobs.csv",
            csv("job;state", "A;failed", "B;running"),
            1,
            "the header names no column of jobs; are cells separated by commas, quotes closed?",
        ),
        (
            "jobs.csv",
            b"\x81\xe9\x03\r\n\xff\xfe,\x01",
            1,
            "the header names no column of jobs; are cells separated by commas, quotes closed?",
        ),
        (
            "jobs.parquet",
            parquet(Job=["A"]),
            1,
            "the header names no column of jobs; are cells separated by commas, quotes closed?",
        ),
        (
            "jobs.csv",
            csv('job,"state', "A,failed", "B,running"),
            1,
            "the header goes on to the end of the file; is a quote not closed?",
        ),
    ],
)
def test_a_file_that_is_no_table_is_named_with_a_remedy_and_stops_no_other(
    take, name, data, row, reason
):
    result, rows = take({name: data, "steps.ndjson": ndjson(STEP)})

    assert rows("steps", "job, step") == [("A", 1)]
    assert rows("jobs", "job") == []
    told = [(file, number, why) for file, number, _, _, _, why in refused(rows)]
    assert told[-1:] == [(name, row, reason)]
    assert any(message.startswith(name) and reason in message for message in result.messages)


def test_a_header_that_is_not_utf8_keeps_the_columns_that_can_be_read(take):
    lines = ["job,équipe,state", "A,red,failed", "B,café,failed"]
    result, rows = take({"jobs.csv": csv(*lines).encode("latin-1"), "steps.ndjson": ndjson(STEP)})

    assert rows("jobs", "job, state") == [("A", "failed")]
    assert rows("steps", "job, step") == [("A", 1)]
    header = "job,\\xe9quipe,state"
    reason = "the header is not UTF-8 text; save the file as UTF-8"
    assert refused(rows) == [
        ("jobs.csv", 1, "jobs", None, header, reason),
        ("jobs.csv", 3, "jobs", None, "B,caf\\xe9,failed", "is not UTF-8 text"),
    ]
    assert "jobs.csv: left out, jobs has no such columns: \\xe9quipe" in result.messages


def test_texts_in_parquet_that_are_not_utf8_take_no_other_row_with_them(take):
    data = parquet(job=["A", "B~"], state=["failed", "failed"])
    _, rows = take({"jobs.parquet": data.replace(b"B~", b"B\xff"), "steps.ndjson": ndjson(STEP)})

    assert rows("jobs", "job") == [("A",)]
    assert refused(rows) == [("jobs.parquet", 2, "jobs", None, None, "is not UTF-8 text")]


def test_columns_of_parquet_may_be_of_types_that_no_table_has(take):
    buffer = io.BytesIO()
    half, wide = pa.array([2], pa.float32()).cast(pa.float16()), pa.decimal256(60, 0)
    nodes = {
        "node_uid": ["n"],
        "gpus": half,
        "paid_from": ["2026-03-02T00:00:00Z"],
        "name": pa.array([7], wide),
        "colour": pa.array([[1]], pa.list_(wide)),
    }
    pq.write_table(pa.table(nodes), buffer)
    _, rows = take({"nodes.parquet": buffer.getvalue()})

    assert rows("nodes", "node_uid, name, gpus") == [("n", "7", 2)]


@pytest.mark.parametrize("column", ["row number", "json line"])
def test_no_name_of_a_column_is_taken_for_one_of_the_readers(take, column):
    result, rows = take({"jobs.csv": csv(f"job,state,{column}", "A,failed,x", "B,x,x")})

    assert rows("jobs", "job") == [("A",)]
    assert [row for _, row, *_ in refused(rows)] == [3]
    assert f"jobs.csv: left out, jobs has no such columns: {column}" in result.messages


def test_a_name_that_is_nearly_a_column_is_told(take):
    result, _ = take({"jobs.csv": csv("job,submittedAt,State", "A,2026-03-02T00:00:00Z,failed")})

    [message] = result.messages
    assert message == (
        "jobs.csv: left out, jobs has no such columns: State (did you mean state?),"
        " submittedAt (did you mean submitted_at?)"
    )


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("gpu_count", "gpus"),
        ("num_gpus", "gpus"),
        ("node_id", "node_uid"),
        ("node", "node_uid"),
        ("Job-Name", "job"),
    ],
)
def test_a_name_that_says_the_same_is_told(take, column, meant):
    result, _ = take({"pods.csv": csv(f"pod_uid,{column}", "p,1")})

    assert result.messages == [
        f"pods.csv: left out, pods has no such columns: {column} (did you mean {meant}?)"
    ]


def test_unknown_columns_are_left_out_and_named(take):
    result, _ = take(
        {
            "steps.ndjson": ndjson({**STEP, "loss": 1.5, "run_id": "x"}),
            "jobs.csv": csv("job,colour", "A,red"),
        }
    )

    assert result.quarantined == 0
    assert result.messages == [
        "jobs.csv: left out, jobs has no such columns: colour",
        "steps.ndjson: left out, steps has no such columns: loss",
    ]


def test_a_folder_may_have_a_name_that_is_no_text(tmp_path):
    folder = tmp_path / os.fsdecode(b"d\xe9")
    folder.mkdir()
    (folder / "jobs.csv").write_text("job,state\nA,failed\nB,odd\n")
    (folder / os.fsdecode(b"\xe9\x1b.csv")).write_text("x")
    lake = Lake.open(tmp_path / "lake", create=True)
    result = import_files(lake, folder)

    assert (result.rows_added["jobs"], result.quarantined) == (1, 1)
    assert result.messages[0] == "not taken, no typed table: \\xe9\\x1b.csv"


def test_files_that_are_no_typed_table_are_named(take):
    result, _ = take({"steps.ndjson": ndjson(STEP), "README.md": "x", "stages.csv": "y"})

    assert result.messages == ["not taken, no typed table: README.md, stages.csv"]


def test_a_folder_without_typed_tables_is_no_data(take):
    with pytest.raises(NoData, match=r"has no typed table; name files like nodes\.ndjson"):
        take({"README.md": "x"})


def test_hostile_texts_are_only_texts(take):
    name = "'); drop table x; --\x1b[31m<script>\x00"
    _, rows = take({"jobs.ndjson": ndjson({"job": name, "name": '"quoted"'})})

    assert rows("jobs", "job, name") == [(name, '"quoted"')]


def test_every_rule_of_the_contract_has_words():
    for table in raw_tables():
        for check in raw_table(table).checks:
            words = broken_words(raw_table(table), check)
            assert "breaks the rule" not in words, (table, check.expression)


def test_a_secret_that_would_be_cut_goes_first(take):
    secret = "postgres://goodput:hunter2hunter2"
    value = "y" * (199 - len(secret)) + f" {secret}@db.example/x"
    _, rows = take({"jobs.csv": csv("job,kind", f"J,{value}"), "pods.ndjson": f"{value}\n"})

    told = [value for _, _, _, _, value, _ in refused(rows)]
    assert len(told) == 2
    assert all("hunter2" not in text for text in told)
