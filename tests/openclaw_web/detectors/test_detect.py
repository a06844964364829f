"""Findings in texts, in JSON and in JSON within JSON; offsets, overlaps and bad input."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw_web.detectors.custom_patterns import compile_patterns
from openclaw_web.detectors.detect import find_spans, find_spans_in_value
from openclaw_web.detectors.spans import BLOCKING, KINDS
from tests.suite.nightly import first

KEY = "sk-ant-api03-Zk3vQ9xTr7LmWp2YbN8cHd5JfGs1Ae6Uo4Ri0"
PEM = (
    "-----BEGIN PRIVATE KEY-----\n" + "Zk3vQ9xTr7LmWp2YbN8cHd5JfGs1Ae6Uo4Ri0KtXwVq\n" * 3 + "-----END PRIVATE KEY-----"
)
PIECES = [
    *(
        "bob@acme.io",
        KEY,
        PEM,
        "call +1 646 738 2914",
        "password=Tr0ub4dor&91",
        "密码：zs@88Kpq",
        "13812345678",
        "47.98.113.24",
    ),
    *(
        "4539 8685 5118 0492",
        '{"password": "x9y8z7Q"}',
        '"token": "aB3dE5fG7hJ9kL1m"',
        "[13812345678]",
        "password is Regen44!x",
    ),
    *(
        "plain",
        " ",
        "a\\b",
        '"',
        "\\",
        "\n\t",
        "\ud800",
        "\udc00",
        "\0",
        "\x01",
        "é😀",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\\u0041",
        "'",
        "`",
    ),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
NAMES = st.one_of(st.sampled_from(["password", "phone", "密码", "token", 'card "x"', "a", "bob@acme.io"]), TEXTS)
NUMBERS = st.sampled_from([13812345678, 4539868551180492, 83920174, 0, -5, 1.5, 1e20])
LEAVES = st.one_of(TEXTS, NUMBERS, st.none(), st.booleans())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(NAMES, inner, max_size=3),
        inner.map(json.dumps),
        inner.map(lambda value: json.dumps(value, ensure_ascii=False)),
    ),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)
CUSTOM = compile_patterns(["[a-z]{2}[^z]{0,30}[0-9]{3}", "12345", '"[a-z]+"'])


def find_texts(text, custom=None):
    return [(span.kind, text[span.start : span.end]) for span in find_spans(text, custom)]


def replace_spans(text, spans):
    pieces, place = [], 0
    for span in spans:
        token = f"{span.quote}TOKEN_1{span.quote}" if span.is_bare else "TOKEN_1"
        pieces += [text[place : span.start], token]
        place = span.end
    return "".join([*pieces, text[place:]])


def compare(before, after):
    """Compare two values that differ in tokens only; nested JSON still parses."""
    if isinstance(before, dict):
        assert len(after) == len(before) or "TOKEN_1" in str(after)  # names that become the same token
        for name in before.keys() & after.keys():
            compare(before[name], after[name])
    elif isinstance(before, list):
        assert len(after) == len(before)
        for first, second in zip(before, after, strict=True):
            compare(first, second)
    elif isinstance(before, str):
        assert isinstance(after, str)
        compare_nested(before, after)
    else:
        assert after == before or after == "TOKEN_1"


def compare_nested(before, after):
    if before[:1] not in ("{", "[") or after == "TOKEN_1":
        return  # a password may look like JSON
    try:
        inner = json.loads(before)
    except ValueError:
        return
    compare(inner, json.loads(after))


def check_arguments(arguments, ascii_only, custom):
    """Whether arguments parse with a token for each finding, and differ nowhere else."""
    text = json.dumps(arguments, ensure_ascii=ascii_only)
    spans = find_spans(text, custom)
    check_order(text, spans)
    compare(arguments, json.loads(replace_spans(text, spans)))


def choose_object(chance, depth):
    """Random arguments of a call: the same for the same generator."""
    return {choose_text(chance): choose_value(chance, depth) for _ in range(chance.randint(1, 4))}


def choose_value(chance, depth):
    kind = chance.random()
    if depth and kind < 0.3:
        return choose_object(chance, depth - 1)
    if depth and kind < 0.45:
        return [choose_value(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    if depth and kind < 0.6:
        return json.dumps(choose_value(chance, depth - 1), ensure_ascii=chance.random() < 0.5)
    if kind < 0.7:
        return chance.choice([13812345678, 4539868551180492, 83920174, 0, -5, 1.5, True, None])
    return choose_text(chance)


def choose_text(chance):
    names = ["password", "phone", "密码", "token", "a"]
    return "".join(chance.choice(PIECES if chance.random() < 0.7 else names) for _ in range(chance.randint(0, 4)))


def check_order(text, spans):
    place = 0
    for span in spans:
        assert place <= span.start < span.end <= len(text)
        assert span.kind in KINDS and 0 < span.confidence <= 1
        place = span.end


class TestProperties:
    @settings(max_examples=300)
    @given(st.one_of(TEXTS, st.text()))
    def test_spans_are_sorted_disjoint_and_in_range(self, text):
        check_order(text, find_spans(text))
        check_order(text, find_spans(text, CUSTOM))

    @settings(max_examples=300, deadline=None)
    @given(ARGUMENTS, st.booleans(), st.booleans())
    def test_arguments_parse_after_every_span_is_a_token(self, arguments, ascii_only, has_custom):
        check_arguments(arguments, ascii_only, CUSTOM if has_custom else None)

    @pytest.mark.parametrize("count", first((500, 10_000)))
    def test_many_arguments_parse_afterwards(self, count):
        for number in range(count):
            chance = random.Random(number)
            check_arguments(choose_object(chance, 3), chance.random() < 0.5, CUSTOM if number % 4 == 0 else None)

    @settings(max_examples=300)
    @given(VALUES)
    def test_paths_of_a_value_lead_to_its_leaves(self, value):
        for path, span in find_spans_in_value(value):
            leaf = follow(value, path)
            check_order(leaf if isinstance(leaf, str) else str(leaf), [span])
            assert span.is_bare or isinstance(leaf, str)


def follow(value, path):
    """The leaf at a path of `find_spans_in_value`, found without it."""
    stack = [("$", value)]
    while stack:
        name, part = stack.pop()
        if name == path and not isinstance(part, dict | list):
            return part
        if isinstance(part, dict):
            stack += [(join(name, key), child) for key, child in part.items()]
        elif isinstance(part, list):
            stack += [(f"{name}[{place}]", child) for place, child in enumerate(part)]
    raise AssertionError(path)


def join(path, key):
    if key.isascii() and key.isidentifier():
        return f"{path}.{key}"
    return path + "['" + key.replace("\\", "\\\\").replace("'", "\\'") + "']"


class TestKinds:
    @pytest.mark.parametrize(
        ("text", "findings"),
        [
            (f"把密钥换成 {KEY}，再试", [("key", KEY)]),
            ("hf_rTEtqKs3w7NYxB4eEu3wEvd1cBGMwa3iOL你好", [("key", "hf_rTEtqKs3w7NYxB4eEu3wEvd1cBGMwa3iOL")]),
            ("x\nAKIAIOSFODNN7EXAMPLE", []),
            ("password = os.environ['X']; max_tokens: 4096; the token count is 512", []),
            ("密码：zs@88Kpq，勿传", [("password", "zs@88Kpq")]),
            ("postgres://app:nW4x8Lr2@db.internal/x", [("password", "nW4x8Lr2")]),
            ("Authorization: Basic ZGVwbG95Ok5hY2h0N1p1Zw==", [("password", "ZGVwbG95Ok5hY2h0N1p1Zw==")]),
            ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", []),
            (f"key:\n{PEM}\nend", [("private_key", PEM)]),
            ("4539 8685 5118 0492 and 4539 8685 5118 0493", [("card", "4539 8685 5118 0492")]),
            ("DE58 3704 0044 0612 2150 01", [("iban", "DE58 3704 0044 0612 2150 01")]),
            ("身份证号：110105198704135982", [("id_number", "110105198704135982")]),
            ("10.0.0.5, 127.0.0.1, 203.0.113.7, 78.47.216.133", [("ip_address", "78.47.216.133")]),
            ("version 120.45.3.9 of Chrome/131.0.6.85", []),
            ("mail user@example.com or git@github.com:a/b", []),
            ("alice.meyer@firma-nord.de.md, logo@2x.png, a@b.min.md", [("email", "alice.meyer@firma-nord.de")]),
            ("size 13800138000 bytes; 打13800138000找我", [("phone", "13800138000")]),
            (
                '{"phone": 4915123456789, "手机": "4915123456788"}',
                [("phone", "4915123456789"), ("phone", "4915123456788")],
            ),
            ("agent:main:whatsapp:direct:4915123456789", [("phone", "4915123456789")]),
            ('{"phone": 1732012345678} phone call 4915123456789', []),  # a time; a verb says less than a noun
            (
                "mail x＠firma-nord.de or ｊｏ＠ｆｉｒｍａ．ｄｅ",
                [("email", "x＠firma-nord.de"), ("email", "ｊｏ＠ｆｉｒｍａ．ｄｅ")],
            ),
        ],
    )
    def test_texts(self, text, findings):
        assert find_texts(text) == findings

    @pytest.mark.parametrize("key", ["ghp_" + "a1B2c3D4e5F6" * 3, KEY])
    def test_a_finding_that_gives_way_hides_no_other(self, key):
        text = f'{{"password": "alice.meyer@firma-nord.de {key}"}}'
        assert find_texts(text) == [("email", "alice.meyer@firma-nord.de"), ("key", key)]

    def test_open_keys_and_passwords_block(self):
        assert {"key", "password"} == BLOCKING


class TestJson:
    def test_the_name_of_a_key_makes_its_value_a_finding(self):
        text = '{"user": "kai", "password": "kupfer-Dach-31", "max_tokens": 4096}'
        assert find_texts(text) == [("password", "kupfer-Dach-31")]

    def test_a_name_with_escapes_does_too(self):
        assert find_texts('{"\\u5bc6\\u7801": "Qingdao2031"}') == [("password", "Qingdao2031")]

    def test_an_escape_is_never_cut(self):
        assert find_texts('{"note": "mail bob\\u0040acme.io\\n"}') == [("email", "bob\\u0040acme.io")]

    @pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
    def test_json_in_json(self, depth):
        text = json.dumps({"passwd": "7Uhr-Zug-nach-Ulm", "key": PEM})
        for _ in range(depth):
            text = json.dumps({"payload": text})
        spans = find_spans(text)
        assert [span.kind for span in spans] == ["password", "private_key"]
        value = json.loads(replace_spans(text, spans))
        for _ in range(depth):
            value = json.loads(value["payload"])
        assert value == {"passwd": "TOKEN_1", "key": "TOKEN_1"}

    def test_a_bare_number_says_how_it_becomes_a_string(self):
        (span,) = find_spans('{"phone": 13370918254}')
        assert (span.kind, span.is_bare, span.quote) == ("phone", True, '"')
        text = json.dumps({"body": json.dumps({"phone": 13370918254})})
        (span,) = find_spans(text)
        assert span.quote == '\\"'
        assert json.loads(json.loads(replace_spans(text, [span]))["body"]) == {"phone": "TOKEN_1"}

    def test_json_within_prose(self):
        assert find_texts('I sent {"password": "ab\\"cd12"} to it') == [("password", 'ab\\"cd12')]

    def test_escapes_outside_of_json(self):
        assert find_texts(f"export A=1\\n{KEY}\\nB=2") == [("key", KEY)]

    def test_a_value_gives_paths_and_bare_numbers(self):
        value = {"a": [{"password": "hunter22"}, {"phone": 13812345678}], "it's": "bob@acme.io"}
        findings = [(path, span.kind, span.start, span.end, span.is_bare) for path, span in find_spans_in_value(value)]
        assert findings == [
            ("$.a[0].password", "password", 0, 8, False),
            ("$.a[1].phone", "phone", 0, 11, True),
            ("$['it\\'s']", "email", 0, 11, False),
        ]


class TestBadInput:
    @pytest.mark.parametrize("filler", ["\ud800", "\0", "\x01", "😀", "\ufffd", "中"])
    def test_offsets_stay_right(self, filler):
        text = f"{filler} a{filler} bob@acme.io {filler}"
        assert find_texts(text) == [("email", "bob@acme.io")]

    # Each is quadratic, or worse, for patterns that look ahead to an end or start again at every character.
    @pytest.mark.parametrize(
        "piece",
        [
            *(
                "1234567890",
                "1 ",
                "1.",
                "4111 ",
                "2a:",
                "+1 ",
                "-----BEGIN",
                "-----BEGIN PRIVATE KEY-----",
                '"',
                "\\",
                '\\"',
            ),
            *(':"', '{"\\n":', "password=", "password: ", "a://b:c", "a@", "eyJ", "sk-ant-", "[", " ", "\0", "phone "),
            *('{"a":"\\n",', "密码是", "[13812345678,", "\\ud800", "Bearer "),
        ],
    )
    def test_long_repetitions_end(self, piece):
        text = piece * (200_000 // len(piece))
        check_order(text, find_spans(text))

    def test_a_part_of_another_value_is_found_with_it(self):
        text = "password: bob@acme.io!9 and bob@acme.io"
        assert find_texts(text) == [("password", "bob@acme.io!9"), ("email", "bob@acme.io")]
