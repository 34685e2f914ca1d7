import io
import json

import pytest

from goodput.sources.kube_documents import End, Item, json_documents, yaml_documents


def parts(text, reader=json_documents):
    found = list(reader(io.StringIO(text)))
    return [p.value for p in found if isinstance(p, Item)], [p for p in found if isinstance(p, End)]


def test_a_list_gives_its_items_and_its_header():
    items, [end] = parts('{"apiVersion": "v1", "items": [{"a": 1}, {"a": 2}], "kind": "List"}')
    assert items == [{"a": 1}, {"a": 2}]
    assert end.header == {"apiVersion": "v1", "kind": "List"}
    assert end.is_list
    assert end.flaw is None


@pytest.mark.parametrize("between", ["", "\n", " ,\n", "\x1e"])
def test_many_documents_stand_in_one_file(between):
    items, ends = parts(f'{{"a": 1}}{between}{{"a": 2}}{between}[{{"a": 3}}]')
    assert items == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert [end.is_list for end in ends] == [False, False, True]


def test_items_carry_the_line_they_begin_on():
    text = json.dumps({"items": [{"a": 1}, {"a": 2}]}, indent=1)
    found = [p.line for p in json_documents(io.StringIO(text)) if isinstance(p, Item)]
    assert found == [3, 6]


def test_the_whole_items_of_a_cut_list_are_taken():
    whole = json.dumps({"items": [{"a": n} for n in range(5)], "kind": "List"}, indent=4)
    items, [end] = parts(whole[: whole.index('"a": 3')])
    assert items == [{"a": 0}, {"a": 1}, {"a": 2}]
    assert end.flaw == "the JSON is cut off or damaged after 3 whole items; dump it again"


def test_after_a_damaged_line_the_next_ones_are_read():
    items, ends = parts('{"a": 1}\n{"a": tru\n{"a": 3}\n')
    assert items == [{"a": 1}, {"a": 3}]
    assert [end.flaw is None for end in ends] == [True, False, True]


def test_a_list_longer_than_a_chunk_is_read_whole():
    text = json.dumps({"items": [{"n": n, "pad": "x" * 500} for n in range(5000)]}, indent=4)
    items, [end] = parts(text)
    assert [item["n"] for item in items] == list(range(5000))
    assert end.flaw is None


@pytest.mark.parametrize("reader", [json_documents, yaml_documents])
def test_deep_nesting_is_refused(reader):
    items, [end] = parts('{"a": ' + "[" * 100_000, reader)
    assert items == []
    assert end.flaw is not None


@pytest.mark.parametrize("text", ["", "  \n", "---\n---\n", "# only a remark\n"])
def test_nothing_is_nothing(text):
    assert parts(text, yaml_documents) == ([], [])


def test_yaml_lists_and_documents_give_items():
    text = """# from the editor
apiVersion: v1
items:
- kind: A
  text: |
    - not an item
    items:
- kind: B
kind: List
---
kind: C
---
- kind: D
- kind: E
"""
    items, ends = parts(text, yaml_documents)
    assert [item["kind"] for item in items] == ["A", "B", "C", "D", "E"]
    assert items[0]["text"] == "- not an item\nitems:\n"
    assert ends[0].header == {"apiVersion": "v1", "kind": "List"}
    assert [end.is_list for end in ends] == [True, False, True]


def test_indented_yaml_items_give_items():
    items, _ = parts("items:\n  - kind: A\n    b: [1]\n  - kind: B\nkind: List\n", yaml_documents)
    assert items == [{"kind": "A", "b": [1]}, {"kind": "B"}]


def test_yaml_instants_stay_text():
    items, _ = parts("at: 2018-12-16T21:39:09Z\n", yaml_documents)
    assert items == [{"at": "2018-12-16T21:39:09Z"}]


def test_one_bad_yaml_item_does_not_spoil_the_others():
    items, [end] = parts("items:\n- kind: A\n- kind: [\n- kind: B\nkind: List\n", yaml_documents)
    assert items == [{"kind": "A"}, {"kind": "B"}]
    assert end.flaw is not None
    assert end.flaw.startswith("line 3: the YAML is cut off or damaged")


@pytest.mark.parametrize("end", ["  name: b", "  name: b\n", "  name: b\n  uid: 7\n"])
def test_yaml_that_ends_before_the_kind_of_its_list_is_cut_off(end):
    items, [end] = parts(f"apiVersion: v1\nitems:\n- name: a\n-{end[1:]}", yaml_documents)
    assert items == [{"name": "a"}]
    assert end.flaw == "the YAML is cut off after 1 whole items; dump it again"


def test_yaml_aliases_are_refused():
    items, [end] = parts("a: &x [1]\nb: [*x, *x]\n", yaml_documents)
    assert items == []
    assert end.flaw is not None
    assert "alias" in end.flaw


def test_the_command_line_above_pasted_yaml_is_skipped():
    items, _ = parts("$ kubectl get node -o yaml\nkind: Node\n", yaml_documents)
    assert items == [{"kind": "Node"}]


def test_records_of_the_tool_that_ran_the_command_are_skipped():
    text = '{"tool": "kubectl"}\n{"status": "success"}\nstdout:\nkind: Node\n'
    assert parts(text, yaml_documents)[0] == [{"kind": "Node"}]


def test_empty_items_are_an_empty_list():
    items, [end] = parts("apiVersion: v1\nitems: []\nkind: PodList\n", yaml_documents)
    assert items == []
    assert end.is_list
