"""Secrets in the forms that shells, JSON and hostile text give them."""

import pytest

from goodput.logs.redact import redact, redactions, without_case


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
    ("text", "kept"),
    [
        (r'{"\u0070assword": "hunter2"}', '{"password": "[secret]"}'),
        (r"password\u003dhunter2", "password=[secret]"),
        (r"password\\u003dhunter2", "password=[secret]"),
        (r"pass\x77ord=hunter2 \U00000070ass", "password=[secret] pass"),
        (r"password\u{3d}hunter2", "password=[secret]"),
        (r"pass\167ord\075hunter2", "password=[secret]"),
        (r"tok\u200ben=hunter2", "token=[secret]"),
        (r"\ud835\udc29assword=hunter2", "password=[secret]"),
        (r"https:\/\/ana:hunter2@db", "https://ana:[password]@db"),
        (r'\\\\"password\\\\": \\\\"hunter2\\\\"', '"password": "[secret]"'),
        ("password%3Dhunter2", "password=[secret]"),
        ("pass%77ord=hunter2", "password=[secret]"),
        ("pass%2577ord%25253Dhunter2", "password=[secret]"),
        ("pass%C2%ADword%EF%BC%9Dhunter2", "password=[secret]"),
        ("https%3A%2F%2Fana%3Ahunter2%40db", "https://ana:[password]@db"),
        ("GET /who?mail=ana%40corp.example", "GET /who?mail=[e-mail]"),
        ("&quot;password&quot;:&quot;hunter2", '"password":"[secret]'),
        ("&amp;quot;password&amp;quot;:&amp;quot;hunter2", '"password":"[secret]'),
        ("p&#97;ssword&#x3D;hunter2", "password=[secret]"),
        ("pass%5Cu0077ord=hunter2", "password=[secret]"),
        ("hf_abcdefghijklmnopqrstuv%41bcd", "[token]"),
        ("token=abcdef%20ghi%26jk", "token=[secret]"),
        ("a%20b token=abcdef", "a%20b token=[secret]"),
        (r"C:\users\x41 token=abcdef", r"C:\users\x41 token=[secret]"),
    ],
)
def test_what_is_escaped_hides_no_secret(text, kept):
    assert redact(text) == kept
    assert redact(kept) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44\uff1dhunter2", "password=[secret]"),
        ("password\uff1dhunter2", "password=[secret]"),
        ("\u24dfassword: hunter2", "password: [secret]"),
        ("\U0001d429assword=hunter2", "password=[secret]"),
        ("hf_abcdefghijklmnopqrstuv\uff21bcd", "[token]"),
        ("\uff15\uff10 steps… token=abcdef", "\uff15\uff10 steps… token=[secret]"),
    ],
)
def test_letters_that_look_alike_hide_no_secret(text, kept):
    assert redact(text) == kept
    assert redact(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "100%|██████████| 5/5 \uff15\uff10\uff05 done…",
        r"%00 %zz % %25 \ud800 \u \uzzzz \u{} \u{ffffff} \Uffffffff \x0",
        r"C:\temp &#0; &#9999999; &#xffffff; &x; &amp",
        "%ff%fe %25%ff \\\\\\\\" + "\\",
        "&#" + "1" * 5000,
        "\ud835 alone",
    ],
)
def test_escapes_that_hide_nothing_stay(text):
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "CLIP tokens: 512",
        "max_tokens=4096",
        "password policy changed",
        "tokenizer loaded",
        "secret/foo not found",
        'MountVolume.SetUp failed for volume "x" : secret "foo-bar" not found',
        "if token == self.eos_token_id:",
        "authorization: token",
        "--max-tokens 131072 --pass 2 --tokenizer llama-3.1",
        '{"name": "max_tokens", "value": "131072"}',
        "columns ['token', 'position'], (token, position)",
    ],
)
def test_words_that_only_sound_like_secrets_stay(text):
    assert redact(text) == text


@pytest.mark.parametrize(
    "kept", [example["gives"] for redaction in redactions() for example in redaction.examples]
)
def test_what_is_safe_stays_as_it_is(kept):
    assert redact(kept) == kept


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
        if redaction.regex.search(text):
            assert redaction.may_match(without_case(text))
