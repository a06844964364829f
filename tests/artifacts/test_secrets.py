import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts.contents import secrets

KEY = "sk-" + "a1" * 12


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("nothing here", []),
        ("API_KEY=x", ["api_key"]),
        ("apikey", ["api_key"]),
        ("Api-Key", ["api_key"]),
        ("api key", []),
        ("PassWord: x", ["password"]),
        ("a pass word", []),
        ("the Token", ["token"]),
        ("top secret", ["secret"]),
        ("-----BEGIN RSA PRIVATE KEY-----", ["private_key"]),
        ("-----BEGIN\nX-----", []),
        (KEY, ["model_key"]),
        ("sk-short", []),
        ("AKIA" + "A1B2" * 4, ["aws_key"]),
        ("xAKIA" + "A1B2" * 4, []),
        ("ghp_" + "a1B2c3D4e5" * 4, ["github_key"]),
        ("Authorization: Bearer abcdefghijklmnop.q", ["bearer"]),
        ("a bearer of news", []),
        ("秘密password秘密", ["password"]),
        ("xoxb-1234567890-abc", ["slack_key"]),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", ["jwt"]),
    ],
)
def test_hits_and_near_misses(text, kinds):
    assert secrets.find_kinds(text) == kinds


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_another_encoding_hides_nothing(encoding):
    assert secrets.find_kinds(f"my password is {KEY}".encode(encoding)) == ["password", "model_key"]
    assert secrets.find_kinds(b"x\0" + KEY.encode() + b"\0") == ["model_key"]


SAMPLES = ["-----BEGIN X PRIVATE KEY-----", "api_key", "my password is", KEY, "token", "\n", "x" * 50, "ghp_", "-----"]


@given(st.lists(st.sampled_from(SAMPLES), max_size=12), st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_a_border_between_chunks_hides_nothing(parts, sizes):
    data = "".join(parts).encode()
    scan, place = secrets.Scan(), 0
    for size in sizes:
        scan.feed(data[place : place + size])
        place += size
    scan.feed(data[place:])
    assert scan.kinds == secrets.find_kinds(data)


def test_bytes_that_are_no_text_are_scanned_as_well():
    assert secrets.find_kinds(b"\xff\0\xfepassword\xff") == ["password"]


def test_half_a_character_is_no_reason_to_fail():
    assert secrets.find_kinds("\ud800 secret") == ["secret"]
