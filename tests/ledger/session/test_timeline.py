"""Rows of a transcript as sections, entries and calls, and how much of each is shown."""

import json

import pytest

from ledger.session import timeline
from tests.homes import assistant, result, user


def rows(*records, turns=None):
    """Build rows as `transcript_page` gives them.

    `turns` names the turn of each record; without it, all records are of turn 1.
    """
    built = []
    for seq, record in enumerate(records):
        message = record.get("message") or {}
        kind = {"user": "user", "assistant": "assistant", "toolResult": "tool_result"}.get(message.get("role"))
        built.append(
            {
                "seq": seq,
                "record_id": f"r{seq}",
                "kind": kind or record["type"],
                "turn_number": turns[seq] if turns else 1,
                "is_active": True,
                "is_failed": False,
                "is_synthetic": False,
                "created_at": 1_767_571_200_000 + seq,
                "model": message.get("model"),
                "total_tokens": None,
                "cost_usd": None,
                "repeat_of": None,
                "tool_call_count": 0,
                "trim_json": record.pop("trim", None),
                "event_json": json.dumps(record),
                "record": record,
            }
        )
    return built


def turn(first_seq, **more):
    return {"first_seq": first_seq, "model": "fake-gpt", "is_active": True, "repeat_of": None} | more


def test_it_works():
    sections = timeline.build_sections(
        rows(user("one"), assistant("1"), user("two"), turns=[1, 1, 2]), {1: turn(0), 2: turn(2)}
    )
    assert [(section.number, [entry.record_id for entry in section.entries]) for section in sections] == [
        (1, ["r0", "r1"]),
        (2, ["r2"]),
    ]


def test_a_turn_that_began_before_is_continued():
    sections = timeline.build_sections(rows(assistant("still"), user("next"), turns=[4, 5]), {4: turn(-3), 5: turn(1)})
    assert [section.is_continued for section in sections] == [True, False]
    assert [section.may_be_sample for section in sections] == [False, True]
    assert len({section.html_id for section in sections}) == 2


def test_results_stand_under_their_calls():
    calls = [("a", "exec", {"command": "ls"}), ("b", "read", {"path": "x"})]
    [section] = timeline.build_sections(rows(assistant("", *calls), result("b", "second"), result("a", "first")), {})
    [entry] = section.entries
    assert [(call.name, call.result.text.text) for call in entry.calls] == [("exec", "first"), ("read", "second")]


def test_a_second_result_of_a_call_stands_alone():
    records = assistant("", ("a", "exec", {})), result("a", "one"), result("a", "two")
    [section] = timeline.build_sections(rows(*records), {})
    assert [entry.kind for entry in section.entries] == ["assistant", "tool_result"]
    assert section.entries[1].calls[0].result.text.text == "two"


@pytest.mark.parametrize(
    ("arguments", "main"),
    [
        ({"timeout": 5, "command": "ls  -la\n|  wc"}, "ls -la | wc"),
        ({"content": "long", "path": "a.md"}, "a.md"),
        ({"query": "tabs"}, "tabs"),
        ({"label": "x", "url": "https://example.org"}, "https://example.org"),
        ({"n": 1, "whatever": "words"}, "words"),
        ({"n": 1}, ""),
        ({}, ""),
    ],
)
def test_the_argument_that_says_most(arguments, main):
    [section] = timeline.build_sections(rows(assistant("", ("a", "tool", arguments))), {})
    assert section.entries[0].calls[0].main == main


def test_arguments_share_what_room_there_is():
    arguments = {"first": "x" * 1500, "second": "y" * 1500, "third": "z"}
    [section] = timeline.build_sections(rows(assistant("", ("a", "tool", arguments))), {})
    [call] = section.entries[0].calls
    assert call.is_cut
    assert sum(len(value.text) for _, value in call.arguments) <= timeline.SHORT


def test_a_preview_knows_the_whole_length():
    record = assistant("x" * 8000) | {"trim": '{"capped":[["message.content.0.text",170000,8000]]}'}
    [section] = timeline.build_sections(rows(record), {})
    text = section.entries[0].text
    assert (len(text.text), text.length, text.is_cut) == (timeline.WORDS, 170_000, True)


def test_bookkeeping_is_counted_unless_it_is_asked_for():
    custom = {"type": "custom", "data": {}}
    assert timeline.build_sections(rows(custom), {})[0].hidden == 1
    assert timeline.build_sections(rows(custom), {}, show_all=True)[0].entries[0].raw
    assert timeline.build_sections(rows(custom), {}, keep="r0")[0].entries[0].record_id == "r0"


def test_the_model_is_named_where_it_changes():
    records = user("go"), assistant("1"), assistant("2", model="other")
    [section] = timeline.build_sections(rows(*records), {1: turn(0)})
    assert [entry.model for entry in section.entries] == [None, None, "other"]


@pytest.mark.parametrize(
    "details", [{"durationMs": "soon", "exitCode": "x", "diff": 3}, {"durationMs": 1e300}, {"durationMs": -5}]
)
def test_odd_details_are_left_out(details):
    [section] = timeline.build_sections(rows(assistant("", ("a", "exec", {})), result("a", details=details)), {})
    call_result = section.entries[0].calls[0].result
    assert (call_result.duration_ms, call_result.exit_code, call_result.diff) == (None, None, None)
