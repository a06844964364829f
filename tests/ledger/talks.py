"""Sessions of any shape in the store, by way of the ledger's own door; records come from tests.homes."""

import json

import orjson

from ledger.collectors.jsonl import Line, parse
from ledger.models import Session, TrajectoryEvent
from ledger.transcripts.storing import Transcript, store_transcript
from tests.factories import T0
from tests.homes import assistant, result, user


def tell(*records, db="agent_ada", session_id="s1", opted_out=()):
    """Store a session; records get ids r1, r2, ... and follow each other unless they say otherwise."""
    lines, before = [], None
    for number, record in enumerate(records, start=1):
        made = {"id": f"r{number}", "parentId": before, "timestamp": T0 + number * 1000, **record}
        before = made["id"]
        lines.append(parse(Line(number * 10, number * 10 + 10, json.dumps(made).encode())))
    transcript = Transcript(session_id, f"{session_id}.jsonl", T0, opted_out=frozenset(opted_out))
    store_transcript(db, transcript, iter(lines))
    return Session.objects.using(db).get(id=session_id)


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
