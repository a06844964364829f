"""Homes whose runs say what their models were given, for tests of exports: as OpenClaw records them, and small."""

import json

from datasets.models import DatasetSample
from datasets.services import make_samples
from tests.collecting.collect_runs import run
from tests.datasets.exports.exporting import built
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
# As they were met in folders of OpenClaw 2026.7.1 to 2026.9.6.
TOO_LONG = {"truncated": True, "reason": "trajectory-field-size-limit", "originalChars": 47863, "limitChars": 32768}
TOO_DEEP = {"truncated": True, "reason": "trajectory-depth-limit", "limitDepth": 6}
TOO_MANY = {"truncated": True, "reason": "trajectory-object-size-limit", "originalKeys": 106, "limitKeys": 64}
MASKED = PROMPT + "\n## Runtime\nsessionId=<redacted> | host=vm | model=<redacted>"


def with_property(about, name="place"):
    """A list of tools with a property like this nested in it."""
    item = {"type": "object", "properties": {name: about}}
    return [{**TOOL, "parameters": {"type": "object", "properties": {"list": {"type": "array", "items": item}}}}]


def compiled(second, run_id="run1", session=ONE, type_="context.compiled", **data):
    """A step that says what a model was given, so many seconds into the session."""
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


def working(number, **about):
    """The four records of a turn that calls a tool: one a second."""
    call = (f"c{number}", "exec", {"command": f"ls {number}"})
    made = [user(f"question {number}"), assistant("", call), result(f"c{number}"), assistant(f"answer {number}")]
    for record in made[1:]:
        record["message"] |= about
    return made


def of_run(run_id):
    """What OpenClaw 2026.9 says in a message of its run."""
    return {"__openclaw": {"runId": run_id}}


def recorded(home, *steps, session=ONE):
    """Write a session's steps beside its transcript."""
    text = "".join(json.dumps(step) + "\n" for step in steps)
    return home.write(f"agents/main/sessions/{session}.trajectory.jsonl", text)


def collected(home, main, *sessions):
    """Import a home and approve a sample of every turn."""
    told = run(home)["agents"]["main"]
    for session in sessions or (ONE,):
        make_samples(main, session, None, by="root")
    DatasetSample.objects.update(annotation_status="approved")
    return told


def build(**choices):
    """The manifest of a built export, and its rows by session and turn, as a loader reads them."""
    manifest, rows = built(**choices)
    return manifest, {(row["session_id"], int(row["turn_number"])): row for row in rows.values()}
