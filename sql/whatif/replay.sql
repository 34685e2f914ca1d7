-- The ledger of the window as it was, and as it would have been: per state, in units x ms.
--
-- Every attempt begins, and every failure that is left strikes, at its recorded instant. What a change
-- sets free on the devices of a job becomes work of that job, and is saved and lost like the rest.
--
-- Variables: interval_ms and restart_ms, null leaves what was; chosen_job, null means every job;
-- healed_nodes, uids of the nodes that never fail; spared, {cluster, job, attempt} of the ends after
-- which a spare stood in; spares, {cluster, gpus} of what is paid for the whole window.

with attempts as (
    select
        attempt.*,
        coalesce(
            taxonomy.domain = 'infra' and list_contains(getvariable('healed_nodes'), attribution.node_uid), false
        ) as is_removed,
        list_contains(
            getvariable('spared'),
            {'cluster': attempt.cluster, 'job': attempt.job, 'attempt': attempt.attempt}
        ) as is_spared,
        getvariable('chosen_job') is null or attempt.job = getvariable('chosen_job') as is_chosen,
        pace.first_started_ms - attempt.started_ms as restart_ms,
        max(case when pace.record_count > 0 then attempt.attempt_order end) over (
            partition by attempt.lineage_id
        ) as last_working_order
    from intervals.lineage_attempts as attempt
    inner join intervals.attempt_pace as pace using (attempt_id)
    left join intervals.attribution as attribution using (cluster, job, attempt)
    left join catalog.taxonomy as taxonomy on attribution.class = taxonomy.class
    where attempt.job_kind = 'training'
),

-- Attempts that follow an end that is taken away are one run with what came before.
chained as (
    select
        *,
        count(*) filter (where not coalesce(is_after_removed, false)) over (
            partition by lineage_id
            order by attempt_order
        ) as run
    from (
        select
            *,
            lag(is_removed) over (partition by lineage_id order by attempt_order) as is_after_removed
        from attempts
    )
),

-- Time of broken nodes by node, since some are healed; all else by what it is charged to.
cells as (
    select
        cluster,
        false as is_healed_node,
        state,
        job,
        attempt,
        cause_job,
        cause_attempt,
        cause,
        unit_ms
    from rollups.charged_time
    where state not like 'U.%'

    union all by name

    select
        cluster,
        coalesce(list_contains(getvariable('healed_nodes'), node_uid), false) as is_healed_node,
        state,
        cause,
        unit_ms
    from ledger.window_totals
    where state like 'U.%'
),

judged as (
    select
        cells.*,
        own.lineage_id,
        own.run,
        own.restart_ms,
        case
            when own.run is null then
                case
                    when cells.is_healed_node and taxonomy.domain in ('infra', 'unknown')
                        then 'healed'
                    else 'held'
                end
            when payer.is_removed and cells.state like 'A.%' then 'work'
            when cells.state in ('A.productive.committed', 'A.productive.provisional') then 'work'
            when
                getvariable('interval_ms') is not null
                and own.is_chosen
                and (
                    cells.state = 'A.ckpt_save'
                    or (
                        cells.state in ('A.lost.recompute', 'A.lost.abandoned')
                        and cells.cause_job is not null
                    )
                )
                then 'work'
            when
                getvariable('restart_ms') is not null
                and own.is_chosen
                and own.restart_ms > 0
                and cells.cause_job is not null
                and cells.state in ('A.startup', 'A.gang_wait', 'A.init', 'A.restore')
                then 'restart'
            else 'held'
        end as part
    from cells
    left join catalog.taxonomy as taxonomy on cells.cause = taxonomy.class
    left join chained as own
        on
            cells.cluster = own.cluster
            and cells.job = own.job
            and cells.attempt = own.attempt
    left join chained as payer
        on
            cells.cluster = payer.cluster
            and cells.cause_job = payer.job
            and cells.cause_attempt = payer.attempt
),

-- Waits that did not happen, on the devices that the gang had just held.
gaps as (
    select
        gap.cluster,
        gap.lineage_id,
        following.run,
        gap.job,
        gap.attempt,
        gap.is_removed,
        greatest(gap.ended_ms, getvariable('window_start_ms')) as started_ms,
        least(gap.next_started_ms, getvariable('window_end_ms')) as ended_ms
    from chained as gap
    inner join chained as following
        on
            gap.lineage_id = following.lineage_id
            and gap.attempt_order + 1 = following.attempt_order
    where
        (gap.is_removed or gap.is_spared)
        and gap.next_started_ms > gap.ended_ms
        and gap.next_started_ms > getvariable('window_start_ms')
        and gap.ended_ms < getvariable('window_end_ms')
),

