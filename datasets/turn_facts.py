"""How the turn of a sample began and ended: whether a person asked, and whether the reply was cut off.

Both are stored when a sample is created. Older samples are brought up to date before an export is built.
"""

from collections import defaultdict
from collections.abc import Iterable

import orjson
from django.db import transaction
from django.db.models import QuerySet

from agents import databases
from ledger.collectors.records import facts, injected, is_silent
from ledger.models import ConversationTurn, TranscriptEvent, TranscriptEventIdentity
from ledger.transcripts.trimming import full_record

from .models import DatasetSample

SILENT = "silent"
BATCH = 200


def prompted_by(user_text: str, reply: str) -> str:
    """Which prompt of OpenClaw's own a turn answers, `silent` for a reply that is not to be sent; empty: neither."""
    return injected(user_text) or (SILENT if is_silent(reply) else "")


def fill(samples: QuerySet[DatasetSample]) -> int:
    """Store both for every one of these samples that has neither; how many there were.

    What the reply of a turn that is gone ended with stays unknown, and is stored as nothing.
    """
    missing = samples.filter(prompted_by=None, turn_number__isnull=False).order_by("agent_id", "session_id", "id")
    count = 0
    while batch := list(missing.only("id", "agent_id", "session_id", "turn_id", "content")[:BATCH]):
        stops = _stops(batch)
        for sample in batch:
            body = _body(sample)
            sample.prompted_by = prompted_by(_text(body, "userMessage"), _text(body, "agentReply"))
            sample.reply_stop = stops.get((sample.agent_id, sample.turn_id), "")
        with transaction.atomic():
            DatasetSample.objects.bulk_update(batch, ["prompted_by", "reply_stop"])
        count += len(batch)
    return count


def _stops(batch):
    """The stop reason of each reply, by agent and id of the turn."""
    turns = defaultdict(set)
    for sample in batch:
        turns[sample.agent_id].add(sample.turn_id)
    found = {}
    for agent_id, ids in turns.items():
        try:
            db = databases.alias(agent_id)
        except (databases.UnknownAgent, databases.OldAgentFile):
            continue
        for turn_id, stop in _of_agent(db, ids):
            found[agent_id, turn_id] = stop
    return found


def _of_agent(db, turn_ids) -> Iterable[tuple[str, str]]:
    turns = ConversationTurn.objects.using(db).filter(id__in=turn_ids, agent_message_id__isnull=False)
    by_session = defaultdict(dict)
    for turn_id, session_id, record_id in turns.values_list("id", "session_id", "agent_message_id"):
        by_session[session_id][record_id] = turn_id
    for session_id, records in by_session.items():
        places = TranscriptEventIdentity.objects.using(db).filter(session_id=session_id, event_id__in=records)
        seqs = dict(places.values_list("seq", "event_id"))
        for event in TranscriptEvent.objects.using(db).filter(session_id=session_id, seq__in=seqs).iterator():
            yield records[seqs[event.seq]], facts(full_record(event)).stop_reason or ""


def _body(sample):
    try:
        body = orjson.loads(sample.content)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def _text(body, name):
    value = body.get(name)
    return value if isinstance(value, str) else ""
