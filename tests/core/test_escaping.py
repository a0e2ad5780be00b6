"""Names are shown so that none passes for another one, and nothing in them is obeyed."""

from __future__ import annotations

import pytest

from tensortap.core.text import escaped
from tensortap.storage.uri import without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe/λ", "größe/λ"),
        ("red\x1b[31m\u202e", "red\\x1b[31m\\u202e"),
        ("a\u3164b\u2800\uffa0\u115f\u034f", "a\\u3164b\\u2800\\uffa0\\u115f\\u034f"),
        ("a\u200db\u200cc\ufe0f", "a\\u200db\\u200cc\\ufe0f"),
        ("\u200d", "\\u200d"),
        ("葛\U000e0100\U000e0041", "葛\\U000e0100\\U000e0041"),
        ("❤\ufe0f\ufe0f\u200d", "❤\ufe0f\\ufe0f\\u200d"),
        ("\u2800\ufe0f", "\\u2800\\ufe0f"),
        # What is read with the help of such characters stays as it is.
        ("👩\u200d👧/🏴\u200d☠\ufe0f/1\ufe0f\u20e3/👍🏽", "👩\u200d👧/🏴\u200d☠\ufe0f/1\ufe0f\u20e3/👍🏽"),
        ("\u0645\u06cc\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648"),
        (
            "\u0915\u094d\u200d\u0937\u0915\u094d\u200c\u0937",
            "\u0915\u094d\u200d\u0937\u0915\u094d\u200c\u0937",
        ),
    ],
    ids=ascii,
)
def test_what_is_not_seen_is_written_out(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://me:p@ss@host/x", "https://host/x"),
        ("https://me:p@s@s@host/x?sig=1#y", "https://host/x"),
        ("s3://key:ab/c+d/e@bucket/logs", "s3://bucket/logs"),
        ("https://me:p?s#@host/x", "https://host/x"),
        ("zip://run::https://me:p/a@@s@host/x?y=1", "zip://run::https://host/x"),
        ("zip://run::https://me@host/x.zip?y=1::more", "zip://run::https://host/x.zip::more"),
        # `@` and `:` elsewhere are no password.
        ("https://localhost:80/a@b", "https://localhost:80/a@b"),
        ("https://10.0.0.1:80/a@b", "https://10.0.0.1:80/a@b"),
        ("https://[::1]:80/a@b", "https://[::1]:80/a@b"),
        ("s3://bucket/a@b/c:d", "s3://bucket/a@b/c:d"),
        ("zip://a::s3://b/c@d", "zip://a::s3://b/c@d"),
        ("zip://run::https://host:80/x.zip", "zip://run::https://host:80/x.zip"),
        # A password or a port: then rather too much is hidden.
        ("http://u:12/34@h", "http://…@h"),
        ("http://u:/34@h/x?y=1", "http://…@h/x"),
        ("s3://key:1/c+d/e@bucket/logs", "s3://…@bucket/logs"),
        ("https://host:80/x?sig=a@b", "https://…"),
        ("http://a[b:p/w@h", "http://h"),
        # Long ones take no longer than their length asks for (minutes, where each `://` looks at all behind).
        ("://a:b" * 150_000, "://a:b" * 150_000),
        ("://a:1/" * 150_000, "://a:1/" * 150_000),
    ],
    ids=lambda text: ascii(text[:40]),
)
def test_addresses_are_shown_without_secrets(address: str, shown: str) -> None:
    assert without_secrets(address) == shown
