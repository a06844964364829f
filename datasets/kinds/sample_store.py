"""The sample of something, made once, whatever its kind."""

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
from ..models import DatasetSample
from .kind import NONE, WRONG, SampleKind

Status = DatasetSample.Status


def compute_sample_id(agent_id: str, name: str, key: str) -> str:
    """The id of a sample: always the same one, so that making it twice is making it once."""
    return hashlib.sha256("\n".join([agent_id, name, key]).encode()).hexdigest()[:32]


def is_stored(name: str) -> bool:
    """Whether a sample is there. One whose first verdict was undone has no status, and may be made anew."""
    return DatasetSample.objects.filter(id=name, annotation_status__isnull=False).exists()


def build_sample(
    kind: SampleKind, agent: Agent, name: str, seen: Any, *, verdict: str = NONE, status: str = Status.PENDING
) -> DatasetSample:
    """A sample that is not stored yet, with what it comes with for a reviewer.

    One that is made for a `verdict` has no status and no label until then: undoing that leaves nothing in the queue.
    """
    turn = seen.turn
    body = kind.body(agent, seen, verdict != WRONG)
    own = {
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
    own |= kind.columns(agent, seen) | (kind.labels(seen) if verdict == NONE else {})
    return DatasetSample(id=compute_sample_id(agent.agent_id, name, kind.key), **own)


@contextmanager
def sample_transaction(agent: Agent, sample: DatasetSample | None) -> Iterator[None]:
    """A transaction on the global file in which the sample is there; None: it was there before.

    Under the write lock of the agent's file, under which whoever removes a session looks whether it has samples.
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
    """Store a new sample, of which nobody says anything yet."""
    with sample_transaction(agent, sample):
        pass
    signatures.ensure_signature(sample.id)


def find_exclusion(sample: DatasetSample) -> str:
    """Why nobody is asked about a sample unasked: one of made.EXCLUDED; empty when nothing says so."""
    return turn_facts.find_exclusion(sample.prompted_by, sample.reply_stop, sample.turn_traits)
