"""Reads the samples of some hours with prometheus-api-client, in pieces of two hours.

Arguments: URL, start, hours.
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta

from prometheus_api_client import PrometheusConnect


def main() -> None:
    """Asks for each piece and forgets it."""
    url, start, hours = sys.argv[1], datetime.fromisoformat(sys.argv[2]), int(sys.argv[3])
    server = PrometheusConnect(url=url, timeout=600)
    for hour in range(0, hours, 2):
        begin = start + timedelta(hours=hour)
        end = begin + timedelta(hours=2, seconds=-30)
        rows = server.custom_query_range("kube_node_status_condition", begin, end, "30s")
        assert min(len(row["values"]) for row in rows) >= 239


if __name__ == "__main__":
    main()
