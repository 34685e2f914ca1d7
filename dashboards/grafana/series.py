"""How the dashboards select series; docs/prometheus-metrics.md lists what there is."""

from parts import Json, query, variable

CLUSTER = variable("cluster", "Cluster", "label_values(goodput_paid_ratio, cluster)")
GPU_HOUR = 3600


def at(metric: str, scope: str, **labels: str) -> str:
    """The selector of a metric's series of one scope in the chosen cluster."""
    matchers = {"cluster": "$cluster", "scope": scope, **labels}
    return metric + "{" + ",".join(f'{name}="{text}"' for name, text in matchers.items()) + "}"


def hours(expression: str) -> str:
    """GPU-seconds as GPU-hours."""
    return f"{expression} / {GPU_HOUR}"


def bounds(metric: str, scope: str) -> list[Json]:
    """The ends of a metric's 95 % interval."""
    return [query(at(f"{metric}_bound", scope, bound=end), end) for end in ("low", "high")]


def named(expression: str, info: str, choice: str, labels: str) -> str:
    """An expression whose series get the names of their job or node, chosen ones only."""
    return (
        f"({expression}) * on (cluster, scope, scope_value) group_left ({labels}) "
        f'{info}{{cluster="$cluster",{choice}}}'
    )
