"""Tools that a model is offered: its calls are returned as it wrote them."""

import json

import pytest

from openclaw_web.llm.client import CallFailed, Failure, ToolCall, ask_model
from openclaw_web.llm.endpoint import Endpoint
from tests import llm_endpoint as scripted

TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]


def ask_with_tools(behaviour, tools=TOOLS, key="sk-secret"):
    """Returns the answer or the failure, and the request."""
    with scripted.Endpoint(behaviour) as server:
        messages = [{"role": "user", "content": "Hello"}]
        try:
            result = ask_model(
                Endpoint(server.url, key), model="small", messages=messages, max_tokens=5, seconds=60, tools=tools
            )
        except CallFailed as failure:
            result = failure
    return result, server.requests[0].question


def test_it_works():
    result, sent = ask_with_tools(scripted.uses(("read", {"file": "USER.md"}), prompt_tokens=7, completion_tokens=2))
    assert result.calls == (ToolCall("call-0", "read", '{"file": "USER.md"}'),)
    assert (result.text, result.prompt_tokens) == ("", 7)
    assert sent["tools"] == TOOLS


def test_without_tools_nothing_is_offered_and_a_call_is_no_answer():
    result, sent = ask_with_tools(scripted.uses(("read", {})), tools=())
    assert "tools" not in sent
    assert result.kind == Failure.no_answer


def test_a_text_is_an_answer_where_tools_are_offered():
    result, _sent = ask_with_tools(scripted.says("No need."))
    assert (result.text, result.calls) == ("No need.", ())


def test_the_key_is_taken_out_of_arguments():
    result, _sent = ask_with_tools(scripted.uses(("read", {"file": "sk-secret"})))
    assert result.calls[0].arguments == '{"file": "…"}'


@pytest.mark.parametrize(
    "called",
    [None, "read", {}, [], [None], [{"function": "read"}], [{"id": 5, "function": {"name": {}, "arguments": 7}}]],
)
def test_odd_calls_have_no_name_or_are_none(called):
    value = scripted.answer(None)
    value["choices"][0]["message"]["tool_calls"] = called
    result, _sent = ask_with_tools(scripted.sends(json.dumps(value).encode()))
    if isinstance(called, list) and called:
        assert result.calls == (ToolCall("", "", ""),)
    else:
        assert result.kind == Failure.no_answer


def test_no_answer_has_calls_without_end():
    result, _sent = ask_with_tools(scripted.uses(*[("read", {})] * 500))
    assert len(result.calls) == 20