gap_devices as (
    select distinct gaps.*, groups.group_id
    from gaps
    inner join staged.pods as pod using (cluster, job, attempt)
    inner join intervals.pod_devices as held using (cluster, pod_uid)
    inner join ledger.pod_groups as groups using (pod_id)
    where pod.role = 'worker'
),

gap_charges as (
    select
        charge.charge_id,
        charge.state,
        charge.state like 'I.%' as is_idle,
        coalesce(taxonomy.domain in ('infra', 'unknown'), false) as is_fault
    from ledger.charges as charge
    left join catalog.taxonomy as taxonomy on charge.cause = taxonomy.class
    where charge.state like 'I.%' or charge.state like 'U.%'
),

gap_pieces as (
    select
        gap.cluster,
        gap.lineage_id,
        gap.run,
        case when charge.is_idle then charge.state else 'I.no_demand' end as state,
        entry.unit_count * (
            least(entry.ended_ms, gap.ended_ms) - greatest(entry.started_ms, gap.started_ms)
        ) as unit_ms
    from gap_devices as gap
    inner join ledger.entries as entry
        on
            gap.group_id = entry.group_id
            and gap.started_ms < entry.ended_ms
            and gap.ended_ms > entry.started_ms
    inner join gap_charges as charge using (charge_id)
    inner join ledger.device_groups as device on gap.group_id = device.group_id
    where
        entry.pod_id is null
        and (
            charge.is_idle
            or (charge.is_fault and gap.is_removed and list_contains(getvariable('healed_nodes'), device.node_uid))
        )
    -- Of two gangs that waited for one device, the first has it.
    qualify row_number() over (
        partition by entry.group_id, entry.started_ms
        order by gap.started_ms, gap.lineage_id
    ) = 1
),

-- A spare works in the place of the node that failed, for as long as the job would have waited.
spare_pieces as (
    select
        gap.cluster,
        gap.lineage_id,
        gap.run,
        'A.standby' as state,
        (gap.ended_ms - gap.started_ms) * 5040 * node.gpus as unit_ms
    from gaps as gap
    inner join intervals.attribution as attribution using (cluster, job, attempt)
    inner join staged.nodes as node using (cluster, node_uid)
    where not gap.is_removed
),

taken as (
    select * from gap_pieces
    union all
    select * from spare_pieces
),

-- How much longer or shorter a restart is; work can only give what there is of it.
stretched as (
    select
        lineage_id,
        run,
        job,
        attempt,
        least(
            getvariable('restart_ms') / max(restart_ms),
            1 + coalesce(sum(unit_ms) filter (where part = 'work'), 0)
            / sum(unit_ms) filter (where part = 'restart')
        ) as ratio
    from judged
    where run is not null
    group by lineage_id, run, job, attempt
    having count(*) filter (where part = 'restart') > 0
),

restarts as (
    select
        judged.cluster,
        judged.lineage_id,
        judged.run,
        judged.state,
        judged.unit_ms,
        cast(floor(judged.unit_ms * stretched.ratio) as hugeint) as after_unit_ms
    from judged
    inner join stretched using (lineage_id, run, job, attempt)
    where judged.part = 'restart'
),

freed as (
    select
        cluster,
        lineage_id,
        run,
        unit_ms,
        case when state = 'A.productive.provisional' then unit_ms else 0 end as provisional_unit_ms
    from judged
    where part = 'work'
    union all
    select cluster, lineage_id, run, unit_ms - after_unit_ms, 0 from restarts
    union all
    select cluster, lineage_id, run, unit_ms, 0 from taken
),

works as (
    select
        cluster,
        lineage_id,
        run,
        sum(unit_ms) as unit_ms,
        sum(provisional_unit_ms) as provisional_unit_ms
    from freed
    group by cluster, lineage_id, run
),

-- How long each run worked, before, in and after the window.
worked as (
    select
        own.lineage_id,
        own.run,
        sum(greatest(0, least(line.ended_ms, getvariable('window_start_ms')) - line.started_ms)) as before_ms,
        sum(
            greatest(
                0,
                least(line.ended_ms, getvariable('window_end_ms'))
                - greatest(line.started_ms, getvariable('window_start_ms'))
            )
        ) as inside_ms,
        sum(greatest(0, line.ended_ms - greatest(line.started_ms, getvariable('window_end_ms')))) as after_ms
    from intervals.attempt_timeline as line
    inner join chained as own using (cluster, job, attempt)
    where
        line.state in ('A.productive.committed', 'A.productive.provisional', 'A.ckpt_save')
        or (
            line.state in ('A.lost.recompute', 'A.lost.abandoned') and line.cause_job is not null
        )
    group by own.lineage_id, own.run
),

