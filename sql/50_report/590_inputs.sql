-- What this build read: rows of each input table known at the knowledge time, and when the newest
-- of them arrived. Rows that say nothing about their arrival were known from the start.
--
-- grain: table_name

with counted as (
    select 'nodes' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.nodes
    union all
    select 'node_conditions' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.node_conditions
    union all
    select 'node_condition_events' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.node_condition_events
    union all
    select 'node_admin' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.node_admin
    union all
    select 'health_checks' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.health_checks
    union all
    select 'commitments' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.commitments
    union all
    select 'prices' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.prices
    union all
    select 'jobs' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.jobs
    union all
    select 'attempts' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.attempts
    union all
    select 'pods' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.pods
    union all
    select 'pod_events' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.pod_events
    union all
    select 'queue' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.queue
    union all
    select 'steps' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.steps
    union all
    select 'step_logs' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.step_logs
    union all
    select 'phases' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.phases
    union all
    select 'checkpoints' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.checkpoints
    union all
    select 'markers' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.markers
    union all
    select 'evidence' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.evidence
    union all
    select 'clock_offsets' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.clock_offsets
    union all
    select 'collector_gaps' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.collector_gaps
    union all
    select 'kube_objects' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.kube_objects
    union all
    select 'kube_events' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.kube_events
    union all
    select 'kube_lists' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.kube_lists
    union all
    select 'log_files' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_files
    union all
    select 'log_segments' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_segments
    union all
    select 'log_steps' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_steps
    union all
    select 'log_phases' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_phases
    union all
    select 'log_checkpoints' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_checkpoints
    union all
    select 'log_evidence' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_evidence
    union all
    select 'log_slow_ranks' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_slow_ranks
    union all
    select 'log_restores' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_restores
    union all
    select 'tracker_events' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.tracker_events
    union all
    select 'checkpoint_files' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.checkpoint_files
    union all
    select 'kernel_events' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.kernel_events
    union all
    select 'log_reads' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_reads
    union all
    select 'log_lists' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.log_lists
    union all
    select 'checkpoint_lists' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.checkpoint_lists
    union all
    select 'prom_states' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.prom_states
    union all
    select 'prom_slices' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.prom_slices
    union all
    select 'quarantine' as name, count(*) as row_count, max(ingested_at) as newest_at
    from raw.quarantine
)

select
    name as table_name,
    row_count,
    newest_at as newest_ingested_at
from counted
where row_count > 0
