"""Blind review: nobody sees the verdicts on an item before giving their own. Admins may see them.

A *covered* sample is as it was before all verdicts, and has no history.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from people.models import User

from ..models import DatasetSample, QueueItem, QueueSeat, ReviewQueue, SampleLabel
from ..review.verdicts import SHAPE_COLUMNS, VERDICT_COLUMNS
from ..sample_texts import GATE_TYPES


def find_hidden(user: User | None) -> QuerySet[QueueItem] | None:
    """The items whose verdicts are hidden from this person, as a query of `sample_id`; None: none are.

    A token with a lower role does not see more than its person.
    """
    if user is None or user.role in (User.Role.ADMIN, User.Role.VIEWER):
        return None
    queues = ReviewQueue.objects.filter(state=ReviewQueue.State.OPEN).only("id", "assigned_json")
    mine = [queue.id for queue in queues if not queue.assigned or user.username in queue.assigned]
    if not mine:
        return None
    own = QueueSeat.objects.filter(item=OuterRef("pk"), reviewer=user.username, label_id__isnull=False)
    judged = SampleLabel.objects.filter(sample=OuterRef("sample_id"))
    items = QueueItem.objects.filter(queue__in=mine, state=QueueItem.State.OPEN)
    return items.filter(~Exists(own), Exists(judged)).values("sample_id")


def leave_out_hidden(samples: QuerySet[DatasetSample], user: User | None) -> QuerySet[DatasetSample]:
    """The samples of a list without those whose verdicts are hidden from this person."""
    hidden = find_hidden(user)
    return samples if hidden is None else samples.exclude(id__in=hidden)


def find_hidden_ids(sample_ids: Sequence[str], user: User | None) -> set[str]:
    """The ids among these whose verdicts are hidden from this person."""
    hidden = find_hidden(user) if sample_ids else None
    return set() if hidden is None else set(hidden.filter(sample_id__in=sample_ids).values_list("sample_id", flat=True))


def expect_nothing_hidden(verdict: dict[str, Any], sample_id: str, user: User) -> dict[str, Any]:
    """A verdict without the expected status where the person was given a covered sample.

    The sentence about another status would name a verdict that they may not know yet.
    """
    return verdict | {"expected_status": None} if find_hidden_ids([sample_id], user) else verdict


def cover_hidden(samples: Sequence[DatasetSample], user: User | None) -> None:
    """Cover those samples whose verdicts are hidden from this person."""
    hidden = find_hidden_ids([sample.id for sample in samples], user)
    for sample in samples:
        if sample.id in hidden:
            cover(sample)


def cover(sample: DatasetSample) -> None:
    """Set a sample, which is not stored, to its columns before all verdicts, and leave out its history."""
    sample.is_covered = True
    first = sample.labels.order_by("labelled_at", "id").first()
    if first is None:
        return
    for name in VERDICT_COLUMNS:
        setattr(sample, name, first.before.get(name))
    sample.annotation_status = sample.annotation_status or DatasetSample.Status.PENDING
    if sample.sample_type in GATE_TYPES:
        labels = sample.labels.order_by("labelled_at", "id")
        shaped = next((label.before for label in labels[:50] if SHAPE_COLUMNS[1] in label.before), {})
        for name, value in shaped.items():
            if name in SHAPE_COLUMNS:
                setattr(sample, name, value)
