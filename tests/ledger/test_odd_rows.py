"""Rows of the right types that nobody meant: the build goes through and every check holds."""

import json

from click.testing import CliRunner

from goodput.cli import main

DAY = "2026-03-02T00:00:00Z"
LARGEST = 2**31 - 1
TABLES = {
    "nodes": [
        {"node_uid": "n", "pool": "p", "gpus": 2, "registered_at": DAY, "replaces_cause": "made.up"}
    ],
    "jobs": [{"job": "J", "state": "failed"}],
    "attempts": [
        {"job": "J", "attempt": -7, "start": DAY, "end": DAY},
        {"job": "J", "attempt": LARGEST, "start": DAY},
    ],
    "node_conditions": [
        {"node_uid": "ghost", "type": "Ready", "status": "False", "from": DAY},
    ],
    "pods": [
        {"pod_uid": "a", "job": "J", "attempt": -7, "node_uid": "n", "gpus": 9, "bound_at": DAY},
        {"pod_uid": "b", "job": "J", "attempt": 0, "node_uid": "n", "devices": [7], "gpus": 1},
        {"pod_uid": "c", "job": "J", "attempt": 1, "node_uid": "ghost", "gpus": 1, "bound_at": DAY},
    ],
    "steps": [{"job": "J", "attempt": -7, "first": -(10**15), "last": 10**15, "end": DAY}],
    "queue": [
        {"job": "K", "attempt": 1, "pool": "p", "pods": LARGEST, "gpus_per_pod": LARGEST,
         "from": DAY},
    ],
    "health_checks": [
        {"node_uid": "n", "check": "c", "stale_after_s": 9, "beats": [[0, 1, 1e300], [1, 0, 1]]},
    ],
    "prices": [
        {"pool": "p", "from": DAY, "microdollars_per_gpu_hour": cents} for cents in (10_000, 20_000)
    ],
    "step_logs": [{"job": "J", "attempt": 1, "tz": "Nowhere/Zone", "lines": [f"{DAY} step=1"]}],
}  # fmt: skip


def test_odd_rows_neither_stop_a_build_nor_break_a_check(tmp_path):
    for table, rows in TABLES.items():
        (tmp_path / f"{table}.ndjson").write_text("\n".join(map(json.dumps, rows)))

    def goodput(*words):
        return CliRunner().invoke(main, ["--lake", str(tmp_path / "lake"), *map(str, words)])

    imported = goodput("import", tmp_path)
    built = goodput("build", "--week", "2026-W10")
    paid = goodput("query", "-o", "csv", "select sum(unit_ms) as units from ledger.gpu_time")

    assert "quarantined" not in imported.stderr
    assert built.exit_code == 0, built.stderr
    assert "warn: given_classes_are_known: 1 row." in built.stderr
    assert "warn: conditions_speak_of_known_nodes: 1 row." in built.stderr
    assert "warn: prices_agree: 1 row." in built.stderr
    assert "warn: step_logs_name_a_known_zone: 1 row." in built.stderr
    assert "warn: steps_belong_to_known_attempts: 1 row." in built.stderr
    assert paid.stdout == f"units\n{2 * 5040 * 7 * 24 * 3600 * 1000}\n"
