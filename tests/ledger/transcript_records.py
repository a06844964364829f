"""Sessions of any shape in the store, created by the ledger's own functions.

Their records come from tests.homes.
"""

import json

import orjson

from ledger.collectors.jsonl import Line, parse_line
from ledger.models import Session, TrajectoryEvent
from ledger.transcripts.transcript_store import Transcript, store_transcript
from tests.factories import T0
from tests.homes import assistant, result, user


def store_session(*records, db="agent_ada", session_id="s1", opted_out=()):
    """Store a session of these records, with the ids r1, r2, ..., and return it.

    Each record follows the previous one unless it says otherwise.
    """
    lines, before = [], None
    for number, record in enumerate(records, start=1):
        filled = {"id": f"r{number}", "parentId": before, "timestamp": T0 + number * 1000, **record}
        before = filled["id"]
        lines.append(parse_line(Line(number * 10, number * 10 + 10, json.dumps(filled).encode())))
    transcript = Transcript(session_id, f"{session_id}.jsonl", T0, opted_out=frozenset(opted_out))
    store_transcript(db, transcript, iter(lines))
    return Session.objects.using(db).get(id=session_id)


def channel_message(name, text):
    """Return a message with a sender whom its channel names, or without a sender."""
    envelope = f'Sender (untrusted metadata):\n```json\n{{"label": "{name}", "id": "{name}"}}\n```\n\n'
    return user((envelope if name else "") + text)


def store_group_chat(*names):
    """Store a group chat in which these people ask in turn, and return its turns.

    The first question of "mei" is "Mei one".
    """
    records = []
    for place, name in enumerate(names):
        again = names[:place].count(name)
        records.append(channel_message(name, f"{(name or 'nobody').title()} {('one', 'two')[again]}"))
        records.append(assistant(f"To {name.title() or 'nobody'}{' again' * again}"))
    session = store_session(*records)
    Session.objects.using("agent_ada").update(session_key="agent:ada:irc:group:#lab", origin="group")
    return list(session.turns.order_by("first_seq"))


def working_turns(count):
    """Turns of four records: a question, a call, its output, a reply."""
    for number in range(1, count + 1):
        yield user(f"question {number}")
        yield assistant("Looking.", (f"c{number}", "exec", {"command": f"ls {number}"}))
        yield result(f"c{number}", f"output {number}", details={"exitCode": 0, "durationMs": 50})
        yield assistant(f"reply {number}")


def store_step(number=1, session_id="s1", type="model.completed", about=None, **more):
    """Store a step of a run of ada's session."""
    values = {"seq": number, "run_id": f"run-{number}", "created_at": T0 + number, **more}
    text = orjson.dumps({"modelId": "big"} if about is None else about).decode()
    return TrajectoryEvent.objects.using("agent_ada").create(
        id=f"id{number}", session_id=session_id, type=type, about_json=text, **values
    )


def get_text(response):
    """Return the body of a response as text."""
    return response.content.decode()
