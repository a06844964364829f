"""Tools in any notation as OpenAI's functions, and tools that no trainer could read."""

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets.exports.prompt_columns import UnknownForm, are_functions, build_tools_part, read_functions
from datasets.exports.prompts import build_part
from datasets.exports.rows import Shape, build_rows
from datasets.exports.rules import find_broken_rules
from ledger.collectors import placeholders
from ledger.collectors.trajectories import tools_to_json
from tests.datasets.exports.branches import rows, sample

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": 0}
NAMES = st.text(min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
DESCRIBED = st.fixed_dictionaries(
    {"name": NAMES | JSON},
    optional={
        "description": st.text(max_size=20) | JSON,
        "parameters": st.fixed_dictionaries({}, optional={"type": st.just("object"), "properties": JSON}) | JSON,
        "input_schema": JSON,
        "type": st.sampled_from(["function", "custom", "web_search"]),
        "function": JSON,
    },
)
MARKERS = st.sampled_from(
    [
        "[Truncated]",
        "truncated",
        "redacted",
        "<redacted>",
        "[Malformed diagnostic JSON redacted]",
        "[Oversized diagnostic JSON redacted]",
        "[REDACTED_EMAIL]",
        {"truncated": True, "reason": "trajectory-depth-limit", "limitDepth": 6},
        {"_truncated": {"truncated": True, "reason": "trajectory-object-size-limit"}},
        {"token": "sk-abc…wxyz"},
        "[Circular]",
    ]
)
often = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def build_function(**more):
    return read_functions([{"name": "read", "description": "Read a file.", **more}])[0]["function"]


@pytest.mark.parametrize("name", ["parameters", "input_schema", "inputSchema"])
def test_schemas_have_several_names(name):
    assert build_function(**{name: SCHEMA}) == {"name": "read", "description": "Read a file.", "parameters": SCHEMA}


def test_functions_stay_what_they_are():
    tool = {"type": "function", "function": {"name": "read", "description": "x", "parameters": SCHEMA}}
    assert read_functions([tool]) == [tool]
    assert read_functions([{"type": "function", **tool["function"]}]) == [tool]


@pytest.mark.parametrize("more", [{}, {"parameters": None}, {"parameters": {}}, {"parameters": {"properties": None}}])
def test_a_tool_without_a_schema_takes_nothing(more):
    assert build_function(**more)["parameters"] == {"type": "object", "properties": {}, "required": []}


def test_a_property_that_may_be_anything_is_described_by_nothing():
    assert build_function(parameters={"properties": {"any": True}})["parameters"]["properties"] == {"any": {}}


@pytest.mark.parametrize(
    "tools",
    [
        None,
        {},
        "[]",
        ["read"],
        [{}],
        [{"name": ""}],
        [{"name": " "}],
        [{"name": 1}],
        [{"type": "web_search"}],
        [{"name": "read", "parameters": []}],
        [{"name": "read", "parameters": {"type": "array"}}],
        [{"name": "read", "parameters": {"properties": []}, "description": 1}],
        [{"name": "read", "parameters": {"properties": ["path"]}}],
        [{"name": "read", "parameters": {"properties": {"path": "string"}}}],
        [{"name": "read", "parameters": {"properties": {"path": False}}}],
        [{"name": "read", "parameters": {"properties": {"size": {"enum": [1, 2]}}}}],
        [{"name": "read", "parameters": {"properties": {"list": {"items": [{}]}}}}],
        [{"name": "read", "parameters": {"required": "path"}}],
    ],
)
def test_what_no_trainer_could_read_is_of_no_known_form(tools):
    with pytest.raises(UnknownForm):
        read_functions(tools)


@pytest.mark.parametrize(
    "tools",
    [
        '{"name": "read"}',
        "[",
        '["read"]',
        '[{"name": "read", "parameters": {"properties": {}}}]',
        '[{"type": "function", "function": {"name": "read", "description": ""}}]',
        '[{"type": "function", "function": {"name": "read", "description": "", "parameters": {"type": "object"}}}]',
    ],
)
def test_a_row_with_other_tools_breaks_a_rule(tools):
    (row,), _ = rows("sharegpt", sample())
    assert [broken.rule for broken in find_broken_rules("sharegpt", row | {"tools": tools})] == ["tools"]


@often
@given(tools=st.lists(DESCRIBED, max_size=4) | JSON)
def test_what_is_made_is_what_a_trainer_reads(tools):
    try:
        text = build_tools_part(tools).text
    except UnknownForm:
        return
    assert are_functions(text)
    for tool in orjson.loads(text):
        for about in tool["function"]["parameters"]["properties"].values():  # as LLaMA-Factory does
            ", ".join(about.get("enum") or [])
            (about.get("items") or {}).get("type", "")


@often
@given(tool=DESCRIBED, marker=MARKERS, place=st.sampled_from(["name", "description", "schema", "nested", "tool"]))
def test_no_tools_with_a_placeholder_become_text(tool, marker, place):
    deep = {"type": "object", "properties": {"a": {"type": "array", "items": {"properties": {"b": marker}}}}}
    marked = {"name": marker, "description": marker, "schema": {"properties": {"a": marker}}, "nested": deep}
    name = {"schema": "parameters", "nested": "parameters"}.get(place, place)
    tools = [marker, tool] if place == "tool" else [{**tool, name: marked[place]}]
    part = build_part("tools", tools_to_json(tools))
    assert part.text == "[]" and part.left_out in (placeholders.TRUNCATED, placeholders.REDACTED)


@often
@given(before=st.text(max_size=40), marker=MARKERS, after=st.text(max_size=40))
def test_no_prompt_with_a_placeholder_becomes_text(before, marker, after):
    if not isinstance(marker, str) or marker in ("truncated", "redacted"):
        marker = orjson.dumps(marker).decode()
    part = build_part("system", f"{before} {marker} {after}".encode("utf-8", "replace"))
    assert part.text == "" and part.left_out in (placeholders.TRUNCATED, placeholders.REDACTED)


@often
@given(data=st.binary(max_size=60) | st.text(max_size=60).map(str.encode) | JSON.map(orjson.dumps))
def test_any_content_is_a_column_or_a_reason(data):
    for column, nothing in (("system", ""), ("tools", "[]")):
        part = build_part(column, data)
        assert (part.text == nothing) == bool(part.left_out)


@pytest.mark.parametrize(
    "text",
    [
        "For text files, output is truncated to 2000 lines or 50KB.",
        "Max chars returned; truncates.",
        "Includes truncation info; truncated lines (of any length) are skipped.",
        "Wait…done, and then ***bold***.",
        "Note: ***this*** matters.",
        'Use {"a": [1]} and <tag> and [x].',
    ],
)
def test_words_about_truncation_are_no_placeholders(text):
    assert placeholders.find_placeholder(text) == ""
    assert placeholders.find_nested_placeholder([{"description": text, "list": [text]}]) == ""


def test_lists_nested_too_deeply_are_of_no_known_form():
    deep = b'[{"name":"a","parameters":{"properties":{"a":' + b'{"b":' * 300 + b"{}" + b"}" * 300 + b"}}}]"
    assert build_part("tools", deep).left_out == placeholders.UNKNOWN_FORM
    for depth in range(240, 256):
        data = b'[{"name":"a","parameters":{"properties":{"a":' + b'{"b":' * depth + b"{}" + b"}" * depth + b"}}}]"
        build_part("tools", data)


def test_rows_without_prompts_have_empty_columns():
    (made,) = build_rows(Shape("sharegpt", "reply"), [sample()])
    assert (made.row["system"], made.row["tools"]) == ("", "[]")
