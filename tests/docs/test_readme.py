"""The commands of README.md and pipelines/README.md, run in their order as a reader would."""

import json
import os
import shlex
import subprocess
import sys

import pytest
from fenced import ROOT, blocks

# A cluster with one node of eight GPUs, as kubectl lists it; it has no other kind.
KUBECTL = """\
#!/bin/sh
[ "$2" = nodes ] || { echo "error: the server doesn't have a resource type \\"$2\\"" >&2; exit 1; }
cat <<'END'
%s
END
"""
NODES = {
    "apiVersion": "v1",
    "kind": "List",
    "metadata": {"resourceVersion": "7"},
    "items": [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "gpu-1",
                "uid": "u-1",
                "resourceVersion": "5",
                "creationTimestamp": "2024-03-04T00:00:00Z",
            },
            "status": {
                "capacity": {"nvidia.com/gpu": "8"},
                "allocatable": {"nvidia.com/gpu": "8"},
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "lastTransitionTime": "2024-03-04T00:05:00Z",
                        "lastHeartbeatTime": "2024-03-11T00:05:00Z",
                    }
                ],
            },
        }
    ],
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A folder that looks like a checkout after `make demo`."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "pipelines").symlink_to(ROOT / "pipelines")
    (folder / "kubectl").write_text(KUBECTL % json.dumps(NODES))
    (folder / "kubectl").chmod(0o755)
    run(folder, ".venv/bin/goodput demo --out demo")
    return folder


def run(folder, command):
    env = {
        **os.environ,
        "PATH": f"{folder}:/usr/bin:/bin",
        "PYTHONPATH": str(folder),
    }
    for name in ("GOODPUT_LAKE", "GOODPUT_CONFIG"):
        env.pop(name, None)
    done = subprocess.run(
        shlex.split(command), cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def dry_run(target):
    return subprocess.run(
        ["make", "-n", "-W", "pyproject.toml", target],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_two_commands_are_targets_that_do_what_the_text_says():
    first, *_ = blocks("README.md", "sh")
    assert first.splitlines() == ["make demo", "make test"]
    assert "/goodput demo --out demo" in dry_run("demo")
    assert "/pytest" in dry_run("test")


def test_the_commands_on_the_demo_answer(checkout):
    _, questions, *_ = blocks("README.md", "sh")
    metrics, explain, advise, what_if, query = [
        run(checkout, line) for line in questions.splitlines()
    ]
    assert "goodput_paid" in metrics
    assert "llama-70b" in explain
    assert "train-a-05" in advise
    assert "A.productive.committed" in what_if
    assert "A.productive.committed" in query


def test_the_account_of_the_played_day_learnt_what_the_text_says(checkout):
    _, _, restated, *_ = blocks("README.md", "sh")
    said = run(checkout, restated.replace("\\\n", " "))

    seen_late = [
        line.split()[2:4]
        for line in said.splitlines()
        if "2026-11-24T12:00:00Z  A.unknown" in line and "A.productive.committed" in line
    ]
    assert [job for job, _ in seen_late] == ["llama-70b", "vit-22b"]
    assert {since[:16] for _, since in seen_late} == {"2026-11-24T11:30"}
    assert "app.oom_host" in said
    assert "Rows that came late" in said


def test_the_python_of_the_readme_answers(checkout):
    [program] = blocks("README.md", "python")
    program += "print(lake.metrics('goodput_paid')['metric'].unique().to_list())"
    assert run(checkout, shlex.join([sys.executable, "-c", program])) == "['goodput_paid']\n"


def test_the_live_collectors_have_the_options_that_the_text_uses(checkout):
    """They need a cluster; that they run is tested against servers in tests/live*."""
    *_, live, _ = blocks("README.md", "sh")
    for line in live.splitlines():
        command, verb, source, *rest = shlex.split(line)
        described = run(checkout, shlex.join([command, verb, source, "--help"]))
        assert [word for word in rest if word.startswith("--") and word not in described] == []


def test_the_commands_for_an_own_cluster_end_in_a_report(checkout):
    *_, own = blocks("README.md", "sh")
    for line in own.splitlines():
        run(checkout, line)
    report = json.loads((checkout / "report" / "report.json").read_text())
    assert (checkout / "report" / "report.html").stat().st_size > 0
    assert report


def test_the_jobs_of_the_pipelines_page_run_from_its_config(checkout):
    pipelines, settings = blocks("pipelines/README.md", "toml")
    (checkout / "pipelines.toml").write_text(pipelines)
    (checkout / "goodput.toml").write_text(settings)
    (checkout / "dump").mkdir(exist_ok=True)
    (checkout / "dump" / "nodes.json").write_text(json.dumps(NODES))
    [commands] = blocks("pipelines/README.md", "sh")
    for line in commands.splitlines():
        assert json.loads(run(checkout, line))["job"] in line
