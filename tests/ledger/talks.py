"""Sessions of any shape in the store, by way of the ledger's own door; records come from tests.homes."""

import json

import orjson

from ledger.collectors.jsonl import Line, parse_line
from ledger.models import Session, TrajectoryEvent
from ledger.transcripts.transcript_store import Transcript, store_transcript
from tests.factories import T0
from tests.homes import assistant, result, user


def tell(*records, db="agent_ada", session_id="s1", opted_out=()):
    """Store a session; records get ids r1, r2, ... and follow each other unless they say otherwise."""
    lines, before = [], None
    for number, record in enumerate(records, start=1):
        made = {"id": f"r{number}", "parentId": before, "timestamp": T0 + number * 1000, **record}
        before = made["id"]
        lines.append(parse_line(Line(number * 10, number * 10 + 10, json.dumps(made).encode())))
    transcript = Transcript(session_id, f"{session_id}.jsonl", T0, opted_out=frozenset(opted_out))
    store_transcript(db, transcript, iter(lines))
    return Session.objects.using(db).get(id=session_id)


def says(name, text):
    """A message of somebody whom its channel names, or of nobody whom it names."""
    about = f'Sender (untrusted metadata):\n```json\n{{"label": "{name}", "id": "{name}"}}\n```\n\n'
    return user((about if name else "") + text)


def group_chat(*names):
    """A chat of a group in which these people asked something in turn, "Mei one" to begin with; its turns."""
    said = []
    for place, name in enumerate(names):
        again = names[:place].count(name)
        said.append(says(name, f"{(name or 'nobody').title()} {('one', 'two')[again]}"))
        said.append(assistant(f"To {name.title() or 'nobody'}{' again' * again}"))
    session = tell(*said)
    Session.objects.using("agent_ada").update(session_key="agent:ada:irc:group:#lab", origin="group")
    return list(session.turns.order_by("first_seq"))


def working_turns(count):
    """Turns of four records: a question, a call, its output, a reply."""
    for number in range(1, count + 1):
        yield user(f"question {number}")
        yield assistant("Looking.", (f"c{number}", "exec", {"command": f"ls {number}"}))
        yield result(f"c{number}", f"output {number}", details={"exitCode": 0, "durationMs": 50})
        yield assistant(f"reply {number}")


def step(number=1, session_id="s1", type="model.completed", about=None, **more):
    """Store a step of a run of ada's session."""
    values = {"seq": number, "run_id": f"run-{number}", "created_at": T0 + number, **more}
    text = orjson.dumps({"modelId": "big"} if about is None else about).decode()
    return TrajectoryEvent.objects.using("agent_ada").create(
        id=f"id{number}", session_id=session_id, type=type, about_json=text, **values
    )


def text_of(response):
    """What came back, as text."""
    return response.content.decode()
