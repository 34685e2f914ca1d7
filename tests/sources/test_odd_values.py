"""Values of the right type that would break the models are refused at the door."""

import json

import pytest

from goodput.lake import Lake
from goodput.sources.typed import import_files

POD = {"pod_uid": "p", "gpus": 1}
COMMITMENT = {"pool": "p", "from": 0}
CHECK = {"node_uid": "n", "check": "c"}
OFFSET = {"job": "J"}
STEP = {"job": "J", "attempt": 1, "end": 0}
NODE = {"node_uid": "n", "registered_at": 0}


@pytest.mark.parametrize(
    ("table", "row", "is_taken"),
    [
        ("pods", {**POD, "share": "3/7"}, True),
        ("pods", {**POD, "share": "7/7"}, True),
        ("pods", {**POD, "share": "1/5040"}, True),
        *[
            ("pods", {**POD, "share": share}, False)
            for share in ("0/7", "8/7", "x/y", "1/0", "-1/7", "3", "1/5041", "2147483647/1", "1/ 2")
        ],
        ("pods", {**POD, "devices": [1, 0]}, True),
        ("pods", {**POD, "devices": []}, True),
        ("pods", {**POD, "devices": [0, 0]}, False),
        ("pods", {**POD, "devices": [-1]}, False),
        ("pods", {**POD, "devices": [None, 1]}, False),
        ("nodes", {**NODE, "gpus": 16384}, True),
        ("nodes", {**NODE, "gpus": 16385}, False),
        ("commitments", {**COMMITMENT, "gpus": 1000000}, True),
        ("commitments", {**COMMITMENT, "gpus": 1000001}, False),
        ("health_checks", {**CHECK, "stale_after_s": 1}, True),
        ("health_checks", {**CHECK, "stale_after_s": 1e-9}, False),
        ("health_checks", {**CHECK, "stale_after_s": 1e300}, False),
        (
            "health_checks",
            {**CHECK, "stale_after_s": 9, "beats": [[0, 9, 1], [0, 9, 0.001], [0, 9, 1e300]]},
            True,
        ),
        ("health_checks", {**CHECK, "stale_after_s": 9, "beats": []}, True),
        ("health_checks", {**CHECK, "stale_after_s": 9, "beats": [[0, 9, 1], [0, 9, 0]]}, False),
        (
            "health_checks",
            {**CHECK, "stale_after_s": 9, "beats": [[0, 9, -1e-9], [0, 9, 1]]},
            False,
        ),
        ("steps", {**STEP, "step": 10**15}, True),
        ("steps", {**STEP, "step": 2**63 - 1}, False),
        ("steps", {**STEP, "first": -(2**63), "last": 0}, False),
        ("checkpoints", {**STEP, "step": 10**15 + 1, "write_start": 0}, False),
        ("attempts", {"job": "J", "attempt": 1, "start": 0, "resume_step": -(2**63)}, False),
        ("clock_offsets", {**OFFSET, "offset_s": -30}, True),
        ("clock_offsets", {**OFFSET, "offset_s": 1e300}, False),
    ],
)
def test_a_value_that_no_model_can_use_goes_to_quarantine(tmp_path, table, row, is_taken):
    (tmp_path / f"{table}.ndjson").write_text(json.dumps(row))
    lake = Lake.open(tmp_path / "lake", create=True)
    result = import_files(lake, tmp_path)

    assert (result.rows_taken[table], result.quarantined) == ((1, 0) if is_taken else (0, 1))
