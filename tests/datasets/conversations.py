"""Short conversations, stored through the ledger's own functions."""

import orjson

from ledger.collectors.jsonl import Line, parse_line
from ledger.transcripts.transcript_store import Transcript, store_transcript
from tests.factories import T0


def user(record_id, text, *, after=None, sender=None):
    """A transcript line of a person."""
    own = {"__openclaw": {"senderId": sender}} if sender else {}
    return _line(record_id, after, {"role": "user", "content": text, **own})


def agent(record_id, text, *, after=None):
    """A transcript line of the agent; without a text, it only calls a tool."""
    blocks = [{"type": "text", "text": text}] if text else [{"type": "toolCall", "id": "c", "name": "exec"}]
    return _line(record_id, after, {"role": "assistant", "model": "m-1", "content": blocks})


def tool_result(record_id, text, *, after=None):
    """A transcript line with the result of the call of `agent` without a text."""
    content = [{"type": "text", "text": text}]
    return _line(record_id, after, {"role": "toolResult", "toolCallId": "c", "toolName": "exec", "content": content})


def store_session(lines, *, session_id="s1", db="agent_ada", opted_out=()):
    """Store a session of these lines.

    Each line follows the one before, unless it names another parent.
    """
    before = None
    parsed = []
    for number, line in enumerate(lines):
        line["parentId"] = line["parentId"] or before
        line["timestamp"] = T0 + number * 1000
        before = line["id"]
        parsed.append(parse_line(Line(number, number + 1, orjson.dumps(line))))
    transcript = Transcript(session_id, f"{session_id}.jsonl", T0, opted_out=frozenset(opted_out))
    store_transcript(db, transcript, iter(parsed))


def store_turns(count, about="", **where):
    """Store a session of `count` plain turns."""
    lines = []
    for number in range(1, count + 1):
        lines += [user(f"u{number}", f"question {number}{about}"), agent(f"a{number}", f"answer {number}")]
    store_session(lines, **where)


def _line(record_id, after, message):
    return {"type": "message", "id": record_id, "parentId": after, "message": message}
