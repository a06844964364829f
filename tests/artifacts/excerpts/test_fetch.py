"""Answers are bounded, always the same, and say what they leave out."""

import json
import random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts import services
from artifacts.excerpts import content_fetch, jsonpaths, previews, text_windows
from artifacts.excerpts.content_fetch import select_lines
from artifacts.excerpts.selectors import Selector
from openclaw_web.errors import Refused
from people.models.bookkeeping import AuditEntry

pytestmark = pytest.mark.django_db
DB = "agent_ada"
NUMBERS = "".join(f"{number}\n" for number in range(1, 20_001))

texts = st.text(st.sampled_from("ab\n\r é漢😀\ufffd"), max_size=400)
cuts = st.lists(st.integers(0, 60), max_size=12)


def split_text(text, sizes):
    for size in sizes:
        yield text[:size]
        text = text[size:]
    yield text


def stash(content, **options):
    return services.stash(DB, content, **options)[0].handle


def fetch(handle, **selector):
    return content_fetch.fetch(DB, handle, Selector(**selector))


def test_it_works(root):
    answer = fetch(stash(NUMBERS), max_chars=200)
    assert answer.text.startswith("1\n2\n")
    assert answer.text.endswith("20000\n")
    assert len(answer.text) == 200
    receipt = answer.as_receipt()
    assert receipt["leftOut"] == {
        "between": {"chars": len(NUMBERS) - 195, "lines": 20_000 - receipt["text"].count("\n") + 2}
    }
    assert receipt["next"] == {"mode": "head", "maxChars": 200, "offset": 97}
    assert receipt == fetch(stash(NUMBERS), max_chars=200).as_receipt()


@given(texts, cuts, st.integers(1, 80))
def test_both_ends_are_bounded_and_add_up(text, sizes, cap):
    window = text_windows.read_both_ends(split_text(text, sizes), cap)
    assert len(window.text) <= cap
    if len(text) <= cap:
        assert window.text == text
        return
    first, last = previews.split_cap(cap)
    omitted = window.between if last else window.after
    hidden = text[first : len(text) - last]
    assert (omitted.chars, omitted.lines) == (len(hidden), hidden.count("\n"))
    assert window.text == (text[:first] + previews.GAP + text[-last:] if last else text[:first])


@given(texts, cuts, st.integers(1, 80))
def test_the_end_is_bounded_and_adds_up(text, sizes, cap):
    window = text_windows.read_last(split_text(text, sizes), cap)
    assert window.text == text[-cap:]
    hidden = text[: len(text) - len(window.text)]
    assert (window.before.chars, window.before.lines) == (len(hidden), hidden.count("\n"))


@given(texts, cuts, st.integers(0, 450), st.integers(1, 80), st.booleans())
def test_a_window_is_bounded_and_adds_up(text, sizes, offset, cap, at_line):
    window = text_windows.read_from_offset(split_text(text, sizes), offset, cap, at_line=at_line)
    assert len(window.text) <= cap
    before, after = text[:offset], text[offset + len(window.text) :]
    assert (window.before.chars, window.before.lines) == (len(before), before.count("\n"))
    assert (window.after.chars, window.after.lines) == (len(after), after.count("\n"))
    assert window.text == text[offset : offset + len(window.text)]
    assert window.text or not after


def test_what_is_cut_off_after_the_last_whole_line_is_left_out():
    window = text_windows.read_from_offset(["ab\ncd", "ef"], 0, 5, at_line=True)
    assert (window.text, window.after.chars, window.after.lines) == ("ab\n", 4, 0)


@given(texts, cuts, st.integers(1, 12), st.none() | st.integers(0, 12))
def test_lines_are_those_that_were_asked_for(text, sizes, first, more):
    last = None if more is None else first + more
    expected = text.split("\n")[first - 1 : last]
    got = "".join(select_lines(split_text(text, sizes), first, last))
    assert got.removesuffix("\n") == "\n".join(expected).removesuffix("\n")


@given(st.binary(max_size=300) | texts.map(str.encode), st.integers(1, 60))
def test_the_aligned_end_is_the_end_of_the_whole(data, count):
    end = data[-4 * count - 8 :]
    aligned = previews.decode_tail(end) if len(data) > len(end) else end.decode("utf-8", "replace")
    assert aligned[-count:] == data.decode("utf-8", "replace")[-count:]


