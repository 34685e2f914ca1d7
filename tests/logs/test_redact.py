"""Secrets in the forms that shells, JSON and hostile text give them."""

import pytest

from goodput.logs.redact import redact, redactions


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("PGPASSWORD='hunter2 secretC' psql", "PGPASSWORD='[secret]' psql"),
        ('password: "hunter2 secretC", x', 'password: "[secret]", x'),
        ('{"api_key": "two words", "lr": 1}', '{"api_key": "[secret]", "lr": 1}'),
        (r"{\"token\": \"abcdefgh\"}", r'{\"token\": \"[secret]"}'),
        ("secret='cut off in the mid", "secret='[secret]"),
        ("password=hunter2secret while", "password=[secret] while"),
        ("token=" + "x" * 5000, "token=[secret]"),
        ("expected token: ')' here", "expected token: ')' here"),
    ],
)
def test_a_value_is_wholly_hidden(text, kept):
    assert redact(text) == kept
    assert redact(kept) == kept


@pytest.mark.parametrize("unseen", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e"])
def test_what_is_invisible_hides_no_secret(unseen):
    for text in (
        f"token{unseen}=abcdefgh1",
        f"tok{unseen}en=abcdefgh1",
        f"token={unseen}abcd{unseen}efgh1",
    ):
        assert redact(text) == "token=[secret]"


def test_text_without_secrets_keeps_what_is_invisible():
    assert redact("job \U0001f469\u200d\U0001f52c \u2764\ufe0f") == (
        "job \U0001f469\u200d\U0001f52c \u2764\ufe0f"
    )


@pytest.mark.parametrize(
    "text",
    [
        "TOKEN=abcdef123456",
        "\u017fecret=abcdef123456",  # the long s matches one in whatever case
        "to\u212aen: abcdef123456",  # the sign of Kelvin
        "mail ana@corp.example",
        "nothing of the kind",
        *(example["line"] for redaction in redactions() for example in redaction.examples),
    ],
)
def test_what_no_literal_hints_at_no_expression_finds(text):
    for redaction in redactions():
        has_match = redaction.regex.search(text) is not None
        assert (redaction.apply(text) != text) is has_match
