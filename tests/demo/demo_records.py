"""Reads a generated home line by line, independently of the code that wrote it."""

import json
from collections import Counter


def lines(root, file):
    """Yield (offset, bytes) of each line of a file of the home."""
    offset = 0
    with (root / file).open("rb") as source:
        for line in source:
            yield offset, line
            offset += len(line)


def read(root, truth, *, states):
    """Return the records of transcripts in these states, and the bad lines.

    A bad line is given as (file, offset).
    """
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
    """Return how a tool result marks its failure, or an empty text."""
    details = result.get("details", {})
    if result["isError"]:
        return "flagged"
    if details.get("status") == "error":
        return "status"
    return "exit_code" if details.get("exitCode") else ""


def recount(records):
    """Count records as `truth.Counts` does, from the records alone."""
    user_messages, replies, results = (messages(records, role) for role in ("user", "assistant", "toolResult"))
    model_replies = [message for message in replies if message["provider"] != "openclaw"]
    return {
        "records": len(records),
        "types": Counter(record["type"] for record in records),
        "roles": Counter(record["message"]["role"] for record in records if "message" in record),
        "turns": len(user_messages),
        "tool_calls": Counter(call["name"] for message in model_replies for call in calls(message)),
        "tool_results": len(results),
        "failed": Counter(sort for sort in map(failure, results) if sort),
        "stop_reasons": Counter(message["stopReason"] for message in model_replies),
        "synthetic": Counter(message["model"] for message in replies if message["provider"] == "openclaw"),
        "model_errors": sum(message.get("stopReason") == "error" for message in model_replies),
        "images": sum(block["type"] == "image" for message in user_messages for block in message["content"]),
    }
