"""The system prompt and the tools of a turn in exports, when they were recorded whole."""

import json

import orjson
import pytest

from agents.models import Agent
from artifacts.models import Artifact
from datasets.exports import exports, prompts
from datasets.models import DatasetExport, DatasetSample
from ledger.models import TrajectoryEvent
from people.configuration import setting_values as configuration
from tests.collecting.collect_runs import MAIN, run
from tests.datasets.exports import export_helpers
from tests.datasets.exports.prompts.runs import (
    FUNCTIONS,
    MASKED,
    ONE,
    OTHER,
    PROMPT,
    TOO_DEEP,
    TOO_LONG,
    TOO_MANY,
    TOOL,
    TOOLS,
    build_by_turn,
    import_and_approve,
    prompt_step,
    run_mark,
    tool_turn,
    tools_with_property,
    write_steps,
)
from tests.homes import assistant, result, user
from tests.ledger.outputs.stored_outputs import find_blob_file

pytestmark = pytest.mark.django_db
GIVEN = {"systemPrompt": PROMPT, "tools": TOOLS}
# What the call of `tool_turn` tells of its tool.
NO_DESCRIPTION = {"type": "object", "properties": {"command": {"type": "string"}}, "required": []}
INFERRED = [{"type": "function", "function": {"name": "exec", "description": "", "parameters": NO_DESCRIPTION}}]
PLACEHOLDERS = ("<redacted>", "[Truncated]", "redacted]", "trajectory-", '\\"truncated\\":')


@pytest.fixture
def main(home):
    """The agent main of a home that was imported once."""
    home.transcript(user("Hi"))
    run(home)
    return Agent.objects.get(agent_id="main")


def import_turn(home, main, given=GIVEN):
    """Import a session of one turn whose model was given this, and approve its sample."""
    home.transcript(*tool_turn(1), session=ONE)
    write_steps(home, prompt_step(2, **given))
    import_and_approve(home, main)


def prompt_columns(row):
    """The system prompt and the parsed tools of a row."""
    return row["system"], json.loads(row["tools"])


def left_out(manifest):
    """Why columns are empty, or have tools that calls tell of."""
    counted = manifest["prompts"]
    return {
        "system": counted["system"]["left_out"],
        "tools": counted["tools"]["left_out"] | counted["tools"]["inferred"],
    }


def read_sources(export):
    [file] = exports.folder_of(export).glob("*.train.sources.jsonl")
    return [orjson.loads(line) for line in file.read_bytes().splitlines()]


def test_it_works(home, main):
    home.transcript(*tool_turn(1), session=ONE)
    write_steps(
        home,
        prompt_step(2, **GIVEN, messages=["private"]),
        prompt_step(3, type_="prompt.submitted", systemPrompt=PROMPT),
    )
    imported = import_and_approve(home, main)
    assert (imported["steps"], imported["cut_prompts"]) == (2, 0)
    manifest, rows = build_by_turn()
    assert prompt_columns(rows[ONE, 1]) == (PROMPT, FUNCTIONS)
    assert manifest["prompts"] == {
        "system": {"rows": 1, "left_out": {}, "with_placeholders": 0},
        "tools": {"rows": 1, "left_out": {}, "inferred": {}},
        "rows_with_undescribed_calls": 0,
    }


def test_openai_has_the_prompt_as_first_message_and_the_tools_beside_them(home, main):
    named = TOOLS + [{**TOOL, "name": name} for name in ("a.b", "a_b", "c" * 70)]
    home.transcript(*tool_turn(1), session=ONE)
    home.transcript(*tool_turn(2), session=OTHER)
    write_steps(home, prompt_step(2, systemPrompt=PROMPT, tools=named))
    import_and_approve(home, main, ONE, OTHER)
    export = export_helpers.build_export("openai", duplicates="keep")
    manifest, (with_prompt, without) = export.manifest, export_helpers.read_rows(export)
    first, *others = with_prompt["messages"]
    assert first == {"role": "system", "content": PROMPT}
    assert [message["role"] for message in others] == ["user", "assistant", "tool", "assistant"]
    assert [tool["function"]["name"] for tool in with_prompt["tools"]] == ["exec", "a_b", "c" * 64]
    assert with_prompt["tools"][0] == FUNCTIONS[0]
    assert without["tools"] == INFERRED and without["messages"][0]["role"] == "user"
    assert manifest["prompts"]["system"] == {"rows": 1, "left_out": {"not_recorded": 1}, "with_placeholders": 0}
    assert manifest["prompts"]["rows_with_undescribed_calls"] == 0
    assert [source["tools_source"] for source in read_sources(export)] == ["recorded", "inferred"]
    assert manifest["transformations"]["tool_names_changed"] == 1
    assert manifest["lengths"]["tokens_longest"] > len(PROMPT) // 4