@pytest.mark.parametrize(
    "selector",
    [
        {"mode": "head"},
        {"mode": "range", "lines": "100:900"},
        {"mode": "grep", "pattern": "7"},
        {"mode": "grep", "pattern": "99$", "context": 2},
    ],
)
@pytest.mark.parametrize("is_compressed", [False, True])
def test_following_next_gives_everything_once(root, selector, is_compressed):
    handle = stash(NUMBERS, is_compressed=is_compressed)
    whole = fetch(handle, **selector, max_chars=8000)
    pieces, next_selector = [], Selector(**selector, max_chars=1999)
    while next_selector and len(pieces) < 500:
        answer = content_fetch.fetch(DB, handle, next_selector)
        pieces.append(answer.text)
        next_selector = answer.next
    assert "".join(pieces).startswith(whole.text)
    if selector["mode"] == "head":
        assert "".join(pieces) == NUMBERS


def test_what_comes_before_a_tail_can_be_had(root):
    handle = stash(NUMBERS)
    tail = fetch(handle, mode="tail", max_chars=100)
    before = content_fetch.fetch(DB, handle, tail.next)
    assert before.text + tail.text == NUMBERS[-200:]


@pytest.mark.parametrize("mode", ["headtail", "head", "tail"])
@pytest.mark.parametrize("cap", [1, 7, 8, 100, 3000])
@pytest.mark.parametrize("text", ["漢字😀é\n" * 3000, NUMBERS])
def test_the_ends_of_a_long_blob_are_those_of_a_short_one(root, monkeypatch, text, mode, cap):
    handle = stash(text)
    whole = fetch(handle, mode=mode, max_chars=cap)
    monkeypatch.setattr(content_fetch, "WHOLE_BYTES", 10)
    ends = fetch(handle, mode=mode, max_chars=cap)
    assert (whole.verified, ends.verified) == ("sha256", "size")
    assert (ends.window, ends.next) == (whole.window, whole.next)


def test_lines_by_number(root):
    handle = stash(NUMBERS)
    assert fetch(handle, mode="range", lines="3:5").text == "3\n4\n5\n"
    assert fetch(handle, mode="range", lines="7").text == "7\n"
    assert fetch(handle, mode="range", lines="19999:").text == "19999\n20000\n"
    assert fetch(handle, mode="range", lines=":2").text == "1\n2\n"
    assert fetch(handle, mode="range", lines="30000:").text == ""


def test_lines_that_match(root):
    answer = fetch(stash(NUMBERS), mode="grep", pattern="^(123|19999)$", context=1)
    assert answer.text == "122-122\n123:123\n124-124\n--\n19998-19998\n19999:19999\n20000-20000\n"
    assert answer.counts == {"matches": 2, "longLinesCut": 0}


def grep_slowly(text, word, context):
    lines = text.split("\n")
    lines = lines[:-1] if text.endswith("\n") else lines
    hits = [number for number, line in enumerate(lines) if word in line] if text else []
    line_numbers = sorted(
        {near for hit in hits for near in range(hit - context, hit + context + 1) if 0 <= near < len(lines)}
    )
    out, last = [], None
    for number in line_numbers:
        if context and last is not None and number > last + 1:
            out.append("--\n")
        out.append(f"{number + 1}{':' if number in hits else '-'}{lines[number]}\n")
        last = number
    return "".join(out)


@given(st.text(st.sampled_from("abx\n"), max_size=300), st.integers(0, 3), st.lists(st.integers(1, 40), max_size=10))
def test_grep_finds_what_a_slow_one_finds(text, context, sizes):
    from artifacts.excerpts import line_search

    search = Selector(mode="grep", pattern="x", context=context).grep()
    chunks = [piece.encode() for piece in split_text(text, sizes)]
    assert "".join(search.pieces(chunks)) == grep_slowly(text, "x", context)
    assert isinstance(search, line_search.Grep)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("", None, None),
        ("(", None, None),
        ("(?=x)", None, None),
        (r"(a)\1", None, None),
        ("a)|(b", None, None),
        (r"a\C*b|a", None, None),  # would cross the end of every line
        (r"(\\\C)", None, None),
        (r"\\C", "a\\C\n", "1:a\\C\n"),
        ("\ud800", None, None),
        ("x" * 501, None, None),
        ("^$", "a\n\nb\n", "2:\n"),
        ("a\\s*b", "a\nb\nab\n", "3:ab\n"),
        ("[^x]b", "\nb\nab\n", "3:ab\n"),
        ("A", "a\nA\n", "2:A\n"),
        ("$", "a\nb", "1:a\n2:b\n"),
        ("é", "caf\u00e9\n", "1:café\n"),
        ("a", "a\r\nb\r\n", "1:a\n"),
    ],
)
def test_patterns(root, pattern, text, expected):
    handle = stash(text or "nothing")
    if expected is None:
        with pytest.raises(Refused):
            fetch(handle, mode="grep", pattern=pattern)
    else:
        assert fetch(handle, mode="grep", pattern=pattern).text == expected


