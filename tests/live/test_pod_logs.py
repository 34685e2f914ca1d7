"""`collect logs --pods`: through an API server, run after run, without loss or double rows."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from fake_kubernetes import Fault

from goodput.cli import main
from goodput.errors import SourceUnreachable
from goodput.sources.kube_opening import open_api
from goodput.sources.kube_snapshot import Scope
from goodput.sources.live_logs import LogOptions, take_logs
from goodput.sources.live_pod_logs import PodLogs, runs_of

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
GPUS = {"limits": {"nvidia.com/gpu": "8"}}
LATER = "Mon, 02 Mar 2026 10:15:00 GMT"
EVENING = "Mon, 02 Mar 2026 18:15:00 GMT"
RUNNING = {"running": {"startedAt": "2026-03-02T09:00:00Z"}}


def uid(name):
    return f"6f1c2d3e-0000-4000-8000-{sum(map(ord, name)):012d}"


def exited(at, code=0):
    return {"terminated": {"exitCode": code, "finishedAt": f"2026-03-02T{at}Z"}}


def pod(name, state=RUNNING, last=None, restarts=0, *, namespace="team", node="n1", **more):
    status = {"name": "main", "restartCount": restarts, "state": state, "lastState": last or {}}
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": uid(name), **more},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": GPUS}]},
        "status": {"phase": "Running", "containerStatuses": [status]},
    }


def step(clock, number):
    return f"2026-03-02T{clock}.123456789Z completed step: {number}, seconds: 1.0"


@pytest.fixture
def collect(lake, api):
    def run(again=False, **scope):
        source = PodLogs(api, Scope(**scope), "default", again=again)
        said = []
        taken = take_logs(lake, source, LogOptions(), now=NOW, say=said.append)
        added = {table: count for table, count in taken.rows_added.items() if count}
        added.pop("log_lists", None)  # each look has one
        return added

    return run


@pytest.fixture
def asked(cluster):
    return lambda: [p for path, p in cluster.requests if path.endswith("/log")]


def test_the_log_of_a_pod_is_read_as_that_of_its_container(collect, cluster, rows):
    cluster.add("pods", pod("train-0"))
    cluster.logs["team/train-0/main"] = [[step("09:00:01", 1), step("09:00:02", 2)]]
    assert collect() == {"log_files": 1, "log_reads": 1, "log_segments": 1, "log_steps": 2}
    columns = "path, namespace, pod, pod_uid, container"
    assert rows("log_files", columns) == [
        (
            f"kubernetes /var/log/pods/team_train-0_{uid('train-0')}/main/0.log.20260302-060000",
            "team",
            "train-0",
            uid("train-0"),
            "main",
        )
    ]
    assert rows("log_steps", "first, ended_at::timestamp::varchar") == [
        (1, "2026-03-02 09:00:01.123"),
        (2, "2026-03-02 09:00:02.123"),
    ]


def test_a_later_run_adds_what_is_new_and_asks_for_the_open_part_only(
    collect, cluster, rows, asked
):
    cluster.add("pods", pod("p"))
    cluster.logs["team/p/main"] = [[step("05:59:59", 1), step("09:00:02", 2)]]
    collect()
    assert collect() == {}
    cluster.now = LATER
    cluster.logs["team/p/main"][0].append(step("10:10:00", 3))
    assert collect() == {"log_files": 1, "log_reads": 1, "log_segments": 1, "log_steps": 1}
    assert rows("log_steps", "distinct first") == [(1,), (2,), (3,)]
    assert [item.get("sinceTime") for item in asked()] == [
        None,
        "2026-03-02T06:00:00Z",
        "2026-03-02T06:00:00Z",
    ]


def test_a_part_that_is_over_is_not_asked_for_again(collect, cluster, asked):
    cluster.add("pods", pod("p"))
    cluster.logs["team/p/main"] = [[step("09:00:02", 2)]]
    cluster.now = EVENING
    collect()
    collect()
    assert [item.get("sinceTime") for item in asked()] == [None, "2026-03-02T12:00:00Z"]


def test_the_run_before_is_read_too_and_one_that_ended_is_read_once(collect, cluster, rows, asked):
    cluster.add("pods", pod("p", exited("09:30:00"), exited("09:10:00", 1), restarts=1))
    cluster.logs["team/p/main"] = [[step("09:00:01", 1)], [step("09:20:01", 2)]]
    collect()
    assert rows("log_files", "right(path, 21), first_step") == [
        ("0.log.20260302-060000", 1),
        ("1.log.20260302-060000", 2),
    ]
    assert [item.get("previous") for item in asked()] == ["true", None]
    assert collect() == {}
    assert len(asked()) == 2


def test_what_came_in_the_second_of_the_exit_is_not_lost(collect, cluster, rows):
    cluster.add("pods", pod("p"))
    cluster.logs["team/p/main"] = [[step("09:30:00", 1)]]
    collect()
    cluster.named("pods").items[0] = pod("p", exited("09:30:00"))
    cluster.logs["team/p/main"][0].append("2026-03-02T09:30:00.9Z completed step: 2, seconds: 1.0")
    collect()
    assert rows("log_steps", "first") == [(1,), (2,)]


def test_a_container_that_waits_to_be_restarted_shows_the_run_that_ended():
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    shown = list(runs_of(pod("p", waiting, exited("09:10:00", 1), restarts=3)))
    assert [(run.number, run.is_previous) for run in shown] == [(3, False)]
    assert list(runs_of(pod("p", {"waiting": {"reason": "ContainerCreating"}}))) == []


def test_a_log_of_a_run_that_began_meanwhile_is_left_to_the_next_look(
    collect, cluster, rows, monkeypatch
):
    cluster.add("pods", pod("p"))
    cluster.logs["team/p/main"] = [[step("09:00:01", 1)]]
    answer = cluster.answer

    def restart_before_the_log_is_read(path, parameters):
        if path.endswith("/log") and len(cluster.logs["team/p/main"]) == 1:
            cluster.logs["team/p/main"].append([step("09:50:01", 2)])
            cluster.named("pods").items[0] = pod("p", RUNNING, exited("09:40:00", 1), restarts=1)
        return answer(path, parameters)

    monkeypatch.setattr(cluster, "answer", restart_before_the_log_is_read)
    assert collect() == {}
    [(missed,)] = rows("log_lists", "unseen")
    assert [log[-10:] for log in missed] == ["main/0.log"]
    collect()
    assert rows("log_files", "right(path, 21), first_step") == [
        ("0.log.20260302-060000", 1),
        ("1.log.20260302-060000", 2),
    ]


def test_lines_that_the_kubelet_rotated_away_meanwhile_take_nothing_with_them(
    collect, cluster, rows
):
    cluster.add("pods", pod("p"))
    lines = [step(f"09:00:{number:02d}", number) for number in range(1, 7)]
    cluster.logs["team/p/main"] = [lines[:4]]
    collect()
    cluster.logs["team/p/main"] = [lines[3:]]
    collect()
    assert rows("log_steps", "distinct first") == [(1,), (2,), (3,), (4,), (5,), (6,)]


def test_lines_of_two_streams_may_cross_the_border_of_a_part(collect, cluster, rows):
    cluster.add("pods", pod("p"))
    cluster.logs["team/p/main"] = [
        [step("05:59:58", 1), step("06:00:01", 3), step("05:59:59", 2), step("06:00:02", 4)]
    ]
    collect()
    assert rows("log_files", "right(path, 15), lines") == [
        ("20260302-000000", 2),
        ("20260302-060000", 2),
    ]
    assert collect() == {}


def test_two_collectors_at_once_give_the_same_rows(lake, kubeconfig, cluster, rows):
    for number in range(6):
        cluster.add("pods", pod(f"p{number}"))
        cluster.logs[f"team/p{number}/main"] = [
            [step(f"09:00:{second:02d}", second) for second in range(1, 31)]
        ]

    def look(_):
        api = open_api(kubeconfig)
        take_logs(lake, PodLogs(api, Scope(), "default"), LogOptions(), now=NOW)
        api.close()

    with ThreadPoolExecutor(2) as both:
        list(both.map(look, range(2)))
    found = "count(distinct row_id), count(distinct (log_id, line)), count(distinct log_id)"
    assert rows("log_steps", found) == [(180, 180, 6)]


def test_only_pods_that_train_are_asked(collect, cluster, asked):
    idle = pod("web")
    idle["spec"]["containers"] = [{"name": "main"}]
    launcher = pod(
        "launcher", ownerReferences=[{"apiVersion": "batch/v1", "kind": "Job", "name": "j"}]
    )
    launcher["spec"]["containers"] = [{"name": "main"}]
    claims = pod("dra")
    claims["spec"]["containers"] = [{"name": "main", "resources": {"claims": [{"name": "gpu"}]}}]
    sidecar = pod("train")
    sidecar["spec"]["containers"].append({"name": "proxy"})
    sidecar["status"]["containerStatuses"].append(
        {"name": "proxy", "restartCount": 0, "state": RUNNING}
    )
    cluster.add("pods", idle, launcher, claims, sidecar)
    collect()
    paths = [path for path, _ in cluster.requests if path.endswith("/log")]
    assert [path.split("/")[6] for path in paths] == ["launcher", "dra", "train"]
    assert {item["container"] for item in asked()} == {"main"}


def test_namespaces_and_labels_choose(collect, cluster, rows):
    cluster.add("namespaces", *({"metadata": {"name": name}} for name in ("team", "other")))
    cluster.add(
        "pods",
        pod("a", labels={"app": "x"}),
        pod("b", labels={"app": "y"}),
        pod("c", namespace="other", labels={"app": "x"}),
    )
    named = lambda: [p.split("/")[6] for p, _ in cluster.requests if p.endswith("/log")]  # noqa: E731
    collect(namespaces=("team",), selector="app=x")
    assert named() == ["a"]
    collect(left_out=("team",))
    assert named() == ["a", "c"]
    assert rows("log_lists", "root, files, is_complete") == [
        ("kubernetes pods/log but team", 1, False),
        ("kubernetes pods/log of team with app=x", 1, False),
    ]


def test_what_may_not_be_read_is_recorded_and_asked_for_once(collect, cluster, rows, asked):
    cluster.add("pods", pod("p"), pod("q"), pod("r", namespace="other"))
    cluster.forbidden.add("log")
    collect()
    assert rows("collector_gaps", 'source_name, "from", left(reason, 4)') == [
        ("kubernetes pods/log of other", "10:00:00", "403:"),
        ("kubernetes pods/log of team", "10:00:00", "403:"),
    ]
    assert len(asked()) == 2
    assert rows("log_lists", "is_complete, files, len(unseen)") == [(False, 3, 3)]


ROLE = "the role that goodput needs is in docs/guides/collect-from-kubernetes.md"


@pytest.fixture
def command(kubeconfig, tmp_path):
    """Runs `collect logs --pods`; gives the exit code and what was said."""

    def run(*options):
        words = ["--lake", str(tmp_path / "lake"), "collect", "logs", "--pods"]
        done = CliRunner().invoke(main, [*words, "--kubeconfig", str(kubeconfig), *options])
        return done.exit_code, done.stderr.splitlines()

    return run


def test_logs_that_may_not_be_read_are_named_with_the_remedy(command, cluster):
    cluster.add("pods", pod("p"), pod("q"), pod("r", namespace="other"))
    cluster.forbidden.add("log")
    code, said = command()
    assert [line.split(" (403: ")[0] for line in said if "not read" in line] == [
        "kubernetes pods/log of team: not read",
        "kubernetes pods/log of other: not read",
    ]
    assert all(line.endswith(f"); {ROLE}") for line in said if "not read" in line)
    assert (code, said[-1]) == (5, f"error: not one log of a pod could be read; {ROLE}")


def test_where_a_log_is_known_to_its_end_one_that_is_refused_is_no_failure(command, cluster):
    cluster.add("pods", pod("p", exited("09:30:00")), pod("r", namespace="other"))
    cluster.logs["team/p/main"] = [[step("09:00:01", 1)]]
    cluster.logs["other/r/main"] = [[step("09:00:01", 1)]]
    assert command()[0] == 0
    cluster.forbidden.add("log")
    code, said = command()
    assert (code, sum("other: not read (403" in line for line in said)) == (0, 1)


def test_credentials_that_are_refused_are_not_taken_for_a_role(command, cluster):
    cluster.tokens.clear()
    code, said = command()
    assert code == 5
    assert said[-1] == (
        "error: the API server refused the credentials (401: Unauthorized); check that the token or"
        " certificate is for this cluster and has not run out"
    )


def test_a_node_that_does_not_answer_is_left_and_the_others_are_read(collect, cluster, rows):
    cluster.add("pods", pod("p", node="dead"), pod("q", node="dead"), pod("r", node="n2"))
    cluster.logs["team/r/main"] = [[step("09:00:01", 1)]]
    cluster.faults["log"] = Fault("broken", range(2))
    collect()
    assert rows("collector_gaps", "source_name") == [("kubernetes pods/log of node dead",)]
    assert rows("log_files", "pod") == [("r",)]
    [(root, is_complete, files, unseen)] = rows("log_lists", "root, is_complete, files, unseen")
    assert (root, is_complete, files) == ("kubernetes pods/log", False, 3)
    assert unseen == [
        f"kubernetes /var/log/pods/team_{name}_{uid(name)}/main/0.log" for name in ("p", "q")
    ]


def test_a_cut_log_is_read_again_whole(collect, cluster, rows):
    cluster.add("pods", pod("p"))
    cluster.logs["team/p/main"] = [[step("09:00:01", 1), step("09:00:02", 2)]]
    cluster.faults["log"] = Fault("cut", range(1))
    collect()
    assert rows("log_steps", "first") == [(1,), (2,)]


def test_an_api_server_that_goes_away_ends_the_run_and_the_next_takes_the_rest(
    collect, cluster, rows
):
    cluster.add("pods", pod("p"), pod("q"))
    for name in ("p", "q"):
        cluster.logs[f"team/{name}/main"] = [[step("09:00:01", 1)]]
    cluster.faults["log"] = Fault("reset", range(1, 9))
    with pytest.raises(SourceUnreachable, match="stopped answering at the log of q"):
        collect()
    cluster.faults.clear()
    collect()
    assert rows("log_files", "distinct pod") == [("p",), ("q",)]


def test_a_pod_that_is_gone_or_has_not_started_is_no_error(collect, cluster, rows):
    cluster.add("pods", pod("p"))
    assert collect() == {}
    assert rows("collector_gaps", "*") == []


def test_the_log_of_a_pod_that_went_is_gone(collect, cluster, rows):
    for name in ("p", "q"):
        cluster.add("pods", pod(name))
        cluster.logs[f"team/{name}/main"] = [[step("05:59:59", 1), step("09:00:01", 2)]]
    collect()
    del cluster.named("pods").items[0]
    assert collect() == {"log_reads": 2}
    assert rows("log_reads", "regexp_extract(path, 'team_(.)', 1), right(path, 6), gone_at") == [
        ("p", "000000", "10:00:00"),
        ("p", "000000", None),
        ("p", "060000", "10:00:00"),
        ("p", "060000", None),
        ("q", "000000", None),
        ("q", "060000", None),
    ]
    assert collect() == {}


def test_what_the_kubelet_says_in_the_place_of_a_log_goes_to_quarantine(collect, cluster, rows):
    cluster.add("pods", pod("p", exited("09:30:00")))
    cluster.logs["team/p/main"] = [["unable to retrieve container logs for containerd://1f"]]
    assert collect() == {"quarantine": 1}
    assert rows("quarantine", "value, reason") == [
        (
            "unable to retrieve container logs for containerd://1f",
            "no line of a log: the kubelet says why it has none",
        )
    ]


def test_the_command(cluster, kubeconfig, tmp_path):
    cluster.add("pods", pod("p"))
    cluster.logs["team/p/main"] = [[step("09:00:01", 1)]]
    words = ["--lake", str(tmp_path / "lake"), "collect", "logs", "--pods"]
    for new in ("log_steps: 1 new row\n", "1 file, 1 of them as they were"):
        done = CliRunner().invoke(main, [*words, "--kubeconfig", str(kubeconfig)])
        assert (done.exit_code, done.stdout) == (0, "")
        assert new in done.stderr
