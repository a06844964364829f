"""Builds every kind of export from a store with judged turns of two agents."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from pyarrow import parquet

from datasets.exports import exports
from datasets.models import DatasetSample
from datasets.services import make_samples
from ledger.collectors.jsonl import Line, parse_line
from ledger.collectors.trajectories import COMPILED, Step
from ledger.transcripts.extras_store import store_steps
from ledger.transcripts.transcript_store import Transcript, store_transcript
from tests.datasets.exporters.judged_samples import store_judged_writes
from tests.datasets.exports.branches import Steps, body
from tests.factories import T0, SampleFactory

NEVER = "NOT APPROVED"  # in every reply and every call that nobody approved
EDITED = "Edited by a person: 已编辑 ✅"
PROMPT = "You are Ada.\n\n## Tooling\n- exec: 运行 {{ command }}\n"
TOOL = {
    "name": "exec",
    "description": "Run a command.",
    "parameters": {
        "type": "object",
        "required": ["command"],
        "properties": {
            "command": {"type": "string", "enum": ["df -h", "ls"]},
            "env": {"type": "object", "properties": {"LANG": {"type": "string"}}},
        },
    },
}
# A property of the same name has another type here, and its default is no text.
OTHER_TOOL = {
    "name": "wait",
    "description": "Wait.",
    "parameters": {"type": "object", "properties": {"command": {"type": "integer", "default": 5}}},
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of export: its options, and the programs that take it unchanged (`readers`)."""

    name: str
    format: str
    readers: tuple[str, ...]
    task: str = "reply"
    options: dict = field(default_factory=dict)


EVERYONE = ("datasets", "llamafactory", "axolotl", "trl")
KINDS = (
    Kind("alpaca", "alpaca", EVERYONE),
    Kind("alpaca-input", "alpaca", EVERYONE, options={"tool_calls": "input"}),
    Kind("alpaca-gate", "alpaca", EVERYONE, task="gate"),
    Kind("sharegpt-edited", "sharegpt", EVERYONE, options={"history": "edited"}),
    Kind("sharegpt-session", "sharegpt", EVERYONE, options={"history": "session"}),
    Kind("sharegpt-context", "sharegpt", EVERYONE, options={"history": "context"}),
    Kind("sharegpt-gate", "sharegpt", (*EVERYONE, "unsloth"), task="gate"),
    Kind("sharegpt-split", "sharegpt", EVERYONE, options={"parallel_calls": "split"}),
    Kind("sharegpt-no-tools", "sharegpt", (*EVERYONE, "unsloth"), options={"tool_calls": "leave_out"}),
    Kind("sharegpt-words", "sharegpt", (*EVERYONE, "unsloth"), options={"agent": "bob"}),  # bob calls no tools
    Kind("sharegpt-reflection", "sharegpt_reflection", ("llamafactory", "axolotl", "trl")),
    Kind("openai", "openai", ("trl",)),
    Kind("openai-split", "openai", ("trl",), options={"parallel_calls": "split"}),
    Kind("messages", "messages", ("axolotl", "trl")),
    Kind("messages-split", "messages", ("axolotl", "trl"), options={"parallel_calls": "split"}),
    Kind("messages-context", "messages", ("axolotl", "trl"), options={"history": "context"}),
    Kind("messages-gate", "messages", ("axolotl", "trl"), task="gate"),
    Kind("parquet", "parquet", ("axolotl", "trl")),
    Kind("preference", "preference", ("trl-dpo",)),
    Kind("preference-context", "preference", ("trl-dpo",), options={"history": "context"}),
    Kind("preference-guardian", "preference", ("trl-dpo",), task="guardian"),
    Kind("openai-preference", "openai_preference", ()),
    Kind("llamafactory-preference", "llamafactory_preference", ("llamafactory-dpo",)),
    Kind("kto", "kto", ("trl-kto",)),
)
CONTEXTS = frozenset({"sharegpt-context", "messages-context"})  # of which TRL learns the last reply alone


