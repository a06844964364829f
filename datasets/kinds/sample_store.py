"""Builds and stores the sample of a row of any kind, once."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from agents.models import Agent
from ledger.models import ConversationTurn
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.json_columns import encode

from .. import turn_facts
from ..dedup import signatures
from ..finding_values import sample_privacy
from ..models import DatasetSample
from .kind import NONE, WRONG, SampleKind

Status = DatasetSample.Status


def compute_sample_id(agent_id: str, name: str, key: str) -> str:
    """The id of a sample: always the same, so that a second creation changes nothing."""
    return hashlib.sha256("\n".join([agent_id, name, key]).encode()).hexdigest()[:32]


def is_stored(name: str) -> bool:
    """Whether a sample is stored and has a status.

    One whose first verdict was undone has no status, and may be created again.
    """
    return DatasetSample.objects.filter(id=name, annotation_status__isnull=False).exists()


def build_sample(
    kind: SampleKind, agent: Agent, name: str, subject: Any, *, verdict: str = NONE, status: str = Status.PENDING
) -> DatasetSample:
    """A sample that is not stored yet, with its initial labels for a reviewer.

    One that is created for a `verdict` has no status and no label until then: undoing the verdict leaves no sample in
    the queue.
    """
    turn = subject.turn
    body = kind.body(agent, subject, verdict != WRONG)
    columns = {
        "sample_type": body["type"],
        "turn_id": turn.id if turn else None,
        "session_id": turn.session_id if turn else "",
        "turn_number": turn.turn_number if turn else None,
        "content": encode(body),
        "annotation_status": status if verdict == NONE else None,
        "collection_strategy": "manual",
        "created_at": clock.now_ms(),
        "agent_id": agent.agent_id,
    }
    columns |= kind.columns(agent, subject) | (kind.labels(subject) if verdict == NONE else {})
    sample = DatasetSample(id=compute_sample_id(agent.agent_id, name, kind.key), **columns)
    sample_privacy.set_columns([sample])
    return sample


@contextmanager
def sample_transaction(agent: Agent, sample: DatasetSample | None) -> Iterator[None]:
    """A transaction on the global file in which the sample is stored; None: it already was.

    It also holds the write lock of the agent's file, under which whoever removes a session looks whether it has
    samples.
    """
    if sample is None:
        with write_queue.global_transaction():
            yield
        return
    with transaction.atomic(using=agent.db):
        if sample.turn_id and not ConversationTurn.objects.using(agent.db).filter(id=sample.turn_id).exists():
            raise Refused(_("The turn is no longer stored, so it cannot become a sample."))
        with write_queue.global_transaction():
            if not is_stored(sample.id):
                sample.save()
            yield


def add_sample(agent: Agent, sample: DatasetSample) -> None:
    """Store a new sample without a verdict."""
    with sample_transaction(agent, sample):
        pass
    signatures.ensure_signature(sample.id)


def find_exclusion(sample: DatasetSample) -> str:
    """The reason why a sample is not sent to review unasked; empty: none.

    It is one of outcomes.EXCLUDED.
    """
    return turn_facts.find_exclusion(sample.prompted_by, sample.reply_stop, sample.turn_traits)
