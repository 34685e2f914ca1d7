"""The command line over a lake of two jobs and models small enough to check by eye."""

import json

import pytest
from click.testing import CliRunner

from goodput._resources import resource_dir
from goodput.cli import main

MODELS = {
    "10_staged/110_jobs.sql": """
        -- Jobs.
        --
        -- grain: cluster, job
        select cluster, job, name, namespace, team, state from raw.jobs""",
    "10_staged/111_nodes.sql": """
        -- Nodes.
        --
        -- grain: cluster, node_uid
        select cluster, node_uid, name, pool, gpus from raw.nodes""",
    "10_staged/112_node_conditions.sql": """
        -- Conditions.
        select * rename ("from" as started_at, "to" as ended_at) from raw.node_conditions""",
    "10_staged/138_log_looks.sql": """
        -- Nobody looked at logs.
        select 'default' as cluster, 'J0' as job, 1 as attempt, '/logs' as root,
            getvariable('window_start')::timestamptz as looked_at, looked_at as seen_at,
            looked_at as known_until
        where false""",
    "20_intervals/232_slow_suspects.sql": """
        -- One suspect.
        select 'default' as cluster, 'u1' as node_uid, 3 as gangs_with, 3 as slow_with,
            4 as gangs_without, 0 as slow_without, 0.0078125::double as p_value""",
    "20_intervals/233_slow_segments.sql": """
        -- Twenty slow minutes.
        select 'default' as cluster, 'J1' as job, 1 as attempt, 1 as attempt_id, 0 as zone,
            0 as setting_id, getvariable('window_start_ms') as started_ms,
            getvariable('window_start_ms') + 1200000 as ended_ms, 200 as record_count,
            6000 as median_ms, 5000 as baseline_ms, 'unk.slow' as class, 'elimination' as basis,
            'u1' as node_uid, 60 as confidence""",
    "30_ledger/310_gpu_time.sql": """
        -- A job of two attempts on two GPUs, and an idle minute of the second GPU.
        --
        -- grain: node_uid, gpu, started_at
        select 'default' as cluster, 'u1' as node_uid, 'n1' as node_name, 'train' as pool, gpu,
            getvariable('window_start') + to_minutes(from_minute) as started_at,
            getvariable('window_start') + to_minutes(to_minute) as ended_at,
            5040::bigint * (to_minute - from_minute) * 60000 as unit_ms, state, cause,
            null as domain,
            'available' as node_state, job, attempt, null as namespace, confidence
        from (values
            (0, 0, 30, 'A.productive', null, 'J1', 1, null),
            (1, 0, 10, 'A.productive', null, 'J1', 1, null),
            (1, 10, 30, 'A.productive', null, 'J1', 1, null),
            (0, 30, 60, 'A.lost.recompute', 'gpu.lost', 'J1', 2, 90),
            (1, 30, 59, 'A.lost.recompute', 'gpu.lost', 'J1', 2, 90),
            (1, 59, 60, 'I.no_demand', null, null, null, null)
        ) as t (gpu, from_minute, to_minute, state, cause, job, attempt, confidence)""",
    "30_ledger/343_window_totals.sql": """
        -- The sums of the ledger.
        select cluster, pool, node_uid, gpu as lead_gpu, state, cause, sum(unit_ms) as unit_ms
        from ledger.gpu_time
        group by all""",
    "30_ledger/344_group_time.sql": """
        -- What the interruption is charged with: its recomputation, and a GPU that waited.
        select cluster, state, job, 'J1' as cause_job, 1 as cause_attempt, unit_ms
        from ledger.gpu_time
        where cause is not null or job is null""",
    "30_ledger/350_interruptions.sql": """
        -- One interruption.
        select 'default' as cluster, 'J1' as job, 1 as attempt,
            getvariable('window_start') + to_minutes(30) as "at", 'failed' as outcome,
            'gpu.lost' as class, 'infra' as domain, 90 as confidence, ['net.link'] as competing,
            [{'points': 110, 'reason': 'proof'}, {'points': -20, 'reason': 'a rival'}]
            as confidence_terms,
            'u1' as node_uid, 'proof' as rule, 'gpu.lost 1' as incident,
            'net.fabric' as caused_by, 'J0' as caused_by_job, 2 as caused_by_attempt,
            3600000 as lost_gpu_ms""",
    "36_rollups/376_slow_losses.sql": """
        select 1 as attempt_id, 0 as zone, 0 as setting_id, 200000 as lost_ms, 180000 as low_ms,
            220000 as high_ms""",
    "30_ledger/360_evidence.sql": """
        -- What was seen.
        select 'default' as cluster, 'J1' as job, 1 as attempt,
            getvariable('window_start_ms') + 1799000 as observed_ms, source, value, class,
            role, 3 as strength, 'u1' as node_uid, null as pod_uid, null as rank, is_picked,
            origin, origin_line
        from (values
            ('exit', 'exit code 1', 'app.code', 'either', false, null, null),
            ('xid', '79', 'gpu.lost', 'root', true, 'kernel.log', 12)
        ) as t (source, value, class, role, is_picked, origin, origin_line)""",
    "30_ledger/370_outages.sql": """
        -- One outage.
        select 'default' as cluster, 'u1' as node_uid, null::integer as gpu,
            getvariable('window_start_ms') as started_ms,
            getvariable('window_start_ms') + 60000 as ended_ms, 'gpu.lost' as class,
            false as planned, 'reboot' as action, 'gpu.lost 1' as incident, 0 as lost_gpu_ms""",
    "30_ledger/371_incidents.sql": """
        -- One incident.
        select 'default' as cluster, 'gpu.lost 1' as incident, 'gpu.lost' as class,
            getvariable('window_start') as started_at, 'rack-1' as topology, ['u1', 'u2'] as nodes,
            ['J1'] as jobs, 1 as interruption_count, 2 as outage_count,
            5400000 as lost_gpu_ms""",
    "40_metrics/410_goodput.sql": """
        -- Goodput.
        select 'goodput_paid' as metric, 'fleet' as scope, null as scope_value,
            0.5::double as value, null::double as low, null::double as high,
            60.0 as numerator, 120.0 as denominator,
            1::bigint as event_count, 'ratio' as unit,
            getvariable('window_start')::timestamptz as window_start,
            getvariable('window_end')::timestamptz as window_end, 'default' as cluster""",
    "90_checks/910_loose.sql": """
        -- Jobs without a team.
        --
        -- severity: warn
        select * from staged.jobs where team is null""",
    "90_checks/920_strict.sql": """
        -- No job may be called bad.
        --
        -- severity: error
        select * from staged.jobs where name = 'bad'""",
}
TABLES = {
    "jobs": [{"job": "J1", "name": "llama", "namespace": "ml", "ended_at": "2026-03-04T10:00:00Z"}],
    "nodes": [{"node_uid": "u1", "name": "n1", "gpus": 2, "registered_at": "2026-02-20T00:00:00Z"}],
    "node_conditions": [
        {"node_uid": "u1", "type": "Ready", "status": "False", "reason": "Gone", "from": 1772409600}
    ],
}


