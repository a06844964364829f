"""Reads a generated home line by line, knowing nothing of how it was written: a second opinion for tests."""

import json
from collections import Counter


def lines(root, file):
    """(offset, bytes) of each line of a file of the home."""
    offset = 0
    with (root / file).open("rb") as source:
        for line in source:
            yield offset, line
            offset += len(line)


def read(root, truth, *, states):
    """The records of all transcripts in these states, and (file, offset) of every line that is none."""
    records, bad = [], set()
    for session in truth.sessions:
        if session.state in states:
            for offset, line in lines(root, session.file):
                try:
                    records.append(json.loads(line))
                except ValueError:
                    bad.add((session.file, offset))
    return records, bad


def messages(records, role):
    return [record["message"] for record in records if record.get("message", {}).get("role") == role]


def calls(message):
    return [block for block in message["content"] if block["type"] == "toolCall"]


def failure(result):
    """How a tool result says that the tool failed; an empty text when it does not."""
    details = result.get("details", {})
    if result["isError"]:
        return "flagged"
    if details.get("status") == "error":
        return "status"
    return "exit_code" if details.get("exitCode") else ""


def recount(records):
    """The counts of `truth.Counts`, made again."""
    asked, answered, results = (messages(records, role) for role in ("user", "assistant", "toolResult"))
    real = [message for message in answered if message["provider"] != "openclaw"]
    return {
        "records": len(records),
        "types": Counter(record["type"] for record in records),
        "roles": Counter(record["message"]["role"] for record in records if "message" in record),
        "turns": len(asked),
        "tool_calls": Counter(call["name"] for message in real for call in calls(message)),
        "tool_results": len(results),
        "failed": Counter(sort for sort in map(failure, results) if sort),
        "stop_reasons": Counter(message["stopReason"] for message in real),
        "synthetic": Counter(message["model"] for message in answered if message["provider"] == "openclaw"),
        "model_errors": sum(message.get("stopReason") == "error" for message in real),
        "images": sum(block["type"] == "image" for message in asked for block in message["content"]),
    }
