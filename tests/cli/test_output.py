"""How numbers stand in tables."""

import pytest

from goodput.cli.output import shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1 / 3, "0.333333"),
        (25026100.4, "25026100"),
        (-250261.5, "-250262"),
        (99999.96, "100000"),
        (0.00012345678, "0.000123457"),
        (-0.0000012, "-0.0000012"),
        # beyond what anybody reads digit by digit
        (1e20, "1e+20"),
        (1e-13, "1e-13"),
    ],
)
def test_numbers_of_tables_have_no_exponent(value, text):
    assert shown(value) == text
