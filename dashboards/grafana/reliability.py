"""How often what fails, how soon it is seen, how long repairs take."""

from parts import (
    COUNT,
    FINE_RATIO,
    HOURS,
    RATE,
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
    per_1000_node_days = "* 86400000"
    return dashboard(
        "goodput-reliability",
        "goodput / Reliability",
        "How often what fails, how soon it is seen, how long repairs take. Mind the intervals.",
        [CLUSTER],
        [
            number(
                "Node time between failures",
                SECONDS,
                query(at("goodput_mtbf_seconds", "fleet"), "mean"),
                *bounds("goodput_mtbf_seconds", "fleet"),
                about="An incident counts once, however many nodes it takes down.",
                width=6,
            ),
            number(
                "Interruptions",
                COUNT,
                query(at("goodput_interruptions", "fleet")),
                about="Attempts that ended badly.",
            ),
            number(
                "Median time to detect",
                SECONDS,
                query(at("goodput_mttd_median_seconds", "fleet")),
                about="From the first evidence.",
            ),
            number(
                "Mean time to repair",
                SECONDS,
                query(at("goodput_mttr_seconds", "fleet")),
                about="Outages that are still open are not in it.",
            ),
            number(
                "Failures that no condition told of",
                RATIO,
                query(at("goodput_escape_rate_ratio", "fleet"), "share"),
                *bounds("goodput_escape_rate_ratio", "fleet"),
                about="Health checks that would have caught them are missing.",
                width=6,
            ),
            course(
                "Node failures per 1000 node-days",
                RATE,
                query(
                    f"{at('goodput_failures_per_node_second', 'pool')} {per_1000_node_days}",
                    "{{scope_value}}",
                ),
                query(
                    f"{at('goodput_failures_per_node_second', 'fleet')} {per_1000_node_days}",
                    "fleet",
                ),
                query(
                    f"{at('goodput_failures_per_node_second_bound', 'fleet', bound='low')}"
                    f" {per_1000_node_days}",
                    "fleet, low",
                ),
                query(
                    f"{at('goodput_failures_per_node_second_bound', 'fleet', bound='high')}"
                    f" {per_1000_node_days}",
                    "fleet, high",
                ),
                about="Two weeks differ only if their intervals do: see goodput trends.",
            ),
            stack(
                "Interruptions by failure class",
                COUNT,
                query(at("goodput_interruptions", "class"), "{{scope_value}}"),
                about="What ended attempts badly.",
            ),
            bars(
                "Attempts that outlast so many hours",
                RATIO,
                query(
                    f"sort(label_replace({at('goodput_attempt_survival_ratio', 'hours')},"
                    ' "after", "$1 h", "scope_value", "(.*)"))',
                    "{{after}}",
                    instant=True,
                ),
                about="Kaplan-Meier: attempts that run, succeeded or were stopped are censored.",
                width=8,
            ),
            course(
                "Running hours between interruptions, by size of job",
                SECONDS,
                query(at("goodput_mttf_seconds", "job_size"), "{{scope_value}} GPUs"),
                about="Measured at that size; it does not predict another one.",
                width=8,
            ),
            bars(
                "Cost of an interruption, by class",
                HOURS,
                query(
                    "sort_desc("
                    f"{hours(at('goodput_interruption_cost_mean_gpu_seconds', 'class'))})",
                    "{{scope_value}}",
                    instant=True,
                ),
                about="GPU-hours, mean: lost work, restart, and the wait for it.",
                width=8,
            ),
            heading("Repair"),
            course(
                "Mean time to repair, by action",
                SECONDS,
                query(at("goodput_mttr_seconds", "action"), "{{scope_value}}"),
                about="By the strongest action of the repair.",
                width=8,
            ),
            bars(
                "Median time in each stage of a repair",
                SECONDS,
                query(at("goodput_repair_stage_median_seconds", "stage"), "{{scope_value}}"),
                about="Medians of stages do not add up.",
                width=8,
            ),
            bars(
                "Outages by the step that ended them",
                RATIO,
                query(
                    f"sort_desc({at('goodput_repair_ladder_share_ratio', 'action')})",
                    "{{scope_value}}",
                    instant=True,
                ),
                about="Cheap steps first: a ladder that always ends in a replacement skips some.",
                width=8,
            ),
            heading("Early warning and health checks"),
            course(
                "Service time with all required checks fresh",
                FINE_RATIO,
                query(at("goodput_check_coverage_ratio", "pool"), "{{scope_value}}"),
                about="Nodes without a required check are not covered.",
            ),
            course(
                "Largest share of a pool out of service at once",
                RATIO,
                query(at("goodput_disruption_max_share_ratio", "pool"), "{{scope_value}}"),
                about="Draining, under repair or not ready.",
            ),
            course(
                "Time that repair of a pool was blocked",
                SECONDS,
                query(at("goodput_repair_blocked_seconds", "pool"), "{{scope_value}}"),
                about="What Karpenter said; no line where nobody listed its events.",
            ),
        ],
    )
