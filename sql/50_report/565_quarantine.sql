-- Input rows that are set aside, by the reason, with what to do about it where the reason does not say
-- so itself (catalog.quarantine_remedies, the first pattern that fits).
--
-- grain: cluster, table_name, reason

with reasons as (
    select
        cluster,
        table_name,
        reason,
        count(*) as row_count,
        count(distinct file) as file_count,
        min(file) as example_file
    from main.quarantine
    group by cluster, table_name, reason
)

select
    reasons.*,
    (
        select arg_min(known.remedy, known.catalog_order)
        from catalog.quarantine_remedies as known
        where reasons.reason like known.pattern
    ) as remedy
from reasons