def test_a_long_line_is_shown_around_what_matched(root):
    answer = fetch(stash("a" * 5000 + "needle" + "b" * 3_000_000), mode="grep", pattern="needle")
    assert "needle" in answer.text
    assert len(answer.text) < 500
    assert answer.counts["longLinesCut"] == 1


DOCUMENT = {"items": [{"id": n, "名": f"n{n}", "tags": ["a", "b"]} for n in range(50)], "total": 50}


@pytest.mark.parametrize(
    ("path", "matches", "text"),
    [
        ("$.total", 1, "$['total']  50\n"),
        ("$.items[2]['名']", 1, "$['items'][2]['名']  \"n2\"\n"),
        ("$.items[?@.id == 7].tags", 1, "$['items'][7]['tags']  [\"a\",\"b\"]\n"),
        ("$.items[?match(@['名'], 'n4.')].id", 10, "$['items'][40]['id']  40\n"),
        ("$.items[?search(@['名'], '^n49')].id", 1, "$['items'][49]['id']  49\n"),
        ("$.items[?search(@['名'], '(?=x)')].id", 0, ""),
        ("$.nothing", 0, ""),
        ("$..id", 50, "$['items'][0]['id']  0\n"),
    ],
)
def test_values_by_path(root, path, matches, text):
    answer = fetch(stash(json.dumps(DOCUMENT, ensure_ascii=False)), mode="jsonpath", path=path)
    assert answer.counts == {"matches": matches}
    assert answer.text.startswith(text)


@pytest.mark.parametrize(
    "path", ["", "items", "$[", "$.a[", "$..", "$" + "[0]" * 400, "$[?" + "(" * 200 + "]", "x" * 501]
)
def test_what_is_no_path(root, path):
    handle = stash("[1]")
    with pytest.raises(Refused):
        fetch(handle, mode="jsonpath", path=path)


@pytest.mark.parametrize(
    "path", ["$..*..*..*..*..*", "$" + "[*,*,*]" * 40, "$..[?@..a]..[?@..b]", "$..[?count(@..*) > 1000]..*"]
)
def test_a_path_that_is_too_much_work_is_refused(root, monkeypatch, path):
    monkeypatch.setattr(jsonpaths, "MAX_VISITS", 200_000)
    handle = stash(json.dumps([[[[[[[n] * 3] * 3] * 3] * 3] * 10] * 10 for n in range(10)]))
    with pytest.raises(Refused, match="too many"):
        fetch(handle, mode="jsonpath", path=path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.." + "[" + ",".join("0" * 100) + "]", [[[["x" * 1_000_000]]]]),
        ("$.l[?search($.text, @)]", {"text": "x" * 100_000, "l": ["[yz]", "[xz]y"] * 2_000}),
        ("$[?search(@, '[ab]*(a[ab]{100}c){4}')]", ["ab" * 100_000] * 20),
        ("$[?match('a', @)]", [f"(a{{20}}){{20}}{n}" for n in range(1_000)]),
    ],
    ids=["written", "searched", "slow", "compiled"],
)
def test_a_path_that_goes_over_the_same_text_again_and_again_is_refused(root, path, value):
    with pytest.raises(Refused, match="too many"):
        fetch(stash(json.dumps(value)), mode="jsonpath", path=path)


def test_two_expressions_of_a_path_cost_no_more_than_one(root):
    handle = stash(json.dumps({"l": [{"a": "xy"}] * 5_000}))
    path = "$.l[?match(@.a, 'x.*') && match(@.a, '.*y')]"
    assert fetch(handle, mode="jsonpath", path=path).counts["matches"] == 5_000