@pytest.mark.parametrize(
    ("given", "system", "tools"),
    [
        ({"systemPrompt": TOO_LONG, "tools": "[Truncated]"}, "truncated", "truncated"),
        ({"systemPrompt": "[Oversized diagnostic JSON redacted]", "tools": TOOLS}, "redacted", ""),
        ({"systemPrompt": f"{MASKED} <redacted>", "tools": tools_with_property(TOO_DEEP)}, "redacted", "truncated"),
        ({"systemPrompt": PROMPT, "tools": tools_with_property(TOO_MANY, "_truncated")}, "", "truncated"),
        ({"systemPrompt": PROMPT, "tools": [TOOL, "[Truncated]"]}, "", "truncated"),
        (
            {"systemPrompt": PROMPT, "tools": tools_with_property({"type": "string", "default": "<redacted>"})},
            "",
            "redacted",
        ),
        (
            {"systemPrompt": PROMPT, "tools": [{**TOOL, "description": "[Malformed diagnostic JSON redacted]"}]},
            "",
            "redacted",
        ),
        ({"systemPrompt": "truncated", "tools": "redacted"}, "truncated", "redacted"),
        ({"systemPrompt": f"{PROMPT} key=***", "tools": tools_with_property("[Truncated]")}, "redacted", "truncated"),
        (
            {"systemPrompt": f"{PROMPT} sk-abc…wxyz", "tools": tools_with_property({}, "redacted")},
            "redacted",
            "redacted",
        ),
        ({"systemPrompt": [{"type": "text", "text": PROMPT}], "tools": {"exec": TOOL}}, "unknown_form", "unknown_form"),
        ({"systemPrompt": PROMPT, "tools": [{"type": "web_search"}]}, "", "unknown_form"),
        ({"systemPrompt": PROMPT, "tools": ["exec"]}, "", "unknown_form"),
        ({"systemPrompt": PROMPT, "tools": [{**TOOL, "parameters": {"type": "string"}}]}, "", "unknown_form"),
        ({}, "unknown_form", "unknown_form"),
    ],
)
def test_what_is_not_whole_is_left_out_and_counted(home, main, given, system, tools):
    import_turn(home, main, given)
    manifest, rows = build_by_turn()
    assert prompt_columns(rows[ONE, 1]) == ("" if system else PROMPT, INFERRED if tools else FUNCTIONS)
    assert left_out(manifest) == {"system": {system: 1} if system else {}, "tools": {tools: 1} if tools else {}}
    assert manifest["prompts"]["rows_with_undescribed_calls"] == 0
    assert rows[ONE, 1]["tools_source"] == ("inferred" if tools else "recorded")
    assert not any(word in json.dumps(rows[ONE, 1]) for word in PLACEHOLDERS)


def test_a_prompt_with_masks_for_values_of_the_moment_alone_is_used_and_marked(home, main):
    import_turn(home, main, {"systemPrompt": MASKED, "tools": TOOLS})
    manifest, rows = build_by_turn()
    assert prompt_columns(rows[ONE, 1]) == (MASKED, FUNCTIONS)
    assert (rows[ONE, 1]["system_source"], rows[ONE, 1]["tools_source"]) == ("with_placeholders", "recorded")
    assert manifest["prompts"]["system"] == {"rows": 1, "left_out": {}, "with_placeholders": 1}


def test_an_import_counts_what_is_not_whole(home):
    home.transcript(*tool_turn(1), session=ONE)
    write_steps(
        home,
        prompt_step(1, systemPrompt=TOO_LONG),
        prompt_step(2, **GIVEN),
        prompt_step(3, tools=tools_with_property(TOO_DEEP)),
    )
    imported = run(home)["agents"]["main"]
    assert (imported["steps"], imported["cut_prompts"]) == (3, 2)
    steps = TrajectoryEvent.objects.using(MAIN).order_by("seq")
    about = [orjson.loads(step.about_json) for step in steps]
    assert about[0] == {"systemPromptNotWhole": "truncated"}
    assert about[1].keys() == {"systemPrompt", "tools"}
    assert about[2].keys() == {"tools", "toolsNotWhole"}


def test_the_prompt_of_a_turn_is_the_one_of_its_run(home, main):
    first, second = tool_turn(1, **run_mark("a")), tool_turn(2, **run_mark("b"))
    home.transcript(*first, *second, session=ONE)
    write_steps(
        home,
        prompt_step(1, "b", systemPrompt="of the second"),
        prompt_step(2, "a", systemPrompt="of the first, tried"),
        prompt_step(3, "a", systemPrompt="of the first"),
        prompt_step(9, "c", systemPrompt="of nobody"),
    )
    import_and_approve(home, main)
    _, rows = build_by_turn()
    assert [rows[ONE, turn]["system"] for turn in (1, 2)] == ["of the first", "of the second"]


