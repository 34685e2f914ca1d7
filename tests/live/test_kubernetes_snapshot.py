"""`collect kubernetes` against an API server that behaves, and misbehaves, like the real one."""

import json
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
import yaml
from click.testing import CliRunner
from fake_kubernetes import Fault, Served
from fenced import blocks
from kubernetes_objects import LATER, event, jobset, lease, meta, pod

from goodput.cli import main
from goodput.errors import SourceUnreachable, UsageError
from goodput.sources.dump import collect_files
from goodput.sources.dumped import take_dump
from goodput.sources.kube_listing import listed_kinds
from goodput.sources.kube_opening import open_api
from goodput.sources.kube_snapshot import Scope, take_kubernetes
from goodput.sources.publisher import Publisher
from pipelines import collect as collect_job


def test_one_look_at_a_small_cluster_gives_these_rows(take, cluster, rows):
    cluster.add("nodes", {"metadata": meta("n1"), "status": {"capacity": {"nvidia.com/gpu": "8"}}})
    cluster.add("pods", pod("p1"), pod("p2", "other"))
    cluster.add("events", event("e1", count=3), event("e2", "default", about="Node"))
    cluster.add("leases", lease("n1"), lease("kube-scheduler", "kube-system"))
    look, said = take()
    assert rows("kube_objects", "cluster, kind, namespace, name, uid, observed_at, is_deleted") == [
        ("prod", "Lease", "kube-node-lease", "n1", "uid-n1", "10:00:00", False),
        ("prod", "Node", None, "n1", "uid-n1", "10:00:00", False),
        ("prod", "Pod", "other", "p2", "uid-p2", "10:00:00", False),
        ("prod", "Pod", "team", "p1", "uid-p1", "10:00:00", False),
    ]
    assert rows("kube_events", "uid, count, first_at, last_at, object_kind, reason") == [
        ("uid-e1", 3, "09:00:00", "09:30:00", "Pod", "BackOff"),
        ("uid-e2", 1, "09:00:00", "09:30:00", "Node", "BackOff"),
    ]
    columns = "kind, api_group, observed_at, items, namespace, labels, is_consistent"
    assert rows("kube_lists", columns) == [
        ("Event", "", "10:00:00", 2, None, "{}", True),
        ("Job", "batch", "10:00:00", 0, None, "{}", True),
        ("Lease", "coordination.k8s.io", "10:00:00", 1, "kube-node-lease", "{}", True),
        ("Node", "", "10:00:00", 1, None, "{}", True),
        ("Pod", "", "10:00:00", 2, None, "{}", True),
    ]
    assert look.taken.rows_added == {"kube_events": 2, "kube_lists": 5, "kube_objects": 4}
    assert (look.refused, look.unanswered, look.taken.quarantined) == ((), (), 0)
    assert said[0] == "Event: 2"
    assert rows("kube_objects", "distinct ingested_from") == [
        ("kubernetes /api/v1/nodes",),
        ("kubernetes /api/v1/pods",),
        ("kubernetes /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",),
    ]


def test_of_an_object_no_more_is_kept_than_of_a_dumped_one(take, cluster, rows):
    cluster.add("pods", pod("p1"))
    cluster.add("leases", lease("n1"))
    take()
    [(_, lease_body), (_, pod_body)] = rows("kube_objects", "kind, body")
    assert "secret" not in pod_body
    assert json.loads(pod_body)["gpu_requests"] == {"nvidia.com/gpu": 8}
    assert json.loads(lease_body)["spec"] == {
        "holderIdentity": "n1",
        "leaseDurationSeconds": 40,
        "renewTime": "2026-03-02T09:59:57.123Z",
    }


