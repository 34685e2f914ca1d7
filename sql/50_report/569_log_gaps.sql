-- Places whose logs nobody looked at any more, from the last look on to the knowledge time, where that
-- leaves open what an attempt did inside the window.
--
-- grain: cluster, root
-- nothing without: staged.log_looks

select
    look.cluster,
    look.root,
    max(look.looked_at) as started_at,
    getvariable('as_of') as ended_at
from staged.log_looks as look
inner join intervals.attempt_timeline as line using (cluster, job, attempt)
where
    look.looked_at = look.known_until
    and line.state = 'A.unknown'
    and line.cause = 'unk.obs_gap'
    and line.ended_ms > getvariable('window_start_ms')
    and line.started_ms < getvariable('window_end_ms')
group by look.cluster, look.root
