"""Stores the entries of session indexes with as few statements as possible."""

import hashlib
from collections.abc import Iterable
from itertools import islice

import orjson
from django.db import transaction

from openclaw_web.sqlite import statements

from . import rules
from .collectors import lineage
from .collectors.session_index import IndexEntry
from .injected_prompts import find_heading
from .models import PromptReport, Session
from .transcripts import origins, removal, tool_days
from .transcripts.transcript_store import INSERT_SESSION, SESSION_COLUMNS

CHUNK_ENTRIES = 2_000  # of a session index
MANY_OUTCOMES = 50
DEFAULTS = {field.attname: field.get_default() for field in Session._meta.concrete_fields}
# The columns that come from a session index.
INDEXED_COLUMNS = (
    *("session_key", "origin", "channel_id", "conversation_target", "account_id", "model", "title", "metadata"),
    *("last_activity_at", "prompt_report_id", "parents", "rules"),
)
UPDATE_INDEXED = f"UPDATE sessions SET {', '.join(f'{name} = %s' for name in INDEXED_COLUMNS)} WHERE id = %s"  # noqa: S608


def store_index(db: str, entries: Iterable[IndexEntry]) -> int:
    """Update sessions to their entries in a session index; return how many entries there were.

    Sessions that were removed are left out. New sessions are created.
    """
    reports: dict[str, PromptReport] = {}
    remaining, count = iter(entries), 0
    while batch := list(islice(remaining, CHUNK_ENTRIES)):
        with transaction.atomic(using=db):  # one for each batch: an index may name some hundred thousand sessions
            count += _store_entries(db, batch, reports)
    return count


def _store_entries(db, entries, reports):
    """Store a batch of entries, with one statement for each kind of change; return their number."""
    removed = removal.find_removed_ids(db, [entry.session_id for entry in entries])
    entries = [entry for entry in entries if entry.session_id not in removed]
    known = Session.objects.using(db).in_bulk([entry.session_id for entry in entries])
    new, changed = {}, {}
    for entry in entries:
        session = known.get(entry.session_id) or _build_session(db, entry)
        # Apply an entry to a session; return whether it changed.
        before, conversation = dict(session.__dict__), session.record_count and origins.find_conversation(session)
        session.session_key = entry.session_key
        session.origin = entry.origin
        session.channel_id = entry.channel
        session.conversation_target = entry.target
        session.account_id = entry.account
        session.model = session.model or entry.model
        session.title = session.title or find_heading(entry.label)
        # Outcomes that OpenClaw has no more are kept.
        earlier = session.index_entry.get("outcomes", {}) if '"outcomes"' in (session.metadata or "") else {}
        outcomes = entry.metadata.get("outcomes", {})
        merged = {"outcomes": earlier | outcomes} if earlier else {}
        session.index_entry = (entry.metadata | merged) or None
        session.last_activity_at = max(session.last_activity_at, entry.updated_at or 0)
        if entry.parents:
            session.parents = lineage.add_parents(session.parents, entry.parents)
        if entry.report:
            # The id of a report's row; equal reports are one row.
            text = orjson.dumps(entry.report, option=orjson.OPT_SORT_KEYS)
            report_id = hashlib.sha256(text).hexdigest()
            if report_id not in reports:
                reports[report_id], _ = PromptReport.objects.using(db).get_or_create(
                    id=report_id, defaults={"report_json": text.decode()}
                )
            session.prompt_report_id = report_id
        if session.channel_id != before["channel_id"] and session.record_count:
            tool_days.move_sums(db, session.id, session.channel_id)
        if conversation and conversation != origins.find_conversation(session):
            session.rules = rules.AGAIN  # what was received may be something else
        unknown = [name for name, outcome in outcomes.items() if earlier.get(name) != outcome]
        if conversation and unknown and _has_records_with(session, unknown):
            session.rules = rules.AGAIN
        is_changed = session.__dict__ != before
        if session.id not in known:
            new[session.id] = known[session.id] = session
        elif is_changed and session.id not in new:
            changed[session.id] = session
    statements.run_many(db, INSERT_SESSION, _list_values(new, SESSION_COLUMNS))
    statements.run_many(db, UPDATE_INDEXED, _list_values(changed, (*INDEXED_COLUMNS, "id")))
    return len(entries)


def _has_records_with(session, names):
    """Whether records that are stored name one of these runs or sends; of very many, they are taken to do so."""
    texts = session.events.filter(kind__in=("assistant", "tool_result")).values_list("event_json", flat=True)
    return len(names) > MANY_OUTCOMES or any(any(name in text for name in names) for text in texts.iterator())


def _build_session(db, entry):
    """A new session of an entry, built in a third of the time of Session(...).

    Every column is given, so that no field computes its default.
    """
    moment = entry.updated_at or 0
    values = {**DEFAULTS, "id": entry.session_id, "created_at": moment, "last_activity_at": moment}
    return Session.from_db(db, SESSION_COLUMNS, values.values())


def _list_values(sessions, columns):
    return [[getattr(session, column) for column in columns] for session in sessions.values()]
