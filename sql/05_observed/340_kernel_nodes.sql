-- The node that each host name and log file of kernel logs means, with the span of its life.
--
-- A host name is the node's, or its first label. A file whose lines name no host is matched by the
-- node's name in its path. Names are used again: the lines' time picks the life, see
-- evidence_kernel.
--
-- grain: cluster, node_name, origin, node_uid
-- nothing without: raw.kernel_events

with

nodes as (
    select
        cluster,
        node_uid,
        name,
        coalesce(registered_at, paid_from) as born_at,
        coalesce(deleted_at, paid_to) as gone_at
    from raw.nodes
    where name is not null

    union

    select
        cluster,
        node_uid,
        name,
        coalesce(registered_at, paid_from) as born_at,
        coalesce(deleted_at, paid_to) as gone_at
    from observed.nodes_kube
    where name is not null
),

spoken as (
    select distinct
        cluster,
        node_name,
        case when node_name is null then origin end as origin
    from raw.kernel_events
),

matched as (
    select
        spoken.cluster,
        spoken.node_name,
        spoken.origin,
        nodes.node_uid,
        nodes.name as full_name,
        nodes.born_at,
        nodes.gone_at,
        case
            when spoken.node_name = nodes.name then 3
            when spoken.node_name is not null then 2
            else 1
        end as match_rank,
        length(nodes.name) as name_length
    from spoken
    inner join nodes
        on
            spoken.cluster = nodes.cluster
            and (
                spoken.node_name = nodes.name
                or split_part(spoken.node_name, '.', 1) = split_part(nodes.name, '.', 1)
                -- The whole name and not a part of another one: gpu-1 is not in gpu-10.
                or (
                    spoken.node_name is null
                    and regexp_matches(
                        spoken.origin,
                        concat('(^|[^A-Za-z0-9-])', regexp_escape(nodes.name), '([^A-Za-z0-9-]|$)')
                    )
                )
            )
)

select * exclude (match_rank, name_length)
from matched
qualify
    rank() over (
        partition by cluster, node_name, origin order by match_rank desc, name_length desc
    ) = 1
