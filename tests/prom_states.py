"""Samples as they lie in the lake: runs of series, and the hours that were asked for."""

import json

READY = '{"condition":"Ready","node":"n-1"}'
LINK = '{"condition":"EfaLinkDown","node":"n-1"}'
NODE = '{"node":"n-1"}'
GPU = '{"gpu":"3","node":"n-1","uuid":"GPU-3"}'


def give_states(bench, query, labels, text, cluster="c"):
    """Runs of a series: value, first and last sample; scraped each 30 s."""
    lines = [line.split() for line in text.strip().splitlines()]
    rows = [
        f"{cluster}  {query}  {labels}  {v}  {begin}  {end}  9  30000" for v, begin, end in lines
    ]
    bench.given(
        "raw.prom_states",
        "\n".join(["cluster  query  labels  value  from  last_at  samples  interval_ms", *rows]),
    )


def give_hours(bench, *queries, until=3, warnings="-", cluster="c"):
    rows = [
        f"{cluster}  {query}  {hour:02}:00  {hour + 1:02}:00  1  120  {warnings}"
        for query in queries
        for hour in range(until)
    ]
    bench.given(
        "raw.prom_slices",
        "\n".join(["cluster  query  from  to  series  samples  warnings", *rows]),
    )


def give_node_object(bench, since, observed_at, status, kind="EfaLinkDown"):
    body = {
        "metadata": {"creationTimestamp": "2026-03-02T00:00:00Z"},
        "status": {
            "conditions": [
                {
                    "type": kind,
                    "status": status,
                    "lastTransitionTime": f"2026-03-02T{since}Z",
                }
            ]
        },
    }
    text = json.dumps(body, separators=(",", ":"))
    bench.given(
        "raw.kube_objects",
        f"""
        cluster  api_version  kind  name  uid  observed_at    is_deleted  body
        c        v1           Node  n-1   u-1  {observed_at}  false       {text}
        """,
    )
