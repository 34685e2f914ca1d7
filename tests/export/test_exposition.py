"""The text format: what is escaped, what cannot be carried, what a real Prometheus reads of it."""

import pytest
from scraped import scraped

from goodput.exposition import Family, exposition

HOSTILE = 'C:\\new "node"\n# HELP x\u202e\u2028<script>{}=,\xe9'


def test_a_family_has_its_help_its_type_and_a_line_for_each_set_of_labels():
    family = Family(
        "goodput_x_seconds",
        "What it is.",
        [({"cluster": "c", "scope": "node"}, 0.1), ({"cluster": "d"}, 3.0), ({}, 1e300)],
    )

    assert exposition([family, Family("goodput_empty", "Nothing.")]) == (
        "# HELP goodput_x_seconds What it is.\n"
        "# TYPE goodput_x_seconds gauge\n"
        'goodput_x_seconds{cluster="c",scope="node"} 0.1\n'
        'goodput_x_seconds{cluster="d"} 3\n'
        "goodput_x_seconds 1e+300\n"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('a"b\\c\nd', r"a\"b\\c\nd"),
        ("nul\x00bell\x07tab\t", r"nul\\x00bell\\x07tab\\x09"),
        ("half \ud800", r"half \\ud800"),
        ("\u202eé", "\u202eé"),
    ],
    ids=["escapes", "control characters", "a lone surrogate", "any other letter"],
)
def test_label_values_are_escaped(text, shown):
    line = exposition([Family("m", "H", [({"l": text}, 1)])]).splitlines()[-1]

    assert line == f'm{{l="{shown}"}} 1'


def test_help_keeps_its_quotes_and_its_line():
    assert exposition([Family("m", 'a "b"\nc\\', [({}, 1)])]).splitlines()[0] == (
        r'# HELP m a "b"\nc\\'
    )


def test_no_two_names_are_written_alike():
    names = ["\x00", "\\x00", "\\\\x00", "\\\x00", "\ud800", "\\ud800", "\\d", "\\\\d"]
    text = exposition([Family("m", "H", [({"l": name}, 1) for name in names])])

    assert len(set(text.splitlines()[2:])) == len(names)


def test_what_looks_as_if_something_had_been_shown_has_its_backslashes_doubled():
    text = exposition(
        [Family("m", "H", [({"l": "\x00"}, 1), ({"l": "\\x00"}, 2), ({"l": "C:\\d"}, 3)])]
    )

    assert text.splitlines()[2:] == [
        r'm{l="\\x00"} 1',
        r'm{l="\\\\x00"} 2',
        r'm{l="C:\\d"} 3',
    ]


def test_a_series_that_is_there_twice_is_written_once():
    text = exposition([Family("m", "H", [({"l": ""}, 1), ({}, 2)])])

    assert text.splitlines()[2:] == ["m 1"]


def test_hostile_values_come_back_from_a_real_prometheus(tmp_path):
    samples = [({"scope_value": HOSTILE}, 1), ({"scope_value": "\x00"}, 2), ({}, 0.1 + 0.2)]

    with scraped(tmp_path, exposition([Family("m", "H", samples)])) as prometheus:
        rows = prometheus.ask("m")

    assert sorted((labels.get("scope_value", ""), value) for labels, value in rows) == sorted(
        [(HOSTILE, "1"), ("\\x00", "2"), ("", "0.30000000000000004")]
    )