runs as (
    select
        lineage_id,
        run,
        arg_max(job, attempt_order) as job,
        bool_and(is_chosen) as is_chosen,
        arg_max(is_interrupted and not is_removed and outcome <> 'rollback', attempt_order) as is_cut,
        -- Nothing goes on from where it ended.
        arg_max(
            attempt_order >= last_working_order and job_state in ('failed', 'cancelled'),
            attempt_order
        ) as is_final,
        -- Where only success counts, no work of a job that failed does.
        getvariable('credit') = 'success_only'
        and arg_max(job_state in ('failed', 'cancelled'), attempt_order) as is_worthless
    from chained
    group by lineage_id, run
),

saves as (
    select cluster, job, cast(round(1000 * save_s) as bigint) as save_ms
    from report.checkpoint_habits
),

cycled as (
    select
        works.*,
        runs.is_cut,
        runs.is_final,
        worked.before_ms,
        worked.after_ms,
        -- Work that was set free lengthens the run at the pace of the devices it had.
        worked.inside_ms * works.unit_ms / nullif(recorded.unit_ms, 0) as inside_ms,
        getvariable('interval_ms') + coalesce(saves.save_ms, 0) as cycle_ms,
        coalesce(saves.save_ms, 0) as save_ms
    from works
    inner join runs using (lineage_id, run)
    left join saves on works.cluster = saves.cluster and runs.job = saves.job
    inner join worked using (lineage_id, run)
    inner join (
        select lineage_id, run, sum(unit_ms) as unit_ms
        from judged
        where
            part = 'work'
            and (
                state in ('A.productive.committed', 'A.productive.provisional', 'A.ckpt_save')
                or state in ('A.lost.recompute', 'A.lost.abandoned')
            )
        group by lineage_id, run
    ) as recorded using (lineage_id, run)
    where getvariable('interval_ms') is not null and runs.is_chosen and worked.inside_ms > 0
),

tails as (
    select
        *,
        before_ms + inside_ms + after_ms as end_ms,
        case
            when is_cut then (before_ms + inside_ms + after_ms) % cycle_ms else 0
        end as lost_ms,
        floor((before_ms + inside_ms) / cycle_ms) - floor(before_ms / cycle_ms) as save_count
    from cycled
),

spent as (
    select
        lineage_id,
        run,
        is_final,
        -- The part of the lost tail that lies in the window.
        least(unit_ms, cast(floor(unit_ms * greatest(
            0, least(end_ms, before_ms + inside_ms) - greatest(end_ms - lost_ms, before_ms)
        ) / inside_ms) as hugeint)) as lost_unit_ms,
        cast(floor(unit_ms * save_count * save_ms / inside_ms) as hugeint) as save_unit_ms
    from tails
),

done as (
    select
        works.cluster,
        works.provisional_unit_ms,
        runs.is_worthless,
        spent.is_final,
        coalesce(spent.lost_unit_ms, 0) as lost_unit_ms,
        least(coalesce(spent.save_unit_ms, 0), works.unit_ms - coalesce(spent.lost_unit_ms, 0))
            as save_unit_ms,
        works.unit_ms - coalesce(spent.lost_unit_ms, 0) as rest_unit_ms
    from works
    inner join runs using (lineage_id, run)
    left join spent using (lineage_id, run)
),

outcome as (
    select cluster, 'A.ckpt_save' as state, save_unit_ms as unit_ms from done
    union all
    select
        cluster,
        case when is_final then 'A.lost.abandoned' else 'A.lost.recompute' end,
        lost_unit_ms
    from done
    union all
    select
        cluster,
        'A.productive.provisional',
        least(provisional_unit_ms, rest_unit_ms - save_unit_ms)
    from done
    union all
    select
        cluster,
        case when is_worthless then 'A.lost.abandoned' else 'A.productive.committed' end,
        rest_unit_ms - save_unit_ms - least(provisional_unit_ms, rest_unit_ms - save_unit_ms)
    from done
),

sides as (
    select cluster, state, unit_ms as before_unit_ms, 0 as after_unit_ms from judged
    union all
    select cluster, state, 0, unit_ms from judged where part = 'held'
    union all
    select cluster, 'I.no_demand', 0, unit_ms from judged where part = 'healed'
    union all
    select cluster, state, 0, after_unit_ms from restarts
    union all
    select cluster, state, 0, -unit_ms from taken
    union all
    select cluster, state, 0, unit_ms from outcome
    union all
    select
        spare.cluster,
        'A.standby',
        0,
        spare.gpus * 5040 * (getvariable('window_end_ms') - getvariable('window_start_ms'))
    from (select unnest(getvariable('spares')) as spare)
)

select
    cluster,
    state,
    cast(sum(before_unit_ms) as hugeint) as before_unit_ms,
    cast(sum(after_unit_ms) as hugeint) as after_unit_ms
from sides
group by cluster, state
having sum(before_unit_ms) <> 0 or sum(after_unit_ms) <> 0
order by cluster, state
