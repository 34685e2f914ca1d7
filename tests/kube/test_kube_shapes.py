"""Objects decoded as far as they are read give the rows of whole ones, however odd they are."""

import copy
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import planted_objects

from goodput.sources.kube_answers import Objects, json_list
from goodput.sources.kube_kinds import find_kind
from goodput.sources.kube_objects import read_page
from goodput.sources.kube_shapes import in_shape

AT = datetime(2026, 3, 2, 10, tzinfo=UTC)
SCALARS = [None, True, 0, 7, 1.5, "", "13", "a word", "a/name", "2026-03-02T09:00:00Z", "x" * 1030]
LISTS = [[], [None], ["a"], [{"name": "a"}]]
OBJECTS = [{}, {"a": 1}, {"nvidia.com/gpu": "8"}, {"items": []}]
ODD = st.sampled_from([*SCALARS, *LISTS, *OBJECTS])


def kind_of(item):
    return find_kind(item["kind"], item["apiVersion"])


def rows(item, *, shaped):
    """The rows of an object as a list has it, without its kind."""
    bare = {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}
    items = json_list(json.dumps({"items": [bare]}).encode())["items"]
    kind = kind_of(item)
    read = in_shape(items, kind) if shaped else items
    return read_page(read, kind.kind, item["apiVersion"], AT, {"cluster": "c", "file": "f"})


def spots(value):
    """Where something stands in an object: the part that holds it, and its key there."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        yield value, key
        if isinstance(inner, dict | list):
            yield from spots(inner)


WHOLE = planted_objects("a word")


@pytest.mark.parametrize("item", WHOLE, ids=lambda item: f"{item['kind']}.{item['apiVersion']}")
def test_nothing_that_is_read_of_a_kind_is_passed_over(item):
    assert rows(item, shaped=True) == rows(item, shaped=False)


def test_requests_annotations_and_owners_are_read_of_a_pod():
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "uid": "u"}}
    pod["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j", "uid": "j-1"}]
    pod["metadata"]["annotations"] = {"gpu-fraction": "0.5"}
    gpu = {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}}
    pod["spec"] = {
        "containers": [{"name": "main", "resources": gpu, "env": [{"name": "A"}]}],
        "initContainers": [{"resources": gpu, "restartPolicy": "Always"}],
    }
    [row] = rows(pod, shaped=True)["kube_objects"]
    body = json.loads(row["body"])
    assert (row["owner_kind"], row["owner_name"]) == ("Job", "j")
    assert body["gpu_requests"] == {"nvidia.com/gpu": 4}
    assert body["metadata"]["annotations"] == {"gpu-fraction": "0.5"}


@given(data=st.data())
def test_an_odd_object_gives_the_same_rows(data):
    item = copy.deepcopy(data.draw(st.sampled_from(WHOLE)))
    for _ in range(data.draw(st.integers(1, 3))):
        # The kind is its list's, and tells which shape it is given.
        below = [(at, key) for at, key in spots(item) if at is not item or key[0] not in "ka"]
        where, key = data.draw(st.sampled_from(below))
        # A copy: what is odd itself may get something odd into it next.
        where[key] = copy.deepcopy(data.draw(ODD))
    assert rows(item, shaped=True) == rows(item, shaped=False)


@pytest.mark.parametrize(
    "item",
    [
        {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "uid": "u"}},
        {"metadata": {}, "items": [{"metadata": {"name": "p", "uid": "u"}, "spec": {"a": 1}}]},
        {"type": "ADDED", "object": {"metadata": {"name": "p", "uid": "u"}}},
        "a word",
        [1],
    ],
)
def test_what_a_list_of_pods_should_not_hold_is_decoded_whole(item):
    items = json_list(json.dumps({"items": [item]}).encode())["items"]
    assert list(in_shape(items, find_kind("Pod", "v1"))) == [item]


def test_what_nobody_reads_is_not_decoded():
    pod = {"metadata": {"name": "p", "managedFields": [1]}, "spec": {"volumes": [2]}}
    items = json_list(json.dumps({"items": [pod]}).encode())["items"]
    assert isinstance(items, Objects)
    [read] = in_shape(items, find_kind("Pod", "v1"))
    assert read == {"metadata": {"name": "p"}, "spec": {}}
