"""Small homes that record what the models of their runs were given.

For tests of exports; the records are as OpenClaw writes them.
"""

import json

from datasets.models import DatasetSample
from datasets.services import make_samples
from tests.collecting.collect_runs import run
from tests.datasets.exports.export_helpers import build_and_read
from tests.homes import START, assistant, result, user

ONE, OTHER = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2))
PROMPT = "You are a personal assistant running inside OpenClaw.\n## Tooling\n- exec: Run shell"
TOOL = {
    "name": "exec",
    "description": "Run a command. Long output is truncated to 2000 lines.",
    "parameters": {"type": "object", "required": ["command"], "properties": {"command": {"type": "string"}}},
}
TOOLS = [TOOL]
FUNCTIONS = [
    {
        "type": "function",
        "function": {
            "name": "exec",
            "description": TOOL["description"],
            "parameters": {
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
            },
        },
    }
]
# Placeholders copied from folders of OpenClaw 2026.7.1 to 2026.9.6.
TOO_LONG = {"truncated": True, "reason": "trajectory-field-size-limit", "originalChars": 47863, "limitChars": 32768}
TOO_DEEP = {"truncated": True, "reason": "trajectory-depth-limit", "limitDepth": 6}
TOO_MANY = {"truncated": True, "reason": "trajectory-object-size-limit", "originalKeys": 106, "limitKeys": 64}
MASKED = PROMPT + "\n## Runtime\nsessionId=<redacted> | host=vm | model=<redacted>"


def tools_with_property(about, name="place"):
    """A list of tools with such a property nested in it."""
    item = {"type": "object", "properties": {name: about}}
    return [{**TOOL, "parameters": {"type": "object", "properties": {"list": {"type": "array", "items": item}}}}]


def prompt_step(second, run_id="run1", session=ONE, type_="context.compiled", **data):
    """A run step that records what a model was given, `second` seconds into the session."""
    return {
        "traceSchema": "openclaw-trajectory",
        "schemaVersion": 1,
        "type": type_,
        "ts": f"{START}{second:02d}.500Z",
        "seq": second,
        "sessionId": session,
        "runId": run_id,
        "data": data,
    }


def tool_turn(number, **about):
    """The four records of a turn that calls a tool, one a second."""
    call = (f"c{number}", "exec", {"command": f"ls {number}"})
    records = [user(f"question {number}"), assistant("", call), result(f"c{number}"), assistant(f"answer {number}")]
    for record in records[1:]:
        record["message"] |= about
    return records


def run_mark(run_id):
    """The mark by which OpenClaw 2026.9 names the run of a message."""
    return {"__openclaw": {"runId": run_id}}


def write_steps(home, *steps, session=ONE):
    """Write the run steps of a session beside its transcript."""
    text = "".join(json.dumps(step) + "\n" for step in steps)
    return home.write(f"agents/main/sessions/{session}.trajectory.jsonl", text)


def import_and_approve(home, main, *sessions):
    """Import a home, approve a sample of every turn, and return the counts of the import."""
    imported = run(home)["agents"]["main"]
    for session in sessions or (ONE,):
        make_samples(main, session, None, by="root")
    DatasetSample.objects.update(annotation_status="approved")
    return imported


def build_by_turn(**choices):
    """Build an export; return its manifest and its rows by session and turn."""
    manifest, rows = build_and_read(**choices)
    return manifest, {(row["session_id"], int(row["turn_number"])): row for row in rows.values()}
