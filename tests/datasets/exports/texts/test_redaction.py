"""Markers and tokens: texts and arguments are redacted, and nothing else of them changes."""

import json
import random
import re

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from datasets import markers
from datasets.exports.files import encode_csv, encode_line
from datasets.exports.histories import truncate_text
from datasets.markers import TokenNumbers
from datasets.redaction import Place, Redactor, Rules
from findings.value_hash import compute_value_hash
from openclaw_web.detectors.detect import find_spans
from openclaw_web.detectors.spans import EMAIL, KEY, PHONE
from tests.suite.nightly import first

EMAILS = ["alice.meyer@firma-nord.de", "bob@vogel-partner.ch", "li.wei@qq.com"]
PHONES = ["+49 151 23456789", "+86 138 1234 5678", "+1 415 555 2671"]
KEYS = ["ghp_" + "a1B2c3D4e5F6" * 3, "AKIAQ7RT5XW2ZP4LKM3N"]
NUMBER = 13912345678
VALUES = [*EMAILS, *PHONES, *KEYS]
PRIVATE_USE = st.text(st.characters(min_codepoint=0xE000, max_codepoint=0xF8FF), max_size=20)


def build_redactor(**more):
    return Redactor(Rules(find_spans=more.pop("find_spans", find_spans), hash_value=compute_value_hash, **more))


def encode(text):
    """A text with tokens."""
    return TokenNumbers().encode(text.encode()).decode()


