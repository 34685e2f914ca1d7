-- Which devices of its node each pod holds [1.3].
--
-- Given device lists are believed. Else a pod takes the lowest devices with room
-- when it binds; where there is no room (an end was not observed) it shares, and
-- the ledger scales the shares down. Pods of a node are placed one after the other
-- in order of (bound_at, pod_uid): round k of the recursion places the k-th pod of
-- every node, so the number of rounds is the largest number of pods of one node.
-- pod_id stands for the long key in the tables of pieces; it holds for one build only.
--
-- grain: cluster, pod_uid

with recursive queued as (
    select
        pod.cluster,
        pod.node_uid,
        pod.pod_uid,
        pod.devices,
        pod.gpus,
        pod.unit_count,
        ms_of(pod.bound_at) as bound_ms,
        pod.bound_at,
        end_ms(pod.released_at) as released_ms,
        node.gpus as node_gpus
    from staged.pods as pod
    inner join staged.nodes as node using (cluster, node_uid)
    where pod.gpus > 0
),

-- A node on which every pod takes all devices needs no search.
simple_nodes as (
    select cluster, node_uid
    from queued
    group by cluster, node_uid, node_gpus
    having bool_and(devices is null and gpus = node_gpus and unit_count = 5040)
),

searched as (
    select
        queued.*,
        row_number() over (
            partition by queued.cluster, queued.node_uid
            order by queued.bound_at, queued.pod_uid
        ) as place
    from queued
    anti join simple_nodes using (cluster, node_uid)
),

placed as (
    select
        cluster,
        node_uid,
        cast(0 as bigint) as place,
        cast(null as varchar) as pod_uid,
        cast(null as integer) as unit_count,
        cast([] as integer[]) as held,
        cast([] as struct(device integer, until_ms bigint, unit_count bigint)[]) as holdings
    from searched
    where place = 1

    union all

    select
        searched.cluster,
        searched.node_uid,
        searched.place,
        searched.pod_uid,
        searched.unit_count,
        choice.held,
        list_concat(
            choice.holdings,
            [
                {
                    'device': device,
                    'until_ms': searched.released_ms,
                    'unit_count': cast(searched.unit_count as bigint)
                }
                for device in choice.held
            ]
        )
    from placed
    inner join searched
        on
            placed.cluster = searched.cluster
            and placed.node_uid = searched.node_uid
            and searched.place = placed.place + 1
    cross join lateral (
        select
            still.holdings,
            case
                when searched.devices is not null then searched.devices
                else
                    list_transform(
                        list_sort(list_transform(
                            range(searched.node_gpus),
                            lambda device: {
                                'is_full': 5040 < searched.unit_count + coalesce(list_sum(
                                    list_transform(
                                        list_filter(
                                            still.holdings,
                                            lambda holding: holding.device = device
                                        ),
                                        lambda holding: holding.unit_count
                                    )
                                ), 0),
                                'device': cast(device as integer)
                            }
                        ))[1:searched.gpus],
                        lambda candidate: candidate.device
                    )
            end as held
        from (
            select
                list_filter(
                    placed.holdings, lambda holding: holding.until_ms > searched.bound_ms
                ) as holdings
        ) as still
    ) as choice
)

select
    row_number() over () as pod_id,
    *
from (
    select
        placed.cluster,
        placed.node_uid,
        placed.pod_uid,
        placed.unit_count,
        placed.held as devices,
        list_sort(list_distinct(placed.held)) = cast(range(node.gpus) as integer[]) as is_whole
    from placed
    inner join staged.nodes as node using (cluster, node_uid)
    where placed.pod_uid is not null

    union all

    select cluster, node_uid, pod_uid, unit_count, cast(range(node_gpus) as integer[]), true
    from queued
    semi join simple_nodes using (cluster, node_uid)
    order by cluster, pod_uid
)
