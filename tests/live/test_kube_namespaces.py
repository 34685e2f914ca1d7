"""A namespace that is misspelt gives empty lists, and that is said."""

from click.testing import CliRunner

from goodput.cli import main
from goodput.sources.kube_namespaces import doubtful_namespaces

ABSENT = "there is no namespace 'nosuch' in this cluster; check --namespace"
EMPTY = "the namespace {!r} shows no pod; if that is odd, check --namespace"


def given(cluster):
    for name in ("full", "empty"):
        cluster.add("namespaces", {"metadata": {"name": name}})
    cluster.add("pods", {"metadata": {"name": "p", "namespace": "full", "uid": "u"}})


def test_what_is_absent_or_empty_is_said(cluster, api):
    given(cluster)
    told = doubtful_namespaces(api, ("full", "empty", "nosuch"))
    assert list(told) == [EMPTY.format("empty"), ABSENT]


def test_who_may_not_read_namespaces_is_told_by_the_pods(cluster, api):
    given(cluster)
    cluster.forbidden.add("namespaces")
    told = doubtful_namespaces(api, ("full", "nosuch"))
    assert list(told) == [EMPTY.format("nosuch")]
    cluster.forbidden.add("pods")
    assert list(doubtful_namespaces(api, ("full", "nosuch"))) == []


def test_the_commands_say_so(cluster, kubeconfig, tmp_path):
    given(cluster)
    ask = ["--namespace", "nosuch", "--kubeconfig", str(kubeconfig)]
    for verb in (["kubernetes"], ["logs", "--pods"]):
        done = CliRunner().invoke(main, ["--lake", str(tmp_path), "collect", *verb, *ask])
        assert f"warning: {ABSENT}\n" in done.stderr


def test_what_is_no_name_of_a_namespace_asks_for_nothing_else(cluster, api):
    given(cluster)
    names = ("", "..", "full/pods", "full#", "full?limit=1", "Full", "full\n")
    told = list(doubtful_namespaces(api, names))
    assert told == [ABSENT.replace("'nosuch'", repr(name)) for name in names]


def test_what_is_no_name_of_a_namespace_does_not_open_the_others(cluster, take, rows):
    given(cluster)
    take(namespaces=("..", "full/pods", ""))
    assert rows("kube_objects", "kind, name") == []
    take(namespaces=("..", "full"))
    assert rows("kube_objects", "kind, name") == [("Pod", "p")]