def build_value(rng, depth=0):
    """A value of JSON with values to redact, and with JSON in JSON."""
    kind = rng.random()
    if kind < 0.25 and depth < 4:
        names = ["phone", "note", "x", "a b", "邮箱", 'q"q']
        return {f"{rng.choice(names)}{n}": build_value(rng, depth + 1) for n in range(rng.randrange(4))}
    if kind < 0.45 and depth < 4:
        return [build_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind < 0.55 and depth < 3:
        return json.dumps(build_value(rng, depth + 1), ensure_ascii=rng.random() < 0.5)
    if kind < 0.65:
        return rng.choice([None, True, 0, -1.5, 1e300, 12345, NUMBER, 2**63, 0.1])
    words = [*VALUES, "hello", "行", '"', "\\", "\n", "\t", "/", "\ue000\ue123", "[EMAIL_1]", "é", "😀"]
    return rng.choice([" ", ", ", " – "]).join(rng.choices(words, k=rng.randrange(5)))


@pytest.mark.parametrize("count", first((500, 10_000)))
def test_many_arguments_stay_json_and_one_value_has_one_token(count):
    rng, redactor, bare, changed = random.Random(29), build_redactor(), 0, 0
    for _number in range(count):
        arguments = {"phone": NUMBER, "v": build_value(rng), "w": build_value(rng)}
        text = orjson.dumps(arguments).decode()
        spans = find_spans(text)
        parsed = orjson.dumps(redactor.redact_json(arguments)).decode()
        encoded = encode(redactor.redact(text))
        assert json.loads(encode(parsed)) == json.loads(encoded)
        assert_same_shape(arguments, json.loads(encoded))
        # A token that was there before is no other value's: without the values, both texts are the same.
        assert blank(text, spans) == without_quotes(TOKEN.sub("[]", encoded))
        tokens = [token for token in TOKEN.findall(encoded) if token != "[EMAIL_1]" or "[EMAIL_1]" not in text]
        assert len({*tokens}) == len({(span.kind, normalize(text[span.start : span.end])) for span in spans})
        bare += any(span.is_bare for span in spans)
        changed += bool(spans)
    assert min(bare, changed) > count / 2


TOKEN = re.compile(r"\[(?:EMAIL|PHONE|KEY)_\d+\]")


def blank(text, spans):
    """The text with `[]` in place of values, and of tokens that were there before."""
    parts, end = [], 0
    for span in spans:
        parts += [text[end : span.start], "[]"]
        end = span.end
    return without_quotes(TOKEN.sub("[]", "".join([*parts, text[end:]])))


def without_quotes(text):
    """The text without quotes around a blank: numbers had none."""
    return re.sub(r'\\*"\[\]\\*"', "[]", text)


def normalize(value):
    return re.sub(r"[^\w@.]", "", value)


def assert_same_shape(before, after):
    """Lists, objects and JSON in JSON are what they were."""
    if isinstance(before, dict):
        assert list(before) == list(after)
        for name, item in before.items():
            assert_same_shape(item, after[name])
    elif isinstance(before, list):
        for item, other in zip(before, after, strict=True):
            assert_same_shape(item, other)
    elif isinstance(before, str) and read_json(before) is not None:
        assert_same_shape(read_json(before), read_json(after))


def read_json(text):
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def test_the_same_value_has_the_same_token_within_a_row_and_rows_are_numbered_separately():
    redactor = build_redactor()
    first = redactor.redact(f"Write to {EMAILS[0]} or {EMAILS[1]}, not {EMAILS[0]}. Call {PHONES[0]}.")
    assert encode(first) == "Write to [EMAIL_1] or [EMAIL_2], not [EMAIL_1]. Call [PHONE_1]."
    assert encode(redactor.redact(f"Only {EMAILS[1]}")) == "Only [EMAIL_1]"


def test_spellings_of_one_value_are_one_value():
    text = f'{{"phone": "+49 151 23456789", "mobile": "+4915123456789", "mail": "{EMAILS[0].upper()}, {EMAILS[0]}"}}'
    encoded = json.loads(encode(build_redactor().redact(text)))
    assert encoded == {"phone": "[PHONE_1]", "mobile": "[PHONE_1]", "mail": "[EMAIL_1], [EMAIL_1]"}


def test_names_that_become_the_same_are_told_apart():
    value = {EMAILS[0]: 1, EMAILS[0].upper(): 2}
    assert json.loads(encode(orjson.dumps(build_redactor().redact_json(value)).decode())) == {
        "[EMAIL_1]": 1,
        "[EMAIL_1] (2)": 2,
    }


def test_a_token_that_somebody_wrote_is_no_other_value():
    text = build_redactor().redact(f"[EMAIL_1] is what we write for {EMAILS[0]}")
    assert encode(text) == "[EMAIL_1] is what we write for [EMAIL_2]"


@settings(max_examples=300, deadline=None)
@given(PRIVATE_USE)
@example("\ue000\ue001" * 9)
def test_private_use_characters_of_a_text_are_no_markers(text):
    assert encode(build_redactor().redact(text)) == text


def test_bare_numbers_become_strings_as_deep_as_they_stand():
    inner = json.dumps({"phone": NUMBER, "n": 1})
    value = {"phone": NUMBER, "inner": inner, "deep": json.dumps({"again": inner})}
    read = json.loads(encode(build_redactor().redact(json.dumps(value))))
    assert read["phone"] == json.loads(read["inner"])["phone"] == "[PHONE_1]"
    assert json.loads(json.loads(read["deep"])["again"]) == {"phone": "[PHONE_1]", "n": 1}


def test_added_values_are_replaced_wherever_they_stand_whole_numbers_too():
    redactor = build_redactor(added=[("custom", "Project Nightjar"), ("custom", "4711"), ("custom", 'say "x"')])
    value = {"a": 'Project Nightjar says say "x"', "n": 4711, "m": [14711.5, "4711"], "j": json.dumps({"n": 4711})}
    read = json.loads(encode(redactor.redact(json.dumps(value))))
    assert read["a"] == "[CUSTOM_1] says [CUSTOM_2]"
    assert read["n"] == read["m"][1] == "[CUSTOM_3]" == json.loads(read["j"])["n"]
    assert read["m"][0] == "[CUSTOM_3]"  # the whole number: a part of a value is never left over
    assert encode(redactor.redact(f"mail Project Nightjar@{EMAILS[0]}")).count("Nightjar") == 0


def test_added_values_are_found_in_any_case_and_ten_thousand_of_them():
    added = [("custom", f"Project Nr {number} Größe") for number in range(10_000)]
    redactor = build_redactor(find_spans=lambda text: [], added=added)
    text = "İ \ud800 PROJECT NR 77 GRÖßE, project nr 77 größe and project nr 77"
    assert encode(redactor.redact(text).replace("\ud800", "?")) == "İ ? [CUSTOM_1], [CUSTOM_1] and project nr 77"


def test_an_added_value_around_a_found_one_is_one_token():
    redactor = build_redactor(added=[("custom", f"Alice <{EMAILS[0]}>")])
    assert encode(redactor.redact(f"to Alice <{EMAILS[0]}> now")) == "to [CUSTOM_1] now"


def test_dismissed_values_stay_in_their_place_and_kept_kinds_everywhere():
    def find_state(_kind, _rule, value_hash, place):
        is_dismissed = value_hash == compute_value_hash(EMAIL, EMAILS[0]) and place.name == "record:s1/1"
        return "dismissed" if is_dismissed else "open"

    redactor = build_redactor(find_state=find_state)
    assert redactor.redact(EMAILS[0], Place("ada", "record:s1/1")) == EMAILS[0]
    assert encode(redactor.redact(EMAILS[0], Place("ada", "record:s1/2"))) == "[EMAIL_1]"
    assert encode(build_redactor(exempt=frozenset({EMAIL})).redact(f"{EMAILS[0]} {KEYS[0]}")) == f"{EMAILS[0]} [KEY_1]"


def test_open_keys_are_known_in_a_line_and_confirmed_ones_are_redacted_only():
    states = iter(["open", "confirmed"])
    redactor = build_redactor(find_state=lambda *_place: next(states))
    is_open = [markers.has_open(redactor.redact(KEYS[0]).encode()) for _number in range(2)]
    assert is_open == [True, False]
    assert not markers.has_open(build_redactor().redact(f"{EMAILS[0]} {PHONES[0]}").encode())


def test_no_cut_divides_a_marker():
    text = build_redactor().redact(f"{'x' * 300} {EMAILS[0]} {'y' * 300}")
    for length in range(250, 420):
        assert not re.search("[\ue000-\uf8ff]", encode(truncate_text(text, length)))


def test_lines_and_tables_have_tokens_and_say_what_was_done():
    redact = build_redactor().redact
    row = {"instruction": redact(f"mail {EMAILS[0]}"), "output": redact(f"{PHONES[0]}, {EMAILS[0]}"), "n": ""}
    expected = {"instruction": "mail [EMAIL_1]", "output": "[PHONE_1], [EMAIL_1]", "n": ""}
    for write in (encode_line, encode_csv):
        numbers = TokenNumbers()
        line, read, done = write(row, frozenset(), numbers)
        assert (read, set(done)) == (expected, {"redacted"})
        assert numbers.places == {EMAIL: 2, PHONE: 1} and b"firma" not in line
    assert encode_line({"a": redact(KEYS[0])}, frozenset())[2] == {"redacted", "open_findings"}
    assert encode_line({"a": "plain"}, frozenset())[1:] == ({"a": "plain"}, frozenset())


def test_a_finder_that_cuts_json_loses_no_argument():
    def find_all(text):
        return [span._replace(start=0, end=len(text)) for span in find_spans(text)[:1]]

    redacted = build_redactor(find_spans=find_all).redact_json({"a": EMAILS[0], "b": [1, KEYS[0]]})
    assert json.loads(encode(orjson.dumps(redacted).decode())) == {"a": "[EMAIL_1]", "b": [1, "[KEY_1]"]}
    assert KEY