def test_deep_json_is_refused_not_fatal(root):
    handle = stash("[" * 900 + "]" * 900)
    with pytest.raises(Refused):
        fetch(handle, mode="jsonpath", path="$..*")


@pytest.mark.parametrize("text", ["no json", "[1] [2]", "{", '{"a":1}\n{"b":2}\n'])
def test_what_is_no_json_has_no_paths(root, text):
    with pytest.raises(Refused, match="not a single JSON document"):
        fetch(stash(text), mode="jsonpath", path="$")


@pytest.mark.parametrize(
    "selector",
    [
        {"mode": "all"},
        {"max_chars": 0},
        {"max_chars": -1},
        {"max_chars": 8001},
        {"max_chars": 8001, "reason": "  "},
        {"max_chars": 8001, "reason": "\u200b\u00ad"},
        {"max_chars": 20_001, "reason": "because"},
        {"max_chars": 10**30},
        {"reason": "r" * 301},
        {"offset": 1},
        {"mode": "head", "offset": -1},
        {"mode": "head", "offset": 2**60},
        {"mode": "range"},
        {"mode": "range", "lines": "0"},
        {"mode": "range", "lines": ":"},
        {"mode": "range", "lines": "5:3"},
        {"mode": "range", "lines": "1:2:3"},
        {"mode": "range", "lines": "９"},
        {"mode": "range", "lines": "1" * 40},
        {"mode": "grep"},
        {"mode": "grep", "pattern": "x", "context": 21},
        {"mode": "jsonpath", "path": "$["},
        {"mode": "grep", "pattern": "x", "context": -1},
        {"mode": "head", "pattern": "x"},
        {"mode": "jsonpath"},
    ],
)
def test_what_cannot_be_asked(root, selector):
    handle = stash(NUMBERS)
    with pytest.raises(Refused):
        fetch(handle, **selector)


def test_a_long_answer_needs_a_reason_which_is_recorded(root):
    handle = stash(NUMBERS)
    answer = content_fetch.fetch(
        DB, handle, Selector(max_chars=20_000, reason="the whole trace"), by="ada", agent_id="ada"
    )
    assert len(answer.text) == 20_000
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.object_id, entry.agent_id) == ("ada", "fetched", handle, "ada")
    assert json.loads(entry.detail_json) == {"max_chars": 20_000, "mode": "headtail", "reason": "the whole trace"}


def test_a_usual_answer_is_not_recorded(root):
    fetch(stash(NUMBERS))
    assert not AuditEntry.objects.exists()


def test_bytes_that_are_no_text(root):
    content = random.Random(7).randbytes(4096)
    handle = stash(content)
    answer = fetch(handle, max_chars=200).as_receipt()
    assert answer["text"].startswith(f"00000000  {content[:2].hex()} ")
    assert len(answer["text"]) <= 200
    assert (answer["binary"], answer["contentType"]) == (True, "application/octet-stream")
    assert answer["bytesLeftOut"] == 4096 - 16 * answer["text"].count("\n")
    with pytest.raises(Refused, match="is not text"):
        fetch(handle, mode="grep", pattern="x")


def test_bad_bytes_in_a_text_are_replaced(root):
    answer = fetch(stash(b"fine\n" * 50 + b"\xff\xfe bad\n"), mode="tail", max_chars=7)
    assert answer.text == "\ufffd\ufffd bad\n"


@pytest.mark.parametrize("content", [b"", b"\n", b"x"])
@pytest.mark.parametrize("mode", ["headtail", "head", "tail"])
def test_hardly_anything(root, content, mode):
    answer = fetch(stash(content), mode=mode)
    assert answer.text == content.decode()
    assert answer.next is None


def test_a_peek(root):
    handle = stash(NUMBERS, kind="log", meta={"tool": "exec"})
    about = content_fetch.peek(DB, handle)
    assert len(about["preview"]) == about["previewChars"] == 500
    assert (about["kind"], about["meta"], about["lines"]) == ("log", {"tool": "exec"}, 20_000)
    assert len(content_fetch.peek(DB, handle, chars=1)["preview"]) == 1
    for chars in (0, 801):
        with pytest.raises(Refused):
            content_fetch.peek(DB, handle, chars=chars)
    assert orjson.dumps(about)