def write_everything(ada, bob, home):
    """Write an export of each kind; return their folders by name."""
    _fill_store(ada, bob)
    folders = {}
    for kind in KINDS:
        export = exports.create_export(kind.name, kind.format, kind.task, by="ann", train_split=1, **kind.options)
        exports.build_export(export.id, Steps())
        folders[kind.name] = str(exports.folder_of(export).rename(home / kind.name))
    return folders


def find_kinds_for(reader):
    """The kinds of exports that a program takes unchanged."""
    return [kind for kind in KINDS if reader in kind.readers]


def find_rows_file(folder):
    """The file with the rows of an export."""
    [file] = [file for file in Path(folder).glob("ocl_*.train.*") if file.name.count(".") == 2]
    return file


def read_export_rows(folder):
    """The rows of an export, as its file has them.

    Those of Parquet come without nulls, and with arguments as objects.
    """
    if find_rows_file(folder).suffix == ".parquet":
        return [restore_row(row) for row in parquet.read_table(find_rows_file(folder)).to_pylist()]
    return [orjson.loads(line) for line in find_rows_file(folder).read_bytes().splitlines()]


def restore_row(row):
    """A row of Parquet or of an old `datasets`, as a file of lines has it."""
    row = {name: remove_nulls(value) for name, value in row.items()}
    for message in (part for value in row.values() if isinstance(value, list) for part in value):
        for call in message.get("tool_calls", ()):
            if isinstance(call["function"]["arguments"], str):
                call["function"]["arguments"] = orjson.loads(call["function"]["arguments"])
    return row


def remove_nulls(value):
    """A list of messages without nulls; any other value as it is."""
    if not isinstance(value, list):
        return value
    return [{key: item for key, item in message.items() if item is not None} for message in value]


def find_taught_texts(row):
    """The texts and calls that a model learns from a row.

    Calls are lists of name and arguments.
    """
    if "output" in row:
        return [row["output"]]
    if "messages" in row:
        replies = [part for part in row["messages"] if part["role"] == "assistant" and part.get("train", True)]
        return [list_calls(part["tool_calls"]) if "tool_calls" in part else part["content"] for part in replies]
    replies = [
        turn for turn in row["conversations"] if turn["from"] in ("gpt", "function_call") and turn.get("train", True)
    ]
    return [parse_calls(turn["value"]) if turn["from"] == "function_call" else turn["value"] for turn in replies]


def list_calls(calls):
    """Calls of messages as lists of name and arguments have them."""
    return [{"name": call["function"]["name"], "arguments": call["function"]["arguments"]} for call in calls]


def parse_calls(value):
    """Calls as a list, without the thoughts before them."""
    calls = orjson.loads(value.partition("</think>")[2] if value.startswith("<think>") else value)
    return calls if isinstance(calls, list) else [calls]


def assert_taught(learned, folder, last_only=False):
    """Check that the program learns every row, and of it exactly the right texts."""
    expected = [
        find_taught_texts(row)[-1:] if last_only else find_taught_texts(row) for row in read_export_rows(folder)
    ]
    actual = [[parse_template_calls(text) or text for text in row] for row in learned]
    assert len(actual) == len(expected) > 0
    assert actual == [[reply if isinstance(reply, list) else reply.strip("\n") for reply in row] for row in expected]
    assert NEVER not in orjson.dumps(actual).decode()


def parse_template_calls(text):
    """The calls in a learned text, as our files or as templates spell them; else none."""
    tagged = re.findall(r"<tool_call>\n(.*?)\n</tool_call>", text, re.DOTALL)
    if tagged:
        return [orjson.loads(call_text) for call_text in tagged]
    try:
        if '[{"' in text and '"function":' in text:  # after the words that stand before them
            return list_calls(orjson.loads(text[text.index('[{"') :]))
        return [call for call in parse_calls(text) if call.keys() == {"name", "arguments"}]
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        return []


