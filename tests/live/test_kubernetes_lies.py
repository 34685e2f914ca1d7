"""`collect kubernetes` against an API server whose answers are not what they seem."""

import pytest
from fake_kubernetes import Fault
from kubernetes_objects import LATER, meta, pod

from goodput.errors import SourceUnreachable
from goodput.sources import kube_listing

PODS = "/api/v1/pods"
VERSION = {"resourceVersion": "1000"}


@pytest.fixture
def lie(cluster):
    """Lets a path answer 200 with what is given, or what a function makes of the parameters."""
    lies = {}
    honest = cluster.answer

    def answer(path, parameters):
        if path not in lies:
            return honest(path, parameters)
        body = lies[path]
        return 200, body(parameters) if callable(body) else body

    cluster.answer = answer
    return lies.__setitem__


@pytest.mark.parametrize(
    ("body", "lack"),
    [
        ({}, "metadata.resourceVersion"),
        ({"kind": "Status", "metadata": {}, "code": 403}, "metadata.resourceVersion"),
        ({"items": []}, "metadata.resourceVersion"),
        ({"items": [], "metadata": None}, "metadata.resourceVersion"),
        ({"items": [], "metadata": {"resourceVersion": ""}}, "metadata.resourceVersion"),
        ({"items": [], "metadata": {"resourceVersion": 7}}, "metadata.resourceVersion"),
        ({"metadata": VERSION}, "items"),
        ({"items": {}, "metadata": VERSION}, "items"),
        ({"items": "", "metadata": VERSION}, "items"),
    ],
)
def test_an_answer_that_is_no_list_says_nothing_about_what_is_gone(
    take, cluster, rows, presence, lie, body, lack
):
    cluster.add("pods", pod("p1"))
    cluster.add("nodes", {"metadata": meta("n1")})
    take()
    cluster.now = LATER
    lie(PODS, body)
    look, _ = take()
    assert (look.refused, look.unanswered) == ((), ("Pod",))
    assert rows("collector_gaps", "source_name, reason") == [
        ("kubernetes Pod", f"the answer is no list: it has no {lack}")
    ]
    lists = rows("kube_lists", "kind, observed_at")
    assert [at for kind, at in lists if kind == "Pod"] == ["10:00:00"]
    assert [at for kind, at in lists if kind == "Node"] == ["10:00:00", "10:15:00"]
    assert presence("uid-p1") == ("10:00:00", None)


def test_a_list_of_null_is_empty(take, cluster, presence, lie):
    cluster.add("pods", pod("p1"))
    take()
    cluster.now = LATER
    lie(PODS, {"items": None, "metadata": VERSION})
    look, _ = take()
    assert look.unanswered == ()
    assert presence("uid-p1") == ("10:00:00", "10:15:00")


def test_a_later_page_that_is_no_list_leaves_the_list_open(take, cluster, presence, lie):
    cluster.add("pods", pod("p1"))
    take()
    cluster.now = LATER
    first = {"items": [], "metadata": {**VERSION, "continue": "next"}}
    lie(PODS, lambda parameters: {} if "continue" in parameters else first)
    look, _ = take()
    assert look.unanswered == ("Pod",)
    assert presence("uid-p1") == ("10:00:00", None)


@pytest.mark.parametrize("items", [[], [pod("p1")]])
def test_a_continue_token_that_comes_twice_ends_the_list(take, cluster, rows, lie, items):
    lie(PODS, {"items": items, "metadata": {**VERSION, "continue": "again"}})
    look, _ = take()
    assert look.unanswered == ("Pod",)
    assert len(cluster.asked("pods")) == 2
    assert rows("collector_gaps", "source_name, reason") == [
        ("kubernetes Pod", "the list does not end: a continue token came twice")
    ]
    assert "Pod" not in [kind for (kind,) in rows("kube_lists", "kind")]


def counting(items):
    """Pages with ever new tokens."""

    def page(parameters):
        token = str(int(parameters.get("continue", "0")) + 1)
        return {"items": items, "metadata": {**VERSION, "continue": token}}

    return page


@pytest.mark.parametrize(
    ("items", "bound", "reason"),
    [
        ([], "_MAX_EMPTY_PAGES", "3 pages came, the last 3 empty"),
        ([pod("p1")], "_MAX_PAGES", "3 pages came, the last 0 empty"),
    ],
)
def test_pages_without_end_end(take, cluster, rows, lie, monkeypatch, items, bound, reason):
    monkeypatch.setattr(kube_listing, bound, 3)
    lie(PODS, counting(items))
    look, _ = take()
    assert look.unanswered == ("Pod",)
    assert len(cluster.asked("pods")) == 3
    assert rows("collector_gaps", "reason") == [(f"the list does not end: {reason}",)]


