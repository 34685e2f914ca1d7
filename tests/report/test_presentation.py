"""The catalogue tables that only the pages use, checked against what they describe."""

import csv
import re

from goodput._resources import catalog_dir, resource_dir
from goodput.report.charts import PATTERNS
from goodput.report.view import _advice


def rows(name):
    with (catalog_dir() / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_class_has_words_an_owner_and_an_action():
    assert {row["class"] for row in rows("causes")} == {row["class"] for row in rows("taxonomy")}
    assert all(row["label"] and row["owner"] and row["action"] for row in rows("causes"))


def test_every_state_of_the_ledger_has_words_and_every_word_a_state():
    sql = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("20_intervals", "30_ledger")
        for path in (resource_dir("sql") / folder).glob("*.sql")
    )
    used = set(re.findall(r"'([AUI]\.[a-z_]+(?:\.[a-z_]+)?)'", sql))
    used |= {f"U.repair.{action}" for action in ("diag", "reset", "reboot", "replace")}
    known = {row["state"] for row in rows("states")}
    assert used - known == set()


def test_every_state_is_in_a_group_and_every_group_has_one():
    groups = {row["state_group"] for row in rows("state_groups")}
    assert {row["state_group"] for row in rows("states")} == groups


def test_groups_can_be_told_apart():
    groups = rows("state_groups")
    assert len({row["code"] for row in groups}) == len(groups)
    assert len({(row["colour_light"], row["pattern"]) for row in groups}) == len(groups)
    assert {row["pattern"] for row in groups} - {""} == set(PATTERNS)


def test_one_spare_is_a_node():
    advice = {"advice": "spare_nodes", "subject": "a", "unit": "nodes", "current": None}
    units = [_advice(advice | {"proposed": count}, {})["to_unit"] for count in (0, 1, 2)]
    assert units == ["nodes", "node", "nodes"]