def _fill_store(ada, bob):
    """Store two agents, one with tools, and samples of all kinds.

    One turn is not approved, one is edited, and some samples have decisions.
    """
    _store_messages("agent_ada", "s1", _build_tool_messages())
    _store_messages(
        "agent_bob", "s2", [_user("Hello"), _agent("Hello 👋"), _user("Thanks"), _agent("You are\n\nwelcome.")]
    )
    _store_messages(
        "agent_ada", "s3", [_user("One more: $\\frac{1}{2}$ <b>&amp;</b>"), _agent("```py\nprint('{{ x }}')\n```")]
    )
    _store_prompt("agent_ada", "s1", TOOL)
    _store_prompt("agent_bob", "s2", OTHER_TOOL)  # and nothing of s3: not every row has a prompt
    for agent, session in ((ada, "s1"), (bob, "s2"), (ada, "s3")):
        make_samples(agent, session, None, by="ann")
    judged = DatasetSample.objects.exclude(session_id="s1", turn_number=3)
    judged.update(annotation_status="approved")
    judged.filter(session_id="s1", turn_number=2).update(output=EDITED)
    for number in range(1, 4):
        fact = "2026-01-31" if number == 1 else "likes tea"
        gate = {"output": {"decision": "UPDATE_USER", "reason": "Stable.", "candidateFact": fact}}
        content = body(number, memoryGate=gate)
        SampleFactory(session_id="gate", turn_number=number, content=content, annotation_status="approved")
    store_judged_writes()
    DatasetSample.objects.filter(session_id="s2", turn_number=1).update(annotation_status="rejected")


def _build_tool_messages():
    """Four turns with calls in sequence and in parallel, several writing systems, many arguments."""
    parallel = [_call("c2", "read", path="a.txt", limit=20), _call("c3", "exec", command="ls", env={"LANG": "C"})]
    odd = {"path": {"nested": [1, None, "<think>ü</think>"]}, "limit": "<tool_call></tool_call>"}
    return [
        _user("How full is the disk? 磁盘还剩多少？"),
        _agent("I will look.", _call("c1", "exec", command='df -h | grep "vda"')),
        _result("c1", "vda  252G  25G\n"),
        _agent("A tenth of it. 👍🏽"),
        _user("Read both files."),
        _agent("", *parallel),
        _result("c2", ""),
        _result("c3", "عربي\u2028second line") | {"isError": True},
        _agent("The first one is empty."),
        _user("And now?"),
        _agent("", _call("c4", "read", path=NEVER)),
        _result("c4", "nothing"),
        _agent(NEVER),
        _user("Write it down."),
        _agent("", _call("c5", "write", **odd)),
        _result("c5", "2026-01-31"),
        _agent("2026-01-31"),
    ]


def _store_messages(db, session_id, messages):
    lines = []
    for number, message in enumerate(messages):
        line = {"type": "message", "id": f"{session_id}-{number}", "message": message, "timestamp": T0 + number * 1000}
        line["parentId"] = f"{session_id}-{number - 1}" if number else None
        lines.append(parse_line(Line(number, number + 1, orjson.dumps(line))))
    store_transcript(db, Transcript(session_id, f"{session_id}.jsonl", T0), iter(lines))


def _store_prompt(db, session_id, tool):
    """Store the prompt and tools that the model had from before its first turn."""
    store_steps(db, [Step(session_id, 1, "run", COMPILED, T0 - 1, prompt=PROMPT, tools=[tool])])


def _user(text):
    return {"role": "user", "content": text}


def _agent(text, *calls):
    content = [{"type": "text", "text": text}] if text else []
    return {"role": "assistant", "model": "m-1", "stopReason": "stop", "content": [*content, *calls]}


def _call(call_id, name, **arguments):
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def _result(call_id, text):
    return {"role": "toolResult", "toolCallId": call_id, "content": [{"type": "text", "text": text}]}
