"""A real Prometheus that scrapes a text, and what it answers."""

import json
import threading
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from goodput.synth import prometheus_process

CONFIG = """\
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: textfile
    static_configs: [{{targets: ["{target}"]}}]
"""


class Scraped:
    """The Prometheus; `ask` gives the value of each series that an expression finds."""

    def __init__(self, url):
        self._url = url

    def ask(self, expression):
        """Value by labels without those of the scrape, or its error as an exception."""
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self._url}/api/v1/query?{query}", timeout=30) as answer:
            result = json.load(answer)["data"]["result"]
        return [
            (
                {k: v for k, v in row["metric"].items() if k not in ("instance", "job")},
                row["value"][1],
            )
            for row in result
        ]


@contextmanager
def scraped(folder, text):
    """A Prometheus that has scraped the text once, as the textfile collector would show it."""
    if not prometheus_process.is_installed():
        pytest.skip("no prometheus here; on Debian: apt-get install prometheus")

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = CONFIG.format(target=f"127.0.0.1:{server.server_port}")
    try:
        with prometheus_process.running(folder, config=config) as url:
            prometheus = Scraped(url)
            for _ in range(300):
                # 0 would be a scrape that failed, as it does for a text with a mistake.
                if seen := prometheus.ask("up"):
                    assert seen == [({"__name__": "up"}, "1")]
                    break
                time.sleep(0.1)
            yield prometheus
    finally:
        server.shutdown()
        server.server_close()
