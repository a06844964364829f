"""Builds and stores the sample of a row of any kind, once."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from findings.detection import MOST_IN_REQUEST
from ledger.models import ConversationTurn
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.json_columns import encode

from .. import turn_facts
from ..dedup import signatures
from ..finding_values import sample_privacy
from ..models import DatasetSample
from ..quality import scores
from .kind import NONE, WRONG, SampleKind

EXISTED = ngettext_lazy("%(count)s already existed", "%(count)s already existed", "count")
CREATED = ngettext_lazy("%(count)s sample created", "%(count)s samples created", "count")
QUEUED = ngettext_lazy("%(count)s sample added to the queue", "%(count)s samples added to the queue", "count")


@dataclass(slots=True)
class CreationResult:
    """Ids of new and existing samples, and the rows left out with their reasons.

    `skipped` has an item `{"id", "reason"}` for each row. `excluded` counts, by reason, turns that become samples only
    when a person chooses them; in sentences they count as skipped, unless there are words for them (`left_out`). `left`
    counts the turns that a call for all did not reach.
    """

    created: Promise
    skips: Promise
    left_out: Promise | None = None
    made: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    excluded: Counter[str] = field(default_factory=Counter)
    left: int = 0
    room: float = MOST_IN_REQUEST  # characters that may still be searched for personal data

    def skip(self, name: str | int, reason: str) -> None:
        """Leave a row out for a reason."""
        self.skipped.append({"id": str(name), "reason": reason})

    @property
    def sentence(self) -> str:
        """The result in words."""
        excluded = self.excluded.total()
        skipped = len(self.skipped) + (0 if self.left_out else excluded)
        counts = [(EXISTED, len(self.existing)), (self.skips, skipped), (self.left_out, excluded)]
        counts = [(self.created, len(self.made)), *((words, count) for words, count in counts if words and count)]
        parts = [words % {"count": count} for words, count in counts]
        if self.left:
            more = ngettext("%(count)s turn left", "%(count)s turns left", self.left) % {"count": self.left}
            parts.append(_("%(more)s: create samples again to continue") % {"more": more})
        return _("%(parts)s.") % {"parts": listed(parts)}


Status = DatasetSample.Status
BY_HAND = "manual"  # `collection_strategy` of samples that people create


def compute_sample_id(agent_id: str, name: str, key: str) -> str:
    """The id of a sample: always the same, so that a second creation changes nothing."""
    return hashlib.sha256("\n".join([agent_id, name, key]).encode()).hexdigest()[:32]


def is_stored(name: str) -> bool:
    """Whether a sample is stored and has a status.

    One whose first verdict was undone has no status, and may be created again.
    """
    return DatasetSample.objects.filter(id=name, annotation_status__isnull=False).exists()


def build_sample(
    kind: SampleKind,
    agent: Agent,
    name: str,
    subject: Any,
    *,
    verdict: str = NONE,
    status: str = Status.PENDING,
    is_checked: bool = True,
) -> DatasetSample:
    """A sample that is not stored yet, with its initial labels for a reviewer.

    Without `is_checked` it has no score, and is not searched for personal data and secrets: the caller does both for
    many at once.

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
        "collection_strategy": BY_HAND,
        "created_at": clock.now_ms(),
        "agent_id": agent.agent_id,
    }
    columns |= kind.columns(agent, subject) | (kind.labels(subject) if verdict == NONE else {})
    sample = DatasetSample(id=compute_sample_id(agent.agent_id, name, kind.key), **columns)
    if is_checked:
        scores.set_columns([sample])
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
    signatures.ensure_signature(sample)


def find_exclusion(sample: DatasetSample) -> str:
    """The reason why a sample is not sent to review unasked; empty: none.

    It is a key of words.EXCLUDED_WORDS.
    """
    return turn_facts.find_exclusion(sample.prompted_by, sample.reply_stop, sample.turn_traits)
