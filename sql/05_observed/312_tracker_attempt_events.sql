-- Every recorder event with the attempt in which it happened.
--
-- grain: cluster, recorder, job, position

select
    events.*,
    spans.attempt,
    spans.started_at,
    spans.next_at,
    spans.log_ended_at
from observed.tracker_events as events
asof left join observed.tracker_spans as spans
    on
        events.cluster = spans.cluster
        and events.recorder = spans.recorder
        and events.job = spans.job
        and events.position >= spans.first_position
