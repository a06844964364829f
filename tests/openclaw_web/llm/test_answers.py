"""Any JSON of an endpoint leads to an answer with a text or to a failure."""

import json
import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_web.llm import client, usage
from openclaw_web.llm.client import Answer, CallFailed, Failure, ask_model
from openclaw_web.llm.endpoint import Endpoint
from tests import llm_endpoint as scripted
from tests.odd_json import JSON, odd

ANSWERS = [
    scripted.answer("Yes", prompt_tokens=7, completion_tokens=2, cost=0.1),
    scripted.answer([{"type": "text", "text": "Yes"}, {"type": "reasoning", "text": "hm"}]),
    scripted.answer("Yes") | {"usage": {"prompt_tokens_details": {"cached_tokens": 1}}},
    {"choices": [{"message": {"content": None, "refusal": "No", "tool_calls": [{"id": "1"}], "function_call": None}}]},
    {"error": {"message": "no", "code": 500}},
]


@pytest.fixture(scope="module")
def server():
    with scripted.Endpoint() as server:
        yield server


def result(server, body):
    """Returns the answer or the failure that a body leads to."""
    server.then(scripted.sends(body))
    messages = [{"role": "user", "content": "Hello"}]
    try:
        return ask_model(Endpoint(server.url, "k-1"), model="small", messages=messages, max_tokens=5, seconds=60)
    except CallFailed as failure:
        return failure


def check_outcome(outcome):
    if isinstance(outcome, CallFailed):
        assert outcome.kind in (Failure.no_answer, Failure.not_json) and outcome.sentence and not outcome.is_final
        numbers = outcome.usage
    else:
        assert isinstance(outcome, Answer) and outcome.text.strip() and outcome.model
        outcome.text.encode(), outcome.model.encode()
        numbers = outcome
    for tokens in (numbers.prompt_tokens, numbers.completion_tokens):
        assert tokens is None or (type(tokens) is int and 0 <= tokens < 2**63)
    assert numbers.cost_usd is None or (type(numbers.cost_usd) is float and 0 <= numbers.cost_usd < math.inf)
    assert isinstance(outcome.body, str)


@given(value=JSON | st.sampled_from(ANSWERS).flatmap(odd))
def test_any_json_is_an_answer_or_a_failure(server, value):
    check_outcome(result(server, json.dumps(value).encode()))


@given(body=st.binary(max_size=200) | st.sampled_from(ANSWERS).map(orjson.dumps).flatmap(lambda whole: cuts(whole)))
def test_any_bytes_are_an_answer_or_a_failure(server, body):
    check_outcome(result(server, body))


LINES = [
    b"Content-Type: application/json",
    b"Content-Type: \xff;;=",
    b"Content-Length: 2",
    b"Content-Length: -1",
    b"Content-Length: 99999999999999999999",
    b"Content-Encoding: gzip",
    b"Content-Encoding: \xe9",
    b"Transfer-Encoding: chunked",
    b"Location: //[",
    b"Retry-After: \xb2",
    b"Set-Cookie: a=b; Max-Age=x; expires=\xff",
    b"Upgrade: x",
    b" folded",
    b"no colon",
]
HEADS = st.tuples(
    st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.0 200", b"HTTP/1.1 100 C", b"HTTP/1.1 999 \xff", b"HTTP/2 200", b""]),
    st.lists(st.sampled_from(LINES), max_size=4),
    st.sampled_from([b"{}", b"2\r\n{}\r\n0\r\n\r\n", b"fffffffffffffffffffff\r\n", b"\x1f\x8b\x08", b""]),
).map(lambda parts: b"\r\n".join([parts[0], *parts[1], b"", parts[2]]))


@given(sent=st.binary(max_size=100) | HEADS)
def test_any_bytes_on_the_wire_are_a_failure(server, sent):
    server.then(scripted.says_bytes(sent))
    with pytest.raises(CallFailed) as failed:
        ask_model(Endpoint(server.url, "k-1"), model="small", messages=[], max_tokens=5, seconds=60)
    assert failed.value.sentence and failed.value.kind not in (Failure.unreachable, Failure.timed_out)


def cuts(whole):
    """Returns a strategy for beginnings of a body, some with bytes that do not belong there."""
    places = st.integers(0, len(whole))
    return st.tuples(places, st.binary(max_size=3)).map(lambda cut: whole[: cut[0]] + cut[1])


PLAUSIBLE = [(0, 0), (7, 7), (10**12, 10**12)]
ODD = [-1, 1.0, True, False, "7", None, [7], {}, 10**13, 2**64 - 1, 1e400]


@pytest.mark.parametrize(("reported", "taken"), [*PLAUSIBLE, *((value, None) for value in ODD)])
def test_numbers_of_tokens_are_plausible_or_not_taken(reported, taken):
    parsed = usage.read_usage({"usage": {"prompt_tokens": reported, "completion_tokens": reported}})
    assert (parsed.prompt_tokens, parsed.completion_tokens, parsed.cost_usd) == (taken, taken, None)


COSTS = [(0, 0.0), (0.25, 0.25), (3, 3.0)]
ODD_COSTS = [-0.1, True, "0.1", None, [], math.inf, -math.inf, math.nan, 1e300, 10**400]


@pytest.mark.parametrize(("reported", "taken"), [*COSTS, *((value, None) for value in ODD_COSTS)])
def test_a_cost_is_plausible_or_not_taken(reported, taken):
    assert usage.read_usage({"usage": {"cost": reported}}).cost_usd == taken


@pytest.mark.parametrize("name", [None, "", 7, ["x"], {}])
def test_a_model_without_a_name_is_the_one_that_was_asked(server, name):
    assert result(server, json.dumps(scripted.answer("Yes", model=name)).encode()).model == "small"


def test_a_name_is_not_long(server):
    assert result(server, json.dumps(scripted.answer("Yes", model="m" * 5_000)).encode()).model == "m" * 200


TIMES = [
    ("3", 3),
    (" 0.5 ", 0.5),
    ("0", 0),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    *((value, None) for value in ("", "soon", "-1", "nan", "inf", "1e9", "9" * 400, "３", "Thu, 99 Jan 1970")),
]


@pytest.mark.parametrize(("value", "seconds"), TIMES)
def test_when_to_return(value, seconds):
    assert client.parse_retry_after(value) == seconds


def test_a_date_to_return_at(monkeypatch):
    monkeypatch.setattr("openclaw_web.clock.now_ms", lambda: 1_771_642_800_000)
    assert client.parse_retry_after("Sat, 21 Feb 2026 03:00:30 GMT") == 30


@given(
    value=st.text() | st.from_regex(r"[A-Z][a-z]{2}, [0-9]{1,9} [A-Z][a-z]{2} [0-9]{1,9} [0-9:]{3,9} [-+A-Z0-9]{3,9}")
)
def test_any_header_is_a_time_or_none(value):
    seconds = client.parse_retry_after(value)
    assert seconds is None or 0 <= seconds < math.inf


@pytest.mark.parametrize(
    ("value", "is_json"),
    [
        *((value, True) for value in ("", "application/json; charset=utf-8", "Application/Problem+JSON", "text/json")),
        *((value, False) for value in ("text/html", "application/jsonl", "json", "application/x-ndjson", "a b/json")),
    ],
)
def test_types_of_json(value, is_json):
    assert client.is_json_type(value) == is_json
