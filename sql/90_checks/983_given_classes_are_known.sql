-- Failure classes in typed tables that the taxonomy does not know: the row counts as if it named none.
--
-- grain: row
-- severity: warn

with given as (
    select cluster, 'nodes' as table_name, node_uid as subject, replaces_cause as class, ingested_from
    from gathered.nodes
    qualify row_number() over (
        partition by cluster, node_uid
        order by ingested_at desc nulls last, run_id desc nulls last, row_id desc nulls last
    ) = 1

    union

    select cluster, 'node_conditions', node_uid, class, ingested_from
    from gathered.node_conditions

    union

    select cluster, 'node_condition_events', node_uid, class, ingested_from
    from gathered.node_condition_events

    union

    select cluster, 'node_admin', node_uid, class, ingested_from
    from gathered.node_admin

    union

    select cluster, 'commitments', pool, class, ingested_from
    from gathered.commitments

    union

    select cluster, 'phases', job, class, ingested_from
    from gathered.phases

    union

    select cluster, 'markers', job, cause, ingested_from
    from gathered.markers

    union

    select cluster, 'evidence', coalesce(job, node_uid), class, ingested_from
    from gathered.evidence
)

select given.cluster, given.table_name, given.subject, given.class, given.ingested_from
from given
anti join catalog.taxonomy as taxonomy on given.class = taxonomy.class
where given.class is not null
