"""Is the fleet good, what cost most, can the numbers be trusted."""

from parts import (
    COUNT,
    FINE_RATIO,
    HOURS,
    INSTANT,
    RATIO,
    SECONDS,
    Json,
    bars,
    course,
    dashboard,
    heading,
    number,
    query,
    stack,
)
from series import CLUSTER, at, bounds, hours


def make() -> Json:
    """The dashboard."""
    return dashboard(
        "goodput-fleet",
        "goodput / Fleet",
        "Where the paid GPU time of a cluster went in the window of the last build.",
        [CLUSTER],
        [
            number(
                "Goodput of paid time",
                RATIO,
                query(at("goodput_paid_ratio", "fleet")),
                about="Training progress that was kept, over all paid GPU time.",
            ),
            number(
                "Goodput of demanded time",
                RATIO,
                query(at("goodput_demand_ratio", "fleet")),
                about="Without time that nobody asked for.",
            ),
            number(
                "Lost GPU-hours",
                HOURS,
                query(hours(at("goodput_lost_gpu_seconds", "fleet"))),
                about="Everything that has a cause, normal overhead included.",
            ),
            number(
                "Job success",
                RATIO,
                query(at("goodput_job_success_ratio", "fleet"), "jobs that ended"),
                *bounds("goodput_job_success_ratio", "fleet"),
                about="With its 95 % interval; the objective is goodput_objective_ratio.",
            ),
            number(
                "Success budget burnt",
                RATIO,
                query(at("goodput_success_budget_burnt_ratio", "fleet")),
                about="Above 100 % the objective for jobs is missed.",
            ),
            number(
                "Window ends",
                INSTANT,
                query("goodput_window_end_timestamp_seconds * 1000", instant=True),
                about="Every number is about the window of the last build, not about this moment.",
            ),
            course(
                "Goodput",
                RATIO,
                query(at("goodput_paid_ratio", "fleet"), "of paid time"),
                query(at("goodput_demand_ratio", "fleet"), "of demanded time"),
                query(at("goodput_available_ratio", "fleet"), "of available time"),
                query(at("goodput_high_ratio", "fleet"), "if all unobserved time was productive"),
                about="Each point is one build; the gap to the last line is what was not observed.",
            ),
            stack(
                "Paid GPU-hours by state",
                HOURS,
                query(hours(at("goodput_gpu_seconds", "state")), "{{scope_value}}"),
                about="The states partition paid time: their sum is what was paid for.",
            ),
            bars(
                "Lost GPU-hours by failure class",
                HOURS,
                query(
                    f"sort_desc(topk(12, {hours(at('goodput_lost_gpu_seconds', 'class'))}))",
                    "{{scope_value}}",
                    instant=True,
                ),
                about="base.overhead is normal: saves, start-up. `goodput explain` shows why.",
            ),
            course(
                "Goodput of paid time by pool",
                RATIO,
                query(at("goodput_paid_ratio", "pool"), "{{scope_value}}"),
                about="A pool that nobody asks for is low without being broken.",
            ),
            heading("Availability"),
            course(
                "Node availability by pool, failing closed",
                FINE_RATIO,
                query(at("goodput_node_availability_closed_ratio", "pool"), "{{scope_value}}"),
                query('goodput_objective_ratio{metric="node_availability_closed"}', "objective"),
                about="A node whose required health check is silent counts as unfit.",
                width=8,
            ),
            course(
                "Failing open less failing closed",
                FINE_RATIO,
                query(
                    f"{at('goodput_node_availability_open_ratio', 'pool')}"
                    f" - {at('goodput_node_availability_closed_ratio', 'pool')}",
                    "{{scope_value}}",
                ),
                about="Above zero, checks are silent rather than nodes broken.",
                width=8,
            ),
            course(
                "Availability budget burnt by pool",
                RATIO,
                query(at("goodput_availability_budget_burnt_ratio", "pool"), "{{scope_value}}"),
                about="Above 100 % the objective is missed.",
                width=8,
            ),
            heading("Teams and queues"),
            course(
                "Goodput of allocated time by team",
                RATIO,
                query(at("goodput_allocated_ratio", "team"), "{{scope_value}}"),
                about="Of the GPUs that the team's pods held.",
                width=8,
            ),
            bars(
                "Lost GPU-hours by team",
                HOURS,
                query(
                    f"sort_desc({hours(at('goodput_lost_gpu_seconds', 'team'))})",
                    "{{scope_value}}",
                    instant=True,
                ),
                about="Whatever the cause: a team may have lost its time to broken nodes.",
                width=8,
            ),
            course(
                "Waiting for capacity",
                HOURS,
                query(hours(at("goodput_queue_gpu_seconds", "pool")), "{{scope_value}}"),
                about="GPU-hours that were asked for and had to wait; may exceed the fleet.",
                width=8,
            ),
            heading("Can the numbers be trusted?"),
            number(
                "Lost time without a confident cause",
                RATIO,
                query(at("goodput_unattributed_share_ratio", "fleet")),
                about="Bounds every other share: that much may belong to any class.",
                width=6,
            ),
            number(
                "Checks that failed",
                COUNT,
                query('sum(goodput_checks_broken{severity="error"})'),
                about="Sums that must be equal, and more: `goodput check` lists them.",
                width=6,
            ),
            number(
                "Age of the build",
                SECONDS,
                query("time() - max(goodput_build_timestamp_seconds)"),
                about="How long ago these numbers were made.",
                width=6,
            ),
            number(
                "Newest row when it was built",
                SECONDS,
                query(
                    "max(goodput_build_timestamp_seconds)"
                    " - max(goodput_input_newest_timestamp_seconds)"
                ),
                about="Hours mean that collectors stand still.",
                width=6,
            ),
        ],
    )
