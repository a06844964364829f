import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts.contents import secrets

KEY = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2"


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
        ("sk-" + "a1" * 12, []),
        ("AKIA" + "Z7QX3B9KLM2NP4RT", ["aws_key"]),
        ("AKIA" + "IOSFODNN7EXAMPLE", []),
        ("xAKIA" + "Z7QX3B9KLM2NP4RT", []),
        ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", ["github_key"]),
        ("glpat-" + "x7Kq2mP9sL4vT8wZ1cRb", ["other_key"]),
        ("Authorization: Bearer q7Kz2mP9sL4vT8wZ.q", ["bearer"]),
        ("Authorization: Bearer abcdefghijklmnop.q", []),
        ("a bearer of news", []),
        ("秘密password秘密", ["password"]),
        ("xoxb-" + "4837261950-aZ3kQ9vLm2", ["slack_key"]),
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


@pytest.mark.parametrize("place", [16_384, 20_480, 32_768, 1_048_576])
@pytest.mark.parametrize("before", [0, 5, len(KEY), 200])
def test_a_border_between_windows_hides_no_key(place, before):
    filling = b"plain words "
    text = (filling * (place // len(filling) + 1))[: place - before] + f" {KEY} ".encode() + filling * 2_000
    assert secrets.find_kinds(text) == ["model_key"]
    scan = secrets.Scan()
    for start in range(0, len(text), 70_001):
        scan.feed(text[start : start + 70_001])
    assert scan.kinds == ["model_key"]


def test_a_long_list_of_candidates_may_hold_any_key():
    assert secrets.find_kinds(b"bot abcdefghijklmnopqrst\n" * 400_000) == ["other_key"]


def test_bytes_that_are_no_text_are_scanned_as_well():
    assert secrets.find_kinds(b"\xff\0\xfepassword\xff") == ["password"]


def test_half_a_character_is_no_reason_to_fail():
    assert secrets.find_kinds("\ud800 secret") == ["secret"]
