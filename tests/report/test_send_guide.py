"""The commands of the guide to sending, and of its CronJob, against a server that listens."""

import email
import email.policy
import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml
from fenced import ROOT, blocks

GUIDE = "docs/guides/send-the-report.md"
SEND = ROOT / "pipelines" / "k8s" / "overlays" / "example-slack" / "send.yaml"

# Stands in for the mail server's program: keeps what it is given.
SENDMAIL = '#!/bin/sh\n[ "$1" = -t ] && cat > sent.eml\n'


@pytest.fixture
def site(files, tmp_path):
    """A folder with a report of this week below `reports`, `report` as its other name."""
    week = tmp_path / "reports" / "2026-W48"
    shutil.copytree(files.json.parent, week)
    (tmp_path / "report").symlink_to(week)
    (tmp_path / "sendmail").write_text(SENDMAIL)
    (tmp_path / "sendmail").chmod(0o755)
    return tmp_path


@pytest.fixture
def received():
    """A server; what is posted to it, as (path, type, body), and its address."""
    posts = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posts.append((self.path, self.headers["Content-Type"], body))
            self.send_response(403 if self.path == "/gone" else 200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield posts, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def run(words, site, **variables):
    if not shutil.which("curl"):
        pytest.skip("no curl here; on Debian: apt-get install curl")
    path = f"{site}:{os.environ['PATH']}"
    return subprocess.run(
        words,
        cwd=site,
        env=os.environ | {"PATH": path} | variables,
        check=False,
        capture_output=True,
        text=True,
    )


def cronjob_words():
    """What the CronJob's only container runs."""
    job = yaml.safe_load(SEND.read_text())["spec"]["jobTemplate"]["spec"]
    [container] = job["template"]["spec"]["containers"]
    return [*container["command"], *container["args"]]


def test_the_guides_commands_send_what_they_say(site, received, files):
    posts, url = received
    slack, mail, push, _ = blocks(GUIDE, "sh")
    for command in (slack, mail, push):
        done = run(["sh", "-ec", command], site, SLACK_WEBHOOK=f"{url}/hook", PUSHGATEWAY=url)
        assert (done.returncode, done.stderr) == (0, "")

    assert posts[0] == ("/hook", "application/json", files.slack.read_bytes())
    assert (posts[1][0], posts[1][2]) == ("/metrics/job/goodput", files.textfile.read_bytes())
    sent = email.message_from_bytes((site / "sent.eml").read_bytes(), policy=email.policy.default)
    assert (sent["From"], sent["To"]) == ("goodput@example.org", "sre@example.org")
    assert sent["Subject"] == "Goodput Week 48, 2026: 74.4% of paid GPU time"
    assert sent.get_body(("html",)).get_content() == files.email.read_text("utf-8")


def test_the_cronjob_posts_the_newest_report(site, received, files):
    posts, url = received
    older = site / "reports" / "2026-W47"
    shutil.copytree(files.json.parent, older)
    (older / "slack.json").write_text("{}")
    words = cronjob_words()

    done = run(words, site, REPORTS=str(site / "reports"), WEBHOOK=url)
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(body) for _, _, body in posts] == [json.loads(files.slack.read_text())]

    for path in (site / "reports").glob("*/slack.json"):
        os.utime(path, (0, 0))
    old = run(words, site, REPORTS=str(site / "reports"), WEBHOOK=url)
    assert (old.returncode, len(posts)) == (4, 1)
    assert old.stderr == f"no report of the last day in {site / 'reports'}\n"


def test_a_channel_that_refuses_fails_the_job(site, received):
    _, url = received
    words = cronjob_words()

    done = run(words, site, REPORTS=str(site / "reports"), WEBHOOK=f"{url}/gone")
    assert (done.returncode, "403" in done.stderr) == (22, True)
