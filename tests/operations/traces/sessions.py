"""Sessions of odd shapes, and what reads their traces back."""

import io
import json
from pathlib import Path

import jsonschema_rs
import orjson
from django.core.management import call_command
from pyarrow import parquet

from findings import scan
from gate.models import MemoryGateDecision
from ledger.models import Session
from tests.factories import DecisionFactory
from tests.homes import assistant, result, user
from tests.ledger.transcript_records import store_session

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) ![y](http://evil.example/y.png)"
KEY = "ghp_" + "a1B2c3D4e5F6" * 3
TEXT = {"type": "string"}
CALL = {
    "type": "object",
    "required": ["id", "function"],
    "additionalProperties": False,
    "properties": {
        "id": TEXT,
        "function": {
            "type": "object",
            "required": ["name", "arguments"],
            "additionalProperties": False,
            "properties": {"name": TEXT, "arguments": TEXT},
        },
    },
}
# From https://huggingface.co/docs/hub/session-traces-format
HEADER_SCHEMA = {
    "type": "object",
    "required": ["type", "harness", "id"],
    "properties": {"type": {"const": "session"}, "harness": {"const": "openclaw"}, "id": TEXT, "name": TEXT},
}
MESSAGE_SCHEMA = {
    "type": "object",
    "required": ["type", "message"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "message"},
        "message": {
            "type": "object",
            "required": ["role", "content"],
            "additionalProperties": False,
            "properties": {
                "role": {"enum": ["user", "assistant", "system", "tool"]},
                "content": TEXT,
                "reasoningContent": TEXT,
                "toolCalls": {"type": "array", "items": CALL},
                "toolCallId": TEXT,
                "timestamp": {"type": "integer"},
                "model": TEXT,
            },
        },
    },
}


def store_odd_session(session_id="s1"):
    """A session with everything that a damaged or hostile transcript can have."""
    thought = {"type": "thinking", "thinking": "I will call it."}
    parallel = assistant("Two calls.", ("c2", "read", {"path": "a"}), ("c2", "read", {"n": 10**30, "deep": [[{}]]}))
    parallel["message"]["content"].insert(0, thought)
    records = (
        user(f"Hello {EVIL} \ud800 half"),
        assistant("", ("c1", "exec", {"command": "ls", EVIL: "\udfff"})),
        result("c1", "x" * 20_000, isError=True),
        result("nobody", "a result without a call"),
        parallel | {"parentId": "gone"},
        result("c2", "first"),
        result("c2", "second"),
        {"type": "compaction", "summary": "It was about files."},
        {"type": "message", "message": {"role": "assistant", "content": 7, "usage": "odd", "model": ["x"]}},
        user("And now?") | {"timestamp": None},
        assistant("", ("", "", "no object")),
        assistant("| a | b |\n|---|---|\n| **1** | 2 |"),
    )
    return store_session(*records, session_id=session_id)


def export(out, form="atif", *more, agent="ada"):
    """Export the sessions of an agent with the command; return its receipt."""
    scan.scan_all()
    printed = io.StringIO()
    agents = ("--agent", agent) if agent else ()
    call_command(
        "trace", "export", "--format", form, "--to", str(out), *agents, *more, "--json", "--quiet", stdout=printed
    )
    return json.loads(printed.getvalue())


def read_table(path):
    """The rows of the Parquet files of a folder."""
    return [row for file in sorted(Path(path).glob("*.parquet")) for row in parquet.read_table(file).to_pylist()]


def read_lines(path):
    """The lines of a file, each checked against the schema of the format."""
    header, *messages = map(orjson.loads, Path(path).read_bytes().splitlines())
    jsonschema_rs.validate(HEADER_SCHEMA, header)
    for message in messages:
        jsonschema_rs.validate(MESSAGE_SCHEMA, message)
        for call in message["message"].get("toolCalls", ()):
            assert isinstance(orjson.loads(call["function"]["arguments"]), dict)
    return header, [message["message"] for message in messages]


def read_trajectory(path):
    """An ATIF document, checked by the rules of its specification that no schema of types says."""
    document = orjson.loads(Path(path).read_bytes())
    check_trajectory(document)
    return document


def check_trajectory(document, ids=None):
    """Check a trajectory and those within it. `ids` are those of the whole document."""
    ids = set() if ids is None else ids
    assert document["schema_version"] == "ATIF-v1.7" and document["agent"]["name"] and document["agent"]["version"]
    assert document["trajectory_id"] not in ids and document["steps"]
    ids.add(document["trajectory_id"])
    embedded = [child["trajectory_id"] for child in document.get("subagent_trajectories", ())]
    for number, step in enumerate(document["steps"], start=1):
        assert step["step_id"] == number and step["source"] in ("user", "agent", "system")
        assert isinstance(step["message"], str)
        of_agents = step.keys() & {"model_name", "reasoning_content", "tool_calls", "metrics"}
        assert not of_agents or step["source"] == "agent"
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        for outcome in step.get("observation", {}).get("results", ()):
            assert outcome["source_call_id"] in calls
            assert all(ref["trajectory_id"] in embedded for ref in outcome.get("subagent_trajectory_ref", ()))
    for child in document.get("subagent_trajectories", ()):
        check_trajectory(child, ids)


def add_decision(session: Session, fact: str) -> MemoryGateDecision:
    """A decision about the first turn of a session."""
    turn = session.turns.order_by("turn_number")[0]
    return DecisionFactory(id="d1", turn_id=turn.id, session_id=session.id, candidate_fact=fact)
