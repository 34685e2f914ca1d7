-- Lines of kernel logs that a signature knows: XIDs, NVSwitch errors, memory, PCIe, network,
-- lockups.
--
-- `value` is the code for source xid and sxid, else the message. `t` is null where the line shows
-- no time that can be read; such rows are counted and explain nothing.
--
-- grain: row
-- day: t

create table raw.kernel_events (
    cluster varchar not null,
    t timestamptz,
    source varchar not null,
    value varchar not null,
    node_name varchar,
    pci varchar,
    pid bigint,
    message varchar,
    signature varchar not null,
    origin varchar,
    origin_line bigint,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (source in ('xid', 'sxid', 'kernel'))
);