def test_else_the_last_one_before_the_turn_ended(home, main):
    home.transcript(*tool_turn(1), *tool_turn(2), *tool_turn(3), session=ONE)  # seconds 1 to 4, 5 to 8, 9 to 12
    home.transcript(*tool_turn(1), session=OTHER)
    write_steps(home, prompt_step(5, "x", systemPrompt="early"), prompt_step(6, "y", systemPrompt="late"))
    import_and_approve(home, main, ONE, OTHER)
    manifest, rows = build_by_turn(duplicates="keep")
    assert [rows[ONE, turn]["system"] for turn in (1, 2, 3)] == ["", "late", "late"]
    assert rows[OTHER, 1]["system"] == ""
    assert left_out(manifest)["system"] == {"not_recorded": 2}


def test_an_older_whole_prompt_does_not_stand_for_one_that_is_cut(home, main):
    home.transcript(*tool_turn(1), *tool_turn(2), session=ONE)
    write_steps(home, prompt_step(2, **GIVEN), prompt_step(6, systemPrompt=TOO_LONG, tools=TOOLS, run_id="run2"))
    import_and_approve(home, main)
    manifest, rows = build_by_turn()
    assert [prompt_columns(rows[ONE, turn]) for turn in (1, 2)] == [(PROMPT, FUNCTIONS), ("", FUNCTIONS)]
    assert left_out(manifest) == {"system": {"truncated": 1}, "tools": {}}


def test_a_bundle_tells_of_its_last_run(home, main):
    home.transcript(*tool_turn(1), *tool_turn(2), session=ONE)
    folder = "workspace/.openclaw/trajectory-exports/openclaw-trajectory-1"
    about = {"traceSchema": "openclaw-trajectory", "sessionId": ONE, "generatedAt": "2026-02-21T05:00:00.000Z"}
    home.write(f"{folder}/manifest.json", about)
    events = [prompt_step(2, "a"), prompt_step(6, "b"), prompt_step(7, "b", type_="model.completed")]
    home.write(f"{folder}/events.jsonl", "".join(json.dumps(event) + "\n" for event in events))
    home.write(f"{folder}/system-prompt.txt", PROMPT)
    home.write(f"{folder}/tools.json", TOOLS)
    import_and_approve(home, main)
    _, rows = build_by_turn()
    assert [prompt_columns(rows[ONE, turn]) for turn in (1, 2)] == [("", INFERRED), (PROMPT, FUNCTIONS)]


def test_what_is_longer_than_the_maximum_is_left_out_and_the_row_stays(home, main, monkeypatch):
    import_turn(home, main)
    for characters, system, reason in ((len(PROMPT), PROMPT, {}), (len(PROMPT) - 1, "", {"too_long": 1})):
        DatasetExport.objects.all().delete()
        monkeypatch.setattr(prompts, "PROMPT_CHARACTERS", characters)
        manifest, rows = build_by_turn()
        assert prompt_columns(rows[ONE, 1]) == (system, [])
        assert left_out(manifest) == {"system": reason, "tools": {"too_long": 1}}
        assert manifest["transformations"] == {}


@pytest.mark.parametrize("damage", ["gone", "changed", "unreferenced", "of no artifact", "no facts"])
def test_lost_prompts_are_counted_and_no_error(home, main, damage):
    import_turn(home, main)
    stored = Artifact.objects.using(MAIN)
    if damage == "unreferenced":
        stored.all().delete()
    elif damage in ("of no artifact", "no facts"):
        about = '{"systemPrompt": "elsewhere", "tools": "elsewhere"}' if damage == "of no artifact" else "[1"
        TrajectoryEvent.objects.using(MAIN).update(about_json=about)
    for handle in stored.values_list("handle", flat=True) if damage in ("gone", "changed") else ():
        find_blob_file(handle).unlink() if damage == "gone" else find_blob_file(handle).write_bytes(b"[]")
    manifest, rows = build_by_turn()
    assert prompt_columns(rows[ONE, 1]) == ("", INFERRED)
    reason = "unknown_form" if damage == "no facts" else "lost"
    assert left_out(manifest) == {"system": {reason: 1}, "tools": {reason: 1}}


