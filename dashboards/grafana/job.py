"""Which jobs lost what."""

from parts import (
    FINE_RATIO,
    HOURS,
    RATIO,
    SECONDS,
    Json,
    bars,
    course,
    dashboard,
    query,
    table,
    variable,
)
from series import CLUSTER, at, hours, named


def make() -> Json:
    """The dashboard."""

    def of_jobs(metric: str) -> str:
        choice = 'job_name=~"$job",namespace=~"$namespace"'
        return named(at(metric, "job"), "goodput_job_info", choice, "job_name, namespace, team")

    def of_losses() -> str:
        # Its series also have the label main_class; what joins them must not depend on it.
        lost = f"sum by (cluster, scope, scope_value) ({at('goodput_job_lost_gpu_seconds', 'job')})"
        choice = 'job_name=~"$job",namespace=~"$namespace"'
        return named(lost, "goodput_job_info", choice, "job_name, namespace, team")

    return dashboard(
        "goodput-job",
        "goodput / Jobs",
        "What the jobs of the window held, made and lost. `goodput explain <job>` says why.",
        [
            CLUSTER,
            variable(
                "namespace",
                "Namespace",
                'label_values(goodput_job_info{cluster="$cluster"}, namespace)',
                several=True,
            ),
            variable(
                "job",
                "Job",
                'label_values(goodput_job_info{cluster="$cluster",namespace=~"$namespace"},'
                " job_name)",
                several=True,
            ),
        ],
        [
            table(
                "Jobs by lost GPU-hours",
                [
                    ("Lost GPU-hours", HOURS, hours(of_losses())),
                    ("Held GPU-hours", HOURS, hours(of_jobs("goodput_gpu_seconds"))),
                    ("Productive", RATIO, of_jobs("goodput_allocated_ratio")),
                    ("ETTR", RATIO, of_jobs("goodput_ettr_ratio")),
                    ("Waited", SECONDS, of_jobs("goodput_queue_seconds")),
                ],
                by=[("job_name", "Job"), ("namespace", "Namespace"), ("team", "Team")],
                about="Lost is what has a cause other than normal overhead.",
            ),
            course(
                "Productive share of held time",
                RATIO,
                query(of_jobs("goodput_allocated_ratio"), "{{job_name}}"),
                about="Training progress that was kept, over the GPU time that the job held.",
            ),
            course(
                "Effective training time ratio",
                RATIO,
                query(of_jobs("goodput_ettr_ratio"), "{{job_name}}"),
                about="Over the whole life of the job so far, queue included.",
            ),
            bars(
                "GPU-hours in hangs",
                HOURS,
                query(
                    f"sort_desc(topk(10, {hours(of_jobs('goodput_hang_gpu_seconds'))} > 0))",
                    "{{job_name}}",
                    instant=True,
                ),
                about="A stop that is longer than the hang threshold.",
                width=8,
            ),
            bars(
                "GPU-hours in failed starts and restart loops",
                HOURS,
                query(
                    "sort_desc(topk(10, "
                    f"{hours(of_jobs('goodput_failed_start_gpu_seconds'))}"
                    f" + {hours(of_jobs('goodput_restart_loop_gpu_seconds'))} > 0))",
                    "{{job_name}}",
                    instant=True,
                ),
                about="Attempts that ended without one step.",
                width=8,
            ),
            bars(
                "Share of training time in checkpoint stalls",
                FINE_RATIO,
                query(
                    f"sort_desc(topk(10, {of_jobs('goodput_checkpoint_share_ratio')}))",
                    "{{job_name}}",
                    instant=True,
                ),
                about="A share that is too low is no virtue: rare checkpoints lose more work.",
                width=8,
            ),
        ],
    )