def test_a_look_gives_the_same_rows_as_a_dump_of_the_same_lists(
    take, cluster, rows, lake, tmp_path
):
    cluster.add("pods", pod("p1", team="a"), pod("p2", team="a"))
    cluster.add("events", event("e1"))
    take()
    columns = "kind, api_version, namespace, name, uid, resource_version, owner_uid, body"
    seen = rows("kube_objects", columns), rows("kube_events", "* exclude (ingested_from, run_id)")
    dumped = {"apiVersion": "v1", "kind": "List", "items": []}
    for plural, kind in (("pods", "Pod"), ("events", "Event")):
        given = cluster.named(plural).items
        dumped["items"] += [{"apiVersion": "v1", "kind": kind, **item} for item in given]
    (tmp_path / "dump.json").write_text(json.dumps(dumped))
    reports = collect_files([tmp_path / "dump.json"], cluster="prod")
    taken = take_dump(lake, reports, cluster="prod", now=datetime(2026, 3, 3, tzinfo=UTC))
    assert taken.rows_added == {"kube_events": 0, "kube_lists": 2, "kube_objects": 2}
    assert rows("kube_objects", f"distinct {columns}") == seen[0]
    assert rows("kube_events", "* exclude (ingested_from, run_id)") == seen[1]


def test_the_same_look_again_adds_nothing(take, cluster):
    cluster.add("pods", pod("p1"))
    cluster.add("events", event("e1"))
    take()
    look, _ = take()
    assert set(look.taken.rows_added.values()) == {0}


def test_a_later_look_observes_objects_anew_and_events_only_if_they_repeated(take, cluster, rows):
    cluster.add("pods", pod("p1"))
    cluster.add("events", event("e1"), event("e2"))
    take()
    cluster.now = LATER
    cluster.named("events").items[1] = event(
        "e2", count=5, last="2026-03-02T10:05:00Z", resourceVersion="9"
    )
    take()
    assert rows("kube_objects", "observed_at") == [("10:00:00",), ("10:15:00",)]
    assert rows("kube_events", "uid, count, last_at") == [
        ("uid-e1", 1, "09:30:00"),
        ("uid-e2", 1, "09:30:00"),
        ("uid-e2", 5, "10:05:00"),
    ]


def test_long_lists_come_in_pages_of_one_version(take, cluster, rows):
    cluster.add("pods", *(pod(f"p{number:04d}") for number in range(1201)))
    take()
    assert [parameters.get("continue") for parameters in cluster.asked("pods")] == [
        None,
        "500@1000",
        "1000@1000",
    ]
    assert {parameters["limit"] for parameters in cluster.asked("pods")} == {"500"}
    assert rows("kube_objects", "count(*), count(distinct uid)") == [(1201, 1201)]
    assert rows("kube_lists", "items, is_consistent").count((1201, True)) == 1


def test_a_list_that_expires_goes_on_with_newer_objects_and_says_so(take, cluster, rows):
    cluster.add("pods", *(pod(f"p{number:04d}") for number in range(1201)))
    cluster.faults["pods"] = Fault("expired", range(1, 2), value=LATER)
    take()
    assert rows(
        "kube_objects", "count(*) filter (observed_at < '2026-03-02T10:15:00Z'), count(*)"
    ) == [(500, 1201)]
    found = rows("kube_lists", "kind, observed_at, items, is_consistent")
    assert ("Pod", "10:15:00", 1201, False) in found
    assert ("Node", "10:00:00", 0, True) in found


def test_a_list_that_expires_without_a_way_on_begins_anew(take, cluster, rows):
    cluster.add("pods", *(pod(f"p{number:04d}") for number in range(700)))
    cluster.faults["pods"] = Fault("expired_for_good", range(1, 2))
    take()
    assert [parameters.get("continue") for parameters in cluster.asked("pods")] == [
        None,
        "500@1000",
        None,
        "500@1001",
    ]
    assert rows("kube_objects", "count(*)") == [(700,)]
    assert ("Pod", 700, True) in rows("kube_lists", "kind, items, is_consistent")


def test_a_list_that_expires_for_ever_is_given_up(take, cluster, rows):
    cluster.add("pods", *(pod(f"p{number:04d}") for number in range(700)))
    cluster.faults["pods"] = Fault("expired_for_good", range(1, 999, 2))
    look, _ = take()
    assert look.refused == ("Pod",)
    assert "Pod" not in [kind for (kind,) in rows("kube_lists", "kind")]


