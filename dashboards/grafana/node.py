"""Which nodes cost what, and which are lemons."""

from parts import COUNT, FINE_RATIO, HOURS, Json, course, dashboard, number, query, table, variable
from series import CLUSTER, at, hours, named


def make() -> Json:
    """The dashboard."""

    def of_nodes(metric: str) -> str:
        choice = 'pool=~"$pool",node_name=~"$node"'
        return named(at(metric, "node"), "goodput_node_info", choice, "node_name, pool")

    return dashboard(
        "goodput-node",
        "goodput / Nodes",
        "What each node cost. `goodput explain <node>` shows its timeline and the evidence.",
        [
            CLUSTER,
            variable(
                "pool",
                "Pool",
                'label_values(goodput_node_info{cluster="$cluster"}, pool)',
                several=True,
            ),
            variable(
                "node",
                "Node",
                'label_values(goodput_node_info{cluster="$cluster",pool=~"$pool"}, node_name)',
                several=True,
            ),
        ],
        [
            number(
                "Nodes",
                COUNT,
                query('count(goodput_node_info{cluster="$cluster",pool=~"$pool"})'),
                about="That were paid for in the window.",
                width=6,
            ),
            number(
                "Suspected lemons",
                COUNT,
                query(f"sum({at('goodput_node_lemon', 'node')})"),
                about="In more failures than chance allows: `goodput advise` says what to do.",
                width=6,
            ),
            number(
                "Outages that are open",
                COUNT,
                query(at("goodput_open_outages", "fleet")),
                about="At the end of the window.",
                width=6,
            ),
            number(
                "GPU-hours that nodes cost",
                HOURS,
                query(f"sum({hours(of_nodes('goodput_node_lost_gpu_seconds'))})"),
                about="While they were not usable, and in interruptions laid to them.",
                width=6,
            ),
            table(
                "Nodes by what they cost",
                [
                    ("Cost GPU-hours", HOURS, hours(of_nodes("goodput_node_lost_gpu_seconds"))),
                    ("Available", FINE_RATIO, of_nodes("goodput_node_availability_closed_ratio")),
                    ("Schedulable", FINE_RATIO, of_nodes("goodput_node_availability_sched_ratio")),
                    ("Interruptions", COUNT, of_nodes("goodput_node_interruptions")),
                    ("Outages", COUNT, of_nodes("goodput_node_outages")),
                    ("Lemon", COUNT, of_nodes("goodput_node_lemon")),
                ],
                by=[("node_name", "Node"), ("pool", "Pool")],
                about="Lemon is 1 for a node in more failures than chance allows.",
            ),
            course(
                "Availability of the ten worst, failing closed",
                FINE_RATIO,
                query(
                    f"bottomk(10, {of_nodes('goodput_node_availability_closed_ratio')})",
                    "{{node_name}}",
                ),
                about="Time fit for work over time in service.",
            ),
            course(
                "GPU-hours that the ten worst cost",
                HOURS,
                query(
                    f"topk(10, {hours(of_nodes('goodput_node_lost_gpu_seconds'))})",
                    "{{node_name}}",
                ),
                about="A node that stays here week after week should be replaced.",
            ),
        ],
    )
