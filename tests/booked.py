"""Hand-made rows of the ledger's views, as the tables that the views show.

The ledger is booked once for a group of devices, with numbers for names. A test gives rows of
`ledger.gpu_time` and `ledger.device_health` as people read them; here every device is a group and a
profile by itself, and what the rows name becomes pods, charges and attributions. A row that tells a
confidence and nobody to charge is charged to a made-up attempt of that confidence.
"""

from __future__ import annotations

import duckdb

_GPU_TIME = """
    create or replace temp table entries as
    select
        *,
        cast(hash(cluster, node_uid, node_name, pool, gpu) >> 1 as bigint) as group_id,
        cast(hash(state, cause, cause_job, cause_attempt) >> 1 as bigint) as charge_id,
        case when pod_uid is not null then cast(hash(cluster, pod_uid) >> 1 as bigint) end as pod_id
    from (
        select * replace (
            coalesce(pod_uid, nullif(concat_ws('/', namespace, job, attempt), '')) as pod_uid,
            coalesce(cause_job, 'confidence ' || confidence) as cause_job,
            coalesce(cause_attempt, case when confidence is not null then 1 end) as cause_attempt
        )
        from given
    );

    insert into ledger.device_groups by name
    select distinct group_id, cluster, node_uid, node_name, pool, gpu as lead_gpu, [gpu] as gpus
    from entries;

    insert into ledger.charges by name
    select distinct charge_id, state, cause, cause_job, cause_attempt
    from entries;

    insert into intervals.attribution by name
    select distinct cluster, cause_job as job, cause_attempt as attempt, confidence
    from entries
    where confidence is not null;

    insert into intervals.pod_devices by name
    select distinct pod_id, cluster, pod_uid
    from entries
    where pod_id is not null;

    insert into staged.pods by name
    select distinct cluster, pod_uid, namespace, job, attempt
    from entries
    where pod_id is not null;

    insert into ledger.entries by name
    select
        group_id,
        pod_id,
        charge_id,
        coalesce(epoch_ms(started_at), 0) as started_ms,
        -- Where a row does not say how long, it is whole GPUs or as many units as make a whole.
        coalesce(
            epoch_ms(ended_at), coalesce(epoch_ms(started_at), 0) + unit_ms // gcd(unit_ms, 5040)
        ) as ended_ms,
        node_state,
        epoch_ms(outage_started_at) as outage_started_ms,
        coalesce(
            unit_ms // (epoch_ms(ended_at) - epoch_ms(started_at)), gcd(unit_ms, 5040)
        ) as unit_count
    from entries;
"""

_DEVICE_HEALTH = """
    insert into ledger.devices by name
    select distinct cluster, node_uid, pool, gpu, gpu as profile
    from given;

    insert into ledger.node_pieces by name
    select * exclude (gpu, planned), gpu as profile, planned as is_planned
    from given;
"""

BOOKED = {"ledger.gpu_time": _GPU_TIME, "ledger.device_health": _DEVICE_HEALTH}
"""How to book the rows of a view; once in a warehouse."""


def put(con: duckdb.DuckDBPyConnection, table: str, rows: str) -> None:
    """Puts rows into a table, or books them.

    Args:
        rows: the relation that holds them, with some of the table's columns in any order.
    """
    if table not in BOOKED:
        con.execute(f"insert into {table} by name from {rows}")
        return
    con.execute(f"create or replace temp table given as from {table} limit 0")
    con.execute(f"insert into given by name from {rows}")
    con.execute(BOOKED[table])
    names = ", ".join(con.table(rows).columns)
    unlike = con.sql(f"select {names} from given except all select {names} from {table}").fetchall()
    assert not unlike, f"{table} does not show {unlike[0]}, which was given"
