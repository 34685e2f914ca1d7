"""The examples in catalog/formats are the tests of the formats."""

import pytest

from goodput.errors import UsageError
from goodput.logs import formats
from goodput.logs.events import fields_of
from goodput.logs.formats import EVENTS, Format, Pattern, load_formats, parse_format
from goodput.logs.lines import read_line

FORMATS = load_formats()
PATTERNS = [
    pytest.param(p, id=f"{f.name}-{i}-{p.event}") for f in FORMATS for i, p in enumerate(f.patterns)
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_pattern_gives_what_its_examples_say(pattern: Pattern):
    assert pattern.examples
    for example in pattern.examples:
        line = read_line(example["line"].encode())
        match = pattern.regex.search(line.body)
        assert match, example["line"]
        assert fields_of(pattern.regex.named(match)) == example["gives"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_example_holds_a_literal_that_the_search_looks_for(pattern: Pattern):
    for example in pattern.examples:
        assert any(literal in example["line"].lower() for literal in pattern.literals)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: f.name)
def test_no_pattern_matches_a_counter_example(format_: Format):
    for line in format_.not_examples:
        body = read_line(line.encode()).body
        assert not [p.event for p in format_.patterns if p.regex.search(body)], line


def test_the_formats_that_the_product_names_are_there():
    assert [f.name for f in FORMATS] == [
        "common",
        "composer",
        "deepspeed",
        "detectron2",
        "determined",
        "dllogger",
        "epoch-log",
        "fairseq",
        "fairseq2",
        "generic",
        "hf-trainer",
        "lightning",
        "litgpt",
        "maxtext",
        "megatron",
        "mlperf",
        "mmengine",
        "nanogpt",
        "nemo",
        "tensorflow",
        "torchelastic",
        "torchtitan",
        "torchtune",
        "tqdm",
        "ultralytics",
        "verl",
    ]


def test_every_kind_of_event_is_used():
    assert {p.event for f in FORMATS for p in f.patterns} == set(EVENTS)


OWN = """
name = "own"
[[pattern]]
event = "step"
regex = '''own step (?P<step>\\d+)'''
"""


def test_a_folder_of_the_user_adds_formats(tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    assert "own" in [f.name for f in load_formats((tmp_path,))]


def test_a_name_may_only_be_replaced_on_purpose(tmp_path):
    text = OWN.replace('"own"', '"megatron"')
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(UsageError, match="repeats the format 'megatron'; rename it"):
        load_formats((tmp_path,))
    (tmp_path / "own.toml").write_text("override = true\n" + text)
    formats._load.cache_clear()
    (replaced,) = [f for f in load_formats((tmp_path,)) if f.name == "megatron"]
    assert len(replaced.patterns) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("event =", "evnt ="), "unknown key 'evnt'"),
        (('"step"', '"stap"'), "'stap' is no event"),
        (("(?P<step>", "(?P<stop>"), "'stop' is no group"),
        (("(?P<step>", "(?P<step"), "does not compile"),
        (('name = "own"', ""), "has no `name`"),
        (('name = "own"', 'name = "own'), "is not TOML"),
        (("own step (", "("), "has no fixed text"),
    ],
)
def test_a_faulty_file_is_named_with_its_fault(change, message):
    with pytest.raises(Exception, match=message):
        parse_format(OWN.replace(*change), "own.toml")
