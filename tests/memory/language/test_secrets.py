"""Secrets are found in a text, and what only looks like one is left alone."""

import time
import timeit

from hypothesis import given
from hypothesis import strategies as some

from agent_cli.memory.language import secrets
from tests.tables import columns, for_each, listed

PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\n-----END OPENSSH PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5NXgL0n3I9PlFUP0THsR8U"


@for_each(
    ("text", "masked"),
    [
        (f"here:\n{PEM}\nkeep it", "here:\n[masked: private key]\nkeep it"),
        (PEM.partition("-----END")[0].strip(), "[masked: private key]"),
        ("ghp_" + "a1B2" * 9, "[masked: API key]"),
        ("sk-ant-api03-AbCdEf0123456789abcdef", "[masked: API key]"),
        ("sk-proj-AbCdEf0123456789abcdef", "[masked: API key]"),
        (f"token: {JWT}", "token: [masked: token]"),
        *columns("""
        use AKIAIOSFODNN7EXAMPLE now → use [masked: API key] now
        github_pat_11ABCDEFG0abcdefghijkl_mnop → [masked: API key]
        glpat-abcDEF123456789012345. → [masked: API key]. | xoxb-123456789012-abcdefGHIJKL → [masked: API key]
        sk_live_4eC39HqLyjWDarjtT1zdp7dc → [masked: API key]
        AIzaSyA1234567890abcdefghijklmnopqrstuv → [masked: API key]
        npm_abcdefghijklmnopqrstuvwxyz0123456789 → [masked: API key]
        pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3ODktYWJjZC1lZmdo → [masked: API key]
        hf_abcdefghijABCDEFGHIJabcdefghijABCD → [masked: API key]
        Authorization: Bearer abcDEF123456789012345 → Authorization: Bearer [masked: token]
        API_KEY=abcd1234efgh5678 → API_KEY=[masked: API key]
        the api key is "abcd1234efgh5678" → the api key is "[masked: API key]"
        postgres://me:s3cret@db.example.org/x → postgres://me:[masked: password]@db.example.org/x
        my password is hunter2 → my password is [masked: password]
        The wifi password is: swordfish. → The wifi password is: [masked: password].
        the password for the router is Sommer2024! → the password for the router is [masked: password]
        Das Passwort ist geheim123! → Das Passwort ist [masked: password]
        Kennwort lautet „Rot Grün“. → Kennwort lautet „[masked: password]“.
        password=hunter2 user=me → password=[masked: password] user=me | My PIN is 1234. → My PIN is [masked: PIN].
        passphrase: correct horse battery staple → passphrase: [masked: password]
        card 4111 1111 1111 1111, please → card [masked: card number], please
        5555555555554444 → [masked: card number] | Amex 3782 822463 10005 → Amex [masked: card number]
        DE89 3704 0044 0532 0130 00 AND MORE → [masked: IBAN] AND MORE
        iban at611904300234573201 please → iban [masked: IBAN] please
        my number is 536-90-4399 → my number is [masked: ID number] | AHV 756.9217.0769.85 → AHV [masked: ID number]
        Sozialversicherungsnummer 1234 010180 → Sozialversicherungsnummer [masked: ID number]
        Meine Steuer-ID ist 36 574 261 809 übrigens → Meine Steuer-ID ist [masked: ID number] übrigens
        my passport number is P1234567 and mine → my passport number is [masked: ID number] and mine"""),
    ],
)
def test_a_secret_is_masked_and_nothing_else(text, masked):
    assert secrets.mask(text) == masked
    assert secrets.mask(masked) == masked


@for_each(
    "text",
    [
        "",
        *listed("""call me at +43 664 1234567 | 0316 123456 78 | 1-800-555-0199 | order 4111111111111111
        Bestellnummer: 4111 1111 1111 1111 | 1234 5678 9012 3456 | isbn 978-3-16-148410-0 | ISBN 9783161484100
        123e4567-e89b-12d3-a456-426614174000 | commit 9fceb02d0ae598e95dc970b74767f19372d61af8 | 192.168.1.12:8080
        2001:db8:85a3::8a2e:370:7334 | 1763700000000000 | imei 356938035643809 | the password is wrong
        the password is expired | Das Passwort ist abgelaufen | my password was changed
        I forgot my password, what is it? | the password for the router is on the back of it | secret is out
        the token is invalid | the key is under the flowerpot | sk-learn-tutorial-for-beginners-x
        https://example.com/a/long/path/to/somewhere?x=1 | the pin is in the drawer | GR86 is a car | 000-12-3456
        Donaudampfschifffahrtsgesellschaft | a passing thought is fine | 3.141592653589793
        git@github.com:me/thing.git | 2026-11-20T18:30:00+01:00 | token budget is 4096"""),
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(text):
    assert secrets.spans(text) == []


@given(some.text("ab. \n\t\u00a0", max_size=40), some.sampled_from(["", " ", "\n", "\u00a0"]))
def test_a_key_is_masked_wherever_it_stands(before, after):
    assert secrets.mask(f"{before} AKIAIOSFODNN7EXAMPLE{after}") == f"{before} [masked: API key]{after}"


@for_each("hidden", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u200e", "\u202a"])
def test_characters_that_nobody_sees_hide_no_secret(hidden):
    assert secrets.mask(f"ü AKIAIOSF{hidden}ODNN7{hidden}EXAMPLE it is") == "ü [masked: API key] it is"
    assert secrets.mask(f"my pass{hidden}word is hunter{hidden}22 ü") == f"my pass{hidden}word is [masked: password] ü"


def test_a_secret_cut_in_two_is_masked_in_both_pieces():
    text = "before AKIAIOSFODNN7EXAMPLE after"
    found = secrets.spans(text)
    assert secrets.mask_piece(text, found, 0, 12) == "before [masked: API key]"
    assert secrets.mask_piece(text, found, 12, 21) == "[masked: API key] after"
    assert secrets.mask_piece(text, found, 0, 6) == "before"
    assert secrets.mask_piece(text, found, 28, 5) == "after"


_PARTS = some.sampled_from(
    [
        *("\n", '"', " ", "PIN ", "password is ", "sk-", "-----BEGIN PRIVATE KEY-----"),
        *listed("""hunter2 | 4111111111111111 | : | AKIAIOSFODNN7EXAMPLE | DE89370400440532013000 | :// | @
        [masked: password] | ß | key= | abcd1234efgh5678"""),
    ]
)


@given(some.text() | some.lists(_PARTS).map("".join))
def test_spans_stand_in_order_and_apart_in_any_text(text):
    found = secrets.spans(text)
    edges = [edge for start, end, _ in found for edge in (start, end)]
    assert edges == sorted(edges)
    assert all(start < end <= len(text) for start, end, _ in found)


def test_an_ordinary_message_costs_next_to_nothing():
    text = "I went to the market with my sister on Sunday and we bought apples and pears for the cake that she bakes. "
    assert min(timeit.repeat(lambda: secrets.spans(text), number=1000, repeat=5)) / 1000 < 40e-6


def test_a_very_long_text_is_looked_through_in_reasonable_time():
    for text in ("a" * 300_000, "1 " * 150_000, "password is " * 20_000, "-----BEGIN PRIVATE KEY-----" * 2_000):
        assert timeit.timeit(lambda text=text: secrets.spans(text), timer=time.process_time, number=1) < 5