def test_nothing_follows_a_page_that_could_not_be_written(take, cluster, rows, monkeypatch):
    """Else the last page would say that the list is whole, and the pods of this one are gone."""
    cluster.add("pods", *(pod(f"p{number:04d}") for number in range(2100)))
    sizes = []
    whole = Publisher.take

    def full_disk_at_the_second(self, tables, source):
        sizes.append(len(tables["kube_objects"]))
        if sizes.count(500) == 2:
            raise OSError(28, "No space left on device")
        whole(self, tables, source)

    monkeypatch.setattr(Publisher, "take", full_disk_at_the_second)
    with pytest.raises(OSError, match="No space left"):
        take()
    assert [size for size in sizes if size] == [500, 500]
    monkeypatch.undo()
    take()
    assert rows("kube_objects", "count(*)") == [(2100,)]
    assert ("Pod", 2100) in rows("kube_lists", "kind, items")


def test_two_looks_at_once_give_the_same_rows(kubeconfig, lake, cluster, rows):
    cluster.add("pods", *(pod(f"p{number:04d}") for number in range(700)))
    cluster.add("events", *(event(f"e{number:04d}") for number in range(700)))

    def look(_):
        api = open_api(kubeconfig)
        take_kubernetes(lake, api, Scope(), cluster="prod")
        api.close()

    with ThreadPoolExecutor(2) as both:
        list(both.map(look, range(2)))
    assert rows("kube_objects", "count(distinct row_id), count(distinct uid)") == [(700, 700)]
    assert rows("kube_events", "count(distinct row_id), count(distinct uid)") == [(700, 700)]


