"""What a row that breaks a CHECK of the contract did, in words."""

from __future__ import annotations

import re

from goodput.contract import Check, RawTable

# What no pattern tells: the column that the rule is about, and what is wrong with its value then.
_ODD = {
    "beats": "has beats that follow each other after no time: every_s is too small",
    "devices": "names a device twice, or one below 0",
    "share": "is no part of one GPU such as 1/2, of at least 1/5040",
}
_ONE_OF = re.compile(r"IN \((.*?)\)+$")
_BETWEEN = re.compile(r"BETWEEN (-?\d+) AND (-?\d+)\)+$")
_ORDER = re.compile(r'"?(\w+)"? (>=|>|<=) "?(\w+)"?\)*$')
_GIVEN = re.compile(r"IS NOT NULL")


def broken_words(spec: RawTable, check: Check) -> str:
    """What is wrong with a row for which the rule is false, as what follows the column's name."""
    rule, [column, *others] = check.expression, check.columns
    if column in _ODD:
        return _ODD[column]
    if match := _ONE_OF.search(rule):
        return f"is none of {match[1].replace(chr(39), '')}"
    if match := _BETWEEN.search(rule):
        return f"is not between {int(match[1]):,} and {int(match[2]):,}"
    if _GIVEN.search(rule):
        return f"is missing, and so is {' or '.join(others)}"
    if match := _ORDER.search(rule):
        return _disorder(spec, *match.groups())
    return f"breaks the rule {rule}"


def _disorder(spec: RawTable, left: str, sign: str, right: str) -> str:
    """`left sign right` is not so; the right one is a column or a number."""
    is_time = spec.columns[left].id == "timestamp with time zone"
    if right not in spec.columns:
        return f"is below {right}" if sign == ">=" else f"is not above {right}"
    before, after = ("before", "after") if is_time else ("below", "above")
    word = {">=": before, "<=": after, ">": f"not {after}"}[sign]
    return f"breaks the order: {left} is {word} {right}"