def test_prompts_with_open_keys_are_left_out_and_redacted_for_admins(home, main):
    home.transcript(*tool_turn(1), session=ONE)
    secret = f"{PROMPT}\nAWS_ACCESS_KEY_ID=AKIA" + "Q7ZW4MXN2KLPRT5V"
    write_steps(home, prompt_step(2, systemPrompt=secret, tools=TOOLS))
    import_and_approve(home, main)
    manifest, rows = build_by_turn()
    assert prompt_columns(rows[ONE, 1]) == ("", FUNCTIONS)
    assert left_out(manifest)["system"] == {"flagged": 1} and manifest["transformations"] == {}
    DatasetExport.objects.all().delete()
    manifest, rows = build_by_turn(include=["flagged"])
    assert rows[ONE, 1]["system"] == f"{PROMPT}\nAWS_ACCESS_KEY_ID=[KEY_1]"
    assert manifest["transformations"] == {"open_findings": 1, "redacted": 1}


def test_what_people_who_opted_out_may_be_quoted_in_is_withheld(home, main):
    configuration.put("collector.optedOutSenders", ["carol", "dave"])
    envelope = 'Conversation info (untrusted metadata):\n```json\n{"sender_id": "%s"}\n```\n\n%s'
    group = [user(envelope % ("bob", "Hello")), assistant("Hi Bob"), user(envelope % ("carol", "secret"))]
    home.transcript(*group, assistant("I see."), session=ONE)
    home.transcript(user("private words"), assistant("I see."), session=OTHER)
    for session in (ONE, OTHER):
        write_steps(home, prompt_step(1, session=session, **GIVEN), session=session)
    channels = {ONE: "agent:main:irc:group:#lab", OTHER: "agent:main:irc:direct:dave"}
    home.index({key: {"sessionId": session} for session, key in channels.items()})
    import_and_approve(home, main)
    assert set(Artifact.objects.using(MAIN).values_list("session_id", flat=True)) == {ONE}
    manifest, rows = build_by_turn()
    assert prompt_columns(rows[ONE, 1]) == ("", FUNCTIONS)
    assert left_out(manifest)["system"] == {"withheld": 1}


def test_a_turn_that_is_not_in_the_transcript_has_no_prompt(home, main):
    import_turn(home, main)
    DatasetSample.objects.filter(session_id=ONE).update(turn_number=7, turn_traits="gone")
    manifest, rows = build_by_turn()
    assert prompt_columns(rows[ONE, 7]) == ("", [])
    assert left_out(manifest) == {"system": {"not_recorded": 1}, "tools": {"not_recorded": 1}}


def test_calls_of_tools_that_a_row_does_not_describe_are_counted(home, main):
    import_turn(home, main, {"systemPrompt": PROMPT, "tools": [{**TOOL, "name": "read"}]})
    manifest, rows = build_by_turn()
    assert len(rows[ONE, 1]["conversations"]) == 4
    assert manifest["prompts"]["rows_with_undescribed_calls"] == 1


@pytest.mark.parametrize("format_", ["sharegpt", "openai", "messages", "kto"])
def test_rows_from_which_calls_are_left_out_have_no_tools(home, main, format_):
    home.transcript(user("Hi"), assistant("Hello."), session=ONE)
    write_steps(home, prompt_step(1, **GIVEN))
    import_and_approve(home, main)
    export = export_helpers.build_export(format_, tool_calls="leave_out", train_split=1)
    [row, *_others] = export_helpers.read_rows(export)
    assert row.get("tools") in (None, "[]", []) and row.get("system", row)
    assert left_out(export.manifest)["tools"] == {"calls_left_out": export.manifest["counts"]["rows"]}


def test_other_rows_have_no_prompts(home, main):
    import_turn(home, main)
    assert "prompts" not in export_helpers.build_and_read("alpaca", tool_calls="input")[0]


def test_parallel_calls_one_after_the_other(home, main):
    calls = [("a", "exec", {"command": "ls"}), ("b", "exec", {"command": "pwd"})]
    records = [user("Both?"), assistant("I look.", *calls), result("b", "/"), result("a", "x"), assistant("Done.")]
    home.transcript(*records, session=ONE)
    import_and_approve(home, main)
    manifest, rows = build_by_turn(parallel_calls="split")
    assert [message["from"] for message in rows[ONE, 1]["conversations"]] == [
        "human",
        "function_call",
        "observation",
        "function_call",
        "observation",
        "gpt",
    ]
    values = [message["value"] for message in rows[ONE, 1]["conversations"][1:5]]
    assert values[0] == '{"name":"exec","arguments":{"command":"ls"}}'
    assert values[1:] == ["x", '{"name":"exec","arguments":{"command":"pwd"}}', "/"]
    assert manifest["transformations"]["parallel_tool_calls_split"] == 1
