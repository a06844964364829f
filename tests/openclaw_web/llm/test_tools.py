"""Tools that a model is offered: what it wants used comes back as it was written, whatever else the answer holds."""

import json

import pytest

from openclaw_web.llm.client import CallFailed, Failure, ToolCall, ask_model
from openclaw_web.llm.endpoint import Endpoint
from tests import llm_endpoint as scripted

TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]


def asked(behaviour, tools=TOOLS, key="sk-secret"):
    """The answer, or the failure, and what was sent."""
    with scripted.Endpoint(behaviour) as server:
        messages = [{"role": "user", "content": "Hello"}]
        try:
            found = ask_model(
                Endpoint(server.url, key), model="small", messages=messages, max_tokens=5, seconds=60, tools=tools
            )
        except CallFailed as failure:
            found = failure
    return found, server.requests[0].question


def test_it_works():
    found, sent = asked(scripted.uses(("read", {"file": "USER.md"}), prompt_tokens=7, completion_tokens=2))
    assert found.calls == (ToolCall("call-0", "read", '{"file": "USER.md"}'),)
    assert (found.text, found.prompt_tokens) == ("", 7)
    assert sent["tools"] == TOOLS


def test_without_tools_nothing_is_offered_and_a_call_is_no_answer():
    found, sent = asked(scripted.uses(("read", {})), tools=())
    assert "tools" not in sent
    assert found.kind == Failure.no_answer


def test_a_text_is_an_answer_where_tools_are_offered():
    found, _sent = asked(scripted.says("No need."))
    assert (found.text, found.calls) == ("No need.", ())


def test_the_key_is_taken_out_of_arguments():
    found, _sent = asked(scripted.uses(("read", {"file": "sk-secret"})))
    assert found.calls[0].arguments == '{"file": "…"}'


@pytest.mark.parametrize(
    "called",
    [None, "read", {}, [], [None], [{"function": "read"}], [{"id": 5, "function": {"name": {}, "arguments": 7}}]],
)
def test_odd_calls_have_no_name_or_are_none(called):
    value = scripted.answer(None)
    value["choices"][0]["message"]["tool_calls"] = called
    found, _sent = asked(scripted.sends(json.dumps(value).encode()))
    if isinstance(called, list) and called:
        assert found.calls == (ToolCall("", "", ""),)
    else:
        assert found.kind == Failure.no_answer


def test_no_answer_has_calls_without_end():
    found, _sent = asked(scripted.uses(*[("read", {})] * 500))
    assert len(found.calls) == 20
