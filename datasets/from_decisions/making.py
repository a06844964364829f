"""The sample of a decision, made once: of what the gate saw, and of the turn it is about."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
from django.db import transaction
from django.utils.translation import gettext as _

from agents.models import Agent
from guardian.models import WriteGuardianAudit
from guardian.recording.told import CHANGED
from ledger.models import ConversationTurn
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import writing

from .. import turn_facts
from ..likeness import signatures
from ..models import DatasetSample
from . import bodies, window_words
from .seen import Seen

TYPES, Status = DatasetSample.Type, DatasetSample.Status


def sample_id(agent_id: str, decision_id: str) -> str:
    """The id of a decision's sample: always the same one, whatever people say of the decision."""
    return hashlib.sha256("\n".join([agent_id, decision_id, "memory_gate"]).encode()).hexdigest()[:32]


def is_there(name: str) -> bool:
    """Whether a sample is there. One whose first verdict was undone has no status, and may be made anew."""
    return DatasetSample.objects.filter(id=name, annotation_status__isnull=False).exists()


def sample_of(agent: Agent, seen: Seen, *, is_right: bool, status: str | None = Status.PENDING) -> DatasetSample:
    """The sample of a decision, not stored yet and not judged: a positive one, or one of which something is wrong.

    Without a turn it has the session, or the key, of its decision, and what its window says of itself.
    """
    decision, turn = seen.decision, seen.turn
    facts = turn_facts.of_turn(agent.db, turn) if turn else window_words.read_facts(seen.window)
    body = bodies.content(decision, seen.window, is_right=is_right, was_written=was_written(agent, decision.id))
    return DatasetSample(
        id=sample_id(agent.agent_id, decision.id),
        sample_type=body["type"],
        turn_id=turn.id if turn else None,
        decision_id=decision.id,
        session_id=turn.session_id if turn else decision.session_id,
        content=orjson.dumps(body).decode(),
        annotation_status=status,
        collection_strategy="manual",
        created_at=clock.now_ms(),
        agent_id=agent.agent_id,
        turn_number=turn.turn_number if turn else None,
        **facts,
    )


def was_written(agent: Agent, decision_id: str) -> bool | None:
    """Whether write_guardian wrote what a decision asked for, whatever became of that later; None: nobody knows."""
    writes = WriteGuardianAudit.objects.using(agent.db).filter(decision_id=decision_id)
    statuses = set(writes.exclude(origin=WriteGuardianAudit.Origin.ROLLBACK).values_list("status", flat=True))
    return bool(statuses & set(CHANGED)) if statuses else None


@contextmanager
def stored(agent: Agent, sample: DatasetSample | None) -> Iterator[None]:
    """A transaction on the global file in which the sample is there; None: it was there before.

    Under the write lock of the agent's file, under which whoever removes a session looks whether it has samples.
    """
    if sample is None:
        with writing.in_turn():
            yield
        return
    with transaction.atomic(using=agent.db):
        if sample.turn_id and not ConversationTurn.objects.using(agent.db).filter(id=sample.turn_id).exists():
            raise Refused(_("The turn is no longer stored, so it cannot become a sample."))
        with writing.in_turn():
            if not is_there(sample.id):
                sample.save()
            yield


def add_own(agent: Agent, seen: Seen, *, status: str = Status.PENDING) -> tuple[DatasetSample, bool]:
    """The decision's own sample, which says nothing of it when it is new; and whether it is new."""
    name = sample_id(agent.agent_id, seen.decision.id)
    known = DatasetSample.objects.filter(id=name, annotation_status__isnull=False).first()
    if known:
        return known, False
    with stored(agent, sample_of(agent, seen, is_right=True, status=status)):
        sample = DatasetSample.objects.get(id=name)
    signatures.complete(name)
    return sample, True