def test_a_continue_token_that_is_no_text_does_not_end_the_list(take, rows, lie):
    lie(PODS, {"items": [], "metadata": {**VERSION, "continue": {"a": 1}}})
    look, _ = take()
    assert look.unanswered == ("Pod",)
    assert "Pod" not in [kind for (kind,) in rows("kube_lists", "kind")]


@pytest.mark.parametrize("what", ["html", "cut"])
def test_a_kind_whose_answer_is_unusable_is_a_gap_and_the_rest_is_taken(take, cluster, rows, what):
    cluster.add("jobs", {"metadata": meta("j1", "team")})
    cluster.faults["pods"] = Fault(what, range(99))
    look, _ = take()
    assert (look.refused, look.unanswered) == ((), ("Pod",))
    assert rows("collector_gaps", "source_name") == [("kubernetes Pod",)]
    assert rows("kube_objects", "kind") == [("Job",)]
    assert [kind for (kind,) in rows("kube_lists", "kind")] == ["Event", "Job", "Lease", "Node"]


ODD_GROUPS = [
    ("x", "/apis"),
    (None, "/apis"),
    ({"versions": [{"groupVersion": "a/v1"}]}, "/apis"),
    ({"name": 1}, "/apis"),
    ({"name": "kubeflow.org"}, "kubeflow.org"),
    ({"name": "kubeflow.org", "versions": {"a": 1}, "preferredVersion": 1}, "kubeflow.org"),
    ({"name": "kubeflow.org", "versions": [None, {}, {"groupVersion": 1}]}, "kubeflow.org"),
    ({"name": "kubeflow.org", "versions": [{"groupVersion": "../v1?a"}]}, "kubeflow.org"),
]


@pytest.mark.parametrize(("group", "name"), ODD_GROUPS)
def test_an_odd_api_group_loses_only_itself(take, cluster, rows, lie, group, name):
    _, groups = cluster.answer("/apis", {})
    lie("/apis", {"groups": [group, *groups["groups"]]})
    look, _ = take()
    assert look.unanswered == (name,)
    assert rows("collector_gaps", "source_name") == [(f"kubernetes {name}",)]
    assert len(rows("kube_lists", "kind")) == 5


def test_an_odd_api_group_that_nobody_wants_is_no_gap(take, cluster, rows, lie):
    _, groups = cluster.answer("/apis", {})
    lie("/apis", {"groups": [{"name": "example.org", "versions": [7]}, *groups["groups"]]})
    look, _ = take()
    assert (look.unanswered, rows("collector_gaps", "*")) == ((), [])


@pytest.mark.parametrize("body", [{}, {"groups": {}}, {"kind": "Status"}])
def test_a_server_that_names_no_groups_does_not_say_what_it_has(take, lie, body):
    lie("/apis", body)
    with pytest.raises(SourceUnreachable, match=r"does not say what it has .* it has no groups"):
        take()


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "x",
        {"name": "pods"},
        {"name": "pods", "kind": ["Pod"], "namespaced": True},
        {"name": 1, "kind": "Pod", "namespaced": True},
        {"name": "pods", "kind": "Pod"},
    ],
)
def test_an_odd_resource_loses_only_itself(take, cluster, rows, lie, entry):
    _, body = cluster.answer("/api/v1", {})
    others = [item for item in body["resources"] if item["kind"] != "Pod"]
    lie("/api/v1", {"resources": [entry, *others]})
    look, _ = take()
    assert look.unanswered == ("v1",)
    assert [kind for (kind,) in rows("kube_lists", "kind")] == ["Event", "Job", "Lease", "Node"]


@pytest.mark.parametrize("body", [{}, {"resources": {}}, {"kind": "Status"}])
def test_a_group_that_lists_no_resources_is_a_gap(take, rows, lie, body):
    lie("/apis/batch/v1", body)
    look, _ = take()
    assert look.unanswered == ("batch/v1",)
    assert rows("collector_gaps", "reason") == [
        ("the answer is no list: it has no resources",),
    ]
    assert len(rows("kube_lists", "kind")) == 4


def test_odd_namespaces_lose_only_themselves(take, cluster, rows, lie):
    names = ["team", 7, None, "a/../b", "x?y", "other"]
    odd = [None, "x", {}, {"metadata": []}]
    items = [*odd, *({"metadata": {"name": name}} for name in names)]
    lie("/api/v1/namespaces", {"items": items, "metadata": VERSION})
    cluster.add("pods", pod("p1"), pod("p2", "other"))
    take(left_out=("other",))
    found = rows("kube_lists", "kind, namespace, items")
    assert [row for row in found if row[0] == "Pod"] == [("Pod", "team", 1)]