def test_a_look_loads_nothing_heavy_but_duckdb(kubeconfig, cluster, tmp_path):
    """Each of these is some MB to 100 MB of a job that runs all day on every cluster."""
    cluster.add("pods", pod("p1"))
    words = ["--lake", str(tmp_path / "lake"), "collect", "kubernetes"]
    program = (
        "import sys\n"
        "from goodput.cli import main\n"
        f"main({[*words, '--kubeconfig', str(kubeconfig)]!r}, standalone_mode=False)\n"
        "heavy = {'asyncio', 'kubernetes', 'numpy', 'obstore', 'polars', 'pyarrow', 'requests'}\n"
        "heavy |= {'re2', 'scipy', 'stamina', 'tenacity', 'tornado'}\n"
        "print(sorted((heavy | {'duckdb'}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "['duckdb']\n"


def test_a_cut_page_is_read_again_and_no_row_is_lost_or_doubled(take, cluster, rows):
    cluster.add("pods", *(pod(f"p{number:04d}") for number in range(1201)))
    cluster.faults["pods"] = Fault("cut", range(1, 3))
    take()
    assert rows("kube_objects", "count(*), count(distinct uid)") == [(1201, 1201)]


def test_what_may_not_be_read_is_a_gap_and_the_rest_is_taken(take, cluster, rows):
    cluster.forbidden.add("events")
    cluster.add("pods", pod("p1"))
    look, said = take()
    assert (look.refused, look.unanswered) == (("Event",), ())
    assert rows("collector_gaps", 'cluster, source_name, "from", "to", reason') == [
        (
            "prod",
            "kubernetes Event",
            "10:00:00",
            "10:00:00",
            '403: events is forbidden: User "goodput" cannot list resource',
        )
    ]
    assert rows("kube_objects", "name") == [("p1",)]
    assert "Event" not in [kind for (kind,) in rows("kube_lists", "kind")]
    assert any(line.startswith("Event: not read (403: events is forbidden") for line in said)


def test_a_list_that_always_fails_is_a_gap_and_the_rest_is_taken(take, cluster, rows):
    cluster.add("nodes", {"metadata": meta("n1")})
    cluster.faults["pods"] = Fault("broken", range(99))
    look, _ = take()
    assert look.unanswered == ("Pod",)
    assert rows("collector_gaps", "source_name, reason") == [
        ("kubernetes Pod", "500: etcdserver: request timed out")
    ]
    assert rows("kube_objects", "kind") == [("Node",)]


def test_a_server_that_goes_away_ends_the_look_and_what_had_come_is_kept(take, cluster, rows):
    cluster.add("events", event("e1"))
    cluster.add("pods", *(pod(f"p{number:04d}") for number in range(700)))
    cluster.faults["pods"] = Fault("reset", range(1, 99))
    with pytest.raises(SourceUnreachable, match="stopped answering at Pod"):
        take()
    assert rows("kube_events", "uid") == [("uid-e1",)]
    assert rows("kube_objects", "count(*)") == [(500,)]
    assert "Pod" not in [kind for (kind,) in rows("kube_lists", "kind")]
    cluster.faults.clear()
    take()
    assert rows("kube_objects", "count(*), count(distinct uid)") == [(700, 700)]


def test_custom_resources_are_found_in_whichever_version_is_served(take, cluster, rows):
    group = "jobset.x-k8s.io"
    cluster.served.append(Served(f"{group}/v1alpha2", "jobsets", "JobSet", True, [jobset("js")]))
    cluster.versions[group] = ["v1"]  # preferred, and without this kind
    look, _ = take()
    assert look.refused == ()
    assert rows("kube_objects", "api_version, kind, name") == [
        (f"{group}/v1alpha2", "JobSet", "js")
    ]


def test_kinds_that_say_nothing_about_gpu_time_are_not_asked_for(take, cluster):
    cluster.served.append(Served("v1", "secrets", "Secret", True))
    cluster.served.append(Served("apps/v1", "replicasets", "ReplicaSet", True))
    cluster.served.append(Served("events.k8s.io/v1", "events", "Event", True))
    take()
    lists = [path for path, parameters in cluster.requests if parameters]
    assert lists == [
        "/api/v1/events",
        "/api/v1/nodes",
        "/api/v1/pods",
        "/apis/batch/v1/jobs",
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    ]


def test_one_api_group_that_is_down_does_not_stop_the_others(take, cluster, rows):
    cluster.faults["/apis/batch/v1"] = Fault("broken", range(99))
    look, _ = take()
    assert look.unanswered == ("batch/v1",)
    assert rows("collector_gaps", "source_name") == [("kubernetes batch/v1",)]
    assert len(rows("kube_lists", "kind")) == 4


def test_chosen_namespaces_are_listed_alone_but_events_of_nodes_always(take, cluster, rows):
    cluster.add("pods", pod("p1"), pod("p2", "other"))
    cluster.add(
        "events",
        event("e1"),
        event("e2", "other"),
        event("of-node", "default", about="Node"),
        event("of-pod", "default"),
    )
    take(namespaces=("team",))
    assert rows("kube_objects", "name") == [("p1",)]
    assert rows("kube_events", "name") == [("e1",), ("of-node",)]
    assert rows("kube_lists", "kind, namespace, items") == [
        ("Event", "team", 1),
        ("Job", "team", 0),
        ("Lease", "kube-node-lease", 0),
        ("Node", None, 0),
        ("Pod", "team", 1),
    ]


def test_namespaces_that_are_left_out_are_not_declared_empty(take, cluster, rows):
    cluster.add("namespaces", *({"metadata": {"name": name}} for name in ("team", "other")))
    cluster.add("pods", pod("p1"), pod("p2", "other"))
    take(left_out=("other",))
    assert rows("kube_objects", "name") == [("p1",)]
    assert rows("kube_lists", "kind, namespace, items") == [
        ("Event", "team", 0),
        ("Job", "team", 0),
        ("Lease", "kube-node-lease", 0),
        ("Node", None, 0),
        ("Pod", "team", 1),
    ]


@pytest.mark.parametrize(("selector", "labels"), [("team=a", '{"team": "a"}'), ("team!=b", None)])
def test_a_selector_picks_pods_and_speaks_for_no_others(take, cluster, rows, selector, labels):
    cluster.add("pods", pod("p1", team="a"), pod("p2", team="b"))
    cluster.add("events", event("e1"))
    take(selector=selector)
    assert rows("kube_objects", "name") == [("p1",)]
    assert rows("kube_events", "name") == [("e1",)]
    found = [labels for kind, labels in rows("kube_lists", "kind, labels") if kind == "Pod"]
    assert found == ([labels] if labels else [])


def test_a_selector_that_is_none_is_an_error_of_the_user(take):
    with pytest.raises(UsageError, match="Pod: 400: unable to parse requirement; check"):
        take(selector="!!")


def test_odd_objects_are_quarantined_once_however_often_they_are_seen(take, cluster, rows):
    odd = pod("p1")
    odd["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "many"
    nameless = pod("p2")
    del nameless["metadata"]["name"]
    cluster.add("pods", odd, nameless)
    take()
    before = rows("quarantine", "file, row_number, reason")
    assert len(before) == 2
    assert {row[:2] for row in before} == {("kubernetes /api/v1/pods", None)}
    cluster.now = LATER
    cluster.named("pods").items.reverse()
    take()
    assert rows("quarantine", "file, row_number, reason") == before


def test_only_a_list_of_one_moment_proves_that_a_pod_is_gone(take, cluster, presence):
    cluster.add("pods", pod("p1"), pod("p2"), *(pod(f"q{number:03d}") for number in range(600)))
    take()
    cluster.now = LATER
    del cluster.named("pods").items[1]
    cluster.faults["pods"] = Fault("expired", range(3, 4))
    take()
    assert presence("uid-p2") == ("10:00:00", None)
    cluster.now = "Mon, 02 Mar 2026 10:30:00 GMT"
    take()
    assert presence("uid-p2") == ("10:00:00", "10:30:00")
    assert presence("uid-p1") == ("10:30:00", None)


def test_a_list_of_jobs_says_nothing_about_the_jobs_of_another_group(take, cluster, presence):
    volcano = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    jobs = [volcano | {"metadata": meta("v1", "team")}]
    cluster.served.append(Served("batch.volcano.sh/v1alpha1", "jobs", "Job", True, jobs))
    take()
    cluster.now = LATER
    jobs.clear()
    cluster.faults["/apis/batch.volcano.sh/v1alpha1"] = Fault("broken", range(99))
    look, _ = take()
    assert look.unanswered == ("batch.volcano.sh/v1alpha1",)
    assert presence("uid-v1") == ("10:00:00", None)


def test_a_list_that_was_refused_is_unobserved_until_the_next_look(take, cluster, observed):
    cluster.forbidden.add("pods")
    for minute in (0, 20):
        cluster.now = f"Mon, 02 Mar 2026 10:{minute:02d}:00 GMT"
        take()
    cluster.forbidden.clear()
    cluster.now = "Mon, 02 Mar 2026 10:40:00 GMT"
    take()
    gaps = observed("collector_gaps_kube", 'source_name, "from", "to", left(reason, 4)')
    assert gaps == [
        ("kubernetes Pod", "10:00:00", "10:20:00", "403:"),
        ("kubernetes Pod", "10:20:00", "10:40:00", "403:"),
    ]


def test_nothing_readable_is_an_error(take, cluster):
    cluster.forbidden |= {"nodes", "pods", "events", "jobs", "leases"}
    with pytest.raises(SourceUnreachable, match="not one list could be read"):
        take()


def test_credentials_that_are_refused_midway_end_the_look(take, cluster, rows):
    """Else it would seem that this account may read all but the rest of the lists."""
    cluster.add("pods", pod("p"))
    cluster.faults["pods"] = Fault("unauthorized", range(99), value="none")
    with pytest.raises(SourceUnreachable, match=r"refused the credentials .*; the next run takes"):
        take()
    assert "Pod" not in [kind for (kind,) in rows("kube_lists", "kind")]


@pytest.mark.parametrize("scope", [{}, {"left_out": ("kube-system",)}])
def test_a_bad_token_is_an_error_that_names_it(take, cluster, scope):
    cluster.tokens.clear()
    with pytest.raises(SourceUnreachable) as caught:
        take(**scope)
    assert str(caught.value) == (
        "the API server refused the credentials (401: Unauthorized); check that the token or"
        " certificate is for this cluster and has not run out"
    )


def test_no_connection_is_an_error_of_the_address(take, cluster):
    cluster.faults["/apis"] = Fault("reset", range(9))
    with pytest.raises(SourceUnreachable) as caught:
        take(left_out=("kube-system",))
    assert re.fullmatch(
        r"the API server does not answer \(.+\); check the address", str(caught.value)
    )


def test_namespaces_are_spoken_of_only_where_they_must_be_listed(take, cluster):
    cluster.forbidden.add("namespaces")
    take()
    with pytest.raises(SourceUnreachable) as caught:
        take(left_out=("kube-system",))
    said = str(caught.value)
    assert said.startswith("the API server does not say what it has (403: namespaces is forbidden")
    assert said.endswith(
        "); check that this account may list namespaces, which it must where some are left out"
    )


@pytest.fixture
def collect(kubeconfig, tmp_path):
    def run(*options):
        words = ["--lake", str(tmp_path / "lake"), "collect", "kubernetes"]
        chosen = ["--kubeconfig", str(kubeconfig), "--cluster", "prod", *options]
        return CliRunner().invoke(main, [*words, *chosen])

    return run


def test_the_command_takes_a_cluster(cluster, collect):
    cluster.add("pods", pod("p1"))
    cluster.forbidden.add("jobs")
    cluster.faults["nodes"] = Fault("busy", range(1), value="0")
    done = collect()
    assert (done.exit_code, done.stdout) == (0, "")
    assert "kube_objects: 1 new row\n" in done.stderr
    assert 'Job.batch: not read (403: jobs is forbidden: User "goodput"' in done.stderr


def test_the_role_of_the_guide_is_for_what_is_asked_for_and_no_more():
    role, _ = blocks("docs/guides/collect-from-kubernetes.md", "yaml")
    rules = yaml.safe_load(role)["rules"]
    granted = Counter(
        group for rule in rules for group in rule["apiGroups"] for _ in rule["resources"]
    )
    wanted = Counter(kind.api_group for kind in listed_kinds())
    assert granted == wanted + Counter({"": 1})  # namespaces, for those that are left out
    assert {tuple(rule["verbs"]) for rule in rules} == {("list",)}


def test_the_role_to_watch_is_for_what_is_listed_but_leases():
    listed, more = blocks("docs/guides/collect-from-kubernetes.md", "yaml")
    watched, logs = yaml.safe_load_all(more)
    names = {name for rule in yaml.safe_load(listed)["rules"] for name in rule["resources"]}
    [rule] = watched["rules"]
    assert (set(rule["resources"]), rule["verbs"]) == (names - {"leases", "namespaces"}, ["watch"])
    assert {verb for rule in logs["rules"] for verb in rule["verbs"]} == {"get", "list"}


@pytest.fixture
def site(kubeconfig, tmp_path, monkeypatch):
    """Runs the scheduled job with one more line for its source of this kind."""

    def run(more=""):
        (tmp_path / "goodput.toml").write_text(
            f'lake = "{tmp_path / "lake"}"\ncluster = "east"\n'
            f'[[source]]\nkind = "kubernetes"\nkubeconfig = "{kubeconfig}"\n{more}\n'
        )
        (tmp_path / "pipelines.toml").write_text(
            f'reports = "{tmp_path}"\nstate = "{tmp_path}"\nnightly_days = 7\n'
        )
        words = ["job", "--config", str(tmp_path / "pipelines.toml")]
        monkeypatch.setattr(sys, "argv", words)
        return collect_job.main()

    return run


def test_the_scheduled_job_takes_a_cluster(site, cluster, rows, capsys):
    cluster.add("pods", pod("p1"), pod("p2", "other"))
    assert site('namespaces = ["team"]') == 0
    assert rows("kube_objects", "cluster, name") == [("east", "p1")]
    said = capsys.readouterr()
    assert json.loads(said.out)["rows_added"] == {"kube_lists": 5, "kube_objects": 1}
    assert "Pod of team: 1" in said.err


def test_the_scheduled_job_knows_its_options(site, capsys):
    assert site('namespace = "team"') == UsageError.exit_code
    assert "a source of kind 'kubernetes' has no option 'namespace'; did you mean namespaces" in (
        capsys.readouterr().err
    )
