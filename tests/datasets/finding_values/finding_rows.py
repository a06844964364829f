"""Texts with personal data for tests, with their findings as a scan stores them."""

import json

from datasets.finding_values import decisions, summary
from findings.models import Finding, Source
from findings.value_hash import compute_value_hash
from ledger.models import Session
from tests import factories

MAIL, KEY = "mei.tanaka@hanamail.jp", "sk-ant-api03-Zk3vQ9xTr7LmWp2YbN8cHd5JfGs1Ae6Uo4Ri0KtXwVq"
MAIL_HASH, KEY_HASH = compute_value_hash("email", MAIL), compute_value_hash("key", KEY)
PATH = "$.message.content[0].text"


def say(agent, session, number, text):
    """Store a turn whose user says this text, and return its record."""
    db = agent.db
    record = {
        "type": "message",
        "id": f"{session}-{number}",
        "message": {"role": "user", "content": [{"type": "text", "text": text}]},
    }
    if not Session.objects.using(db).filter(id=session).exists():
        factories.SessionFactory(db=db, id=session)
    stored = Session.objects.using(db).get(id=session)
    factories.TurnFactory(db=db, session=stored, turn_number=number, first_seq=number, last_seq=number)
    return factories.EventFactory(db=db, session=stored, seq=number, turn_number=number, event_json=json.dumps(record))


def find(agent, session, number, text, value, kind="email", rule=""):
    """Store the finding of a value in a message, and count the values again."""
    say(agent, session, number, text)
    start = text.index(value)
    name = compute_value_hash(kind, value)
    row = Finding.objects.using(agent.db).create(
        source=Source.RECORD, source_id=f"{session}/{number}", session_id=session, turn_number=number, path=PATH,
        start=start, end=start + len(value), kind=kind, rule=rule or f"{kind}_rule", confidence=0.9, value_hash=name,
        found_at=1_000 + number,
    )  # fmt: skip
    summary.refresh(agent.agent_id, agent.db, [name])
    return row


def states(agent, **columns):
    """The states of the findings in an agent's file, in order."""
    rows = list(Finding.objects.using(agent.db).filter(**columns).order_by("id"))
    return decisions.find_states(agent.agent_id, rows)