@pytest.fixture
def models(tmp_path, monkeypatch):
    """The models of MODELS in place of the real ones, over the real contract; a test may add."""
    root = tmp_path / "sql"
    root.mkdir()
    (root / "00_raw").symlink_to(resource_dir("sql") / "00_raw")
    (root / "columns.toml").symlink_to(resource_dir("sql") / "columns.toml")
    for name, text in MODELS.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(line.strip() for line in text.strip().splitlines()) + "\n")
    for module in ("models", "build"):
        monkeypatch.setattr(f"goodput.warehouse.{module}.resource_dir", lambda _: root)
    monkeypatch.setattr("goodput.warehouse.build.fill_intervals", lambda _: None)
    return root


@pytest.fixture
def tables(tmp_path):
    """A folder of typed tables."""
    folder = tmp_path / "tables"
    folder.mkdir()
    for table, rows in TABLES.items():
        (folder / f"{table}.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def goodput(tmp_path):
    """Runs a command line over the test's lake."""

    def run(*arguments, lake=True):
        where = ["--lake", str(tmp_path / "lake")] if lake else []
        return CliRunner().invoke(main, [*where, *map(str, arguments)])

    return run


@pytest.fixture
def built(goodput, models, tables):
    """The command line after an import and a build of the week of 2026-03-02."""
    assert models.is_dir()
    assert goodput("import", tables).exit_code == 0
    result = goodput("build", "--week", "2026-W10")
    assert result.exit_code == 0, result.stderr
    return goodput
