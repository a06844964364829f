"""Creates and changes review queues; each change is in the audit log."""

from collections.abc import Collection, Sequence
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import Http404
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite import write_queue
from people.audit import log as audit
from people.models import User

from ..models import Guideline, QueueItem, QueueSeat, ReviewQueue
from ..review.queues import Queue, build_count, read_counts
from ..sample_list import read_sample_filter
from . import answers, queue_items

LONGEST_NAME, LONGEST_GUIDELINE, MOST_PEOPLE = 120, 20_000, 100


def create_queue(
    name: str,
    *,
    by: str,
    sample_filter: str = "",
    reviewers: int = 2,
    gold_share: int = 0,
    assigned: Collection[str] = (),
    adjudicators: Collection[str] = (),
    text: str = "",
    questions: list[dict[str, Any]] | None = None,
) -> ReviewQueue:
    """Create a queue with the samples that fit the filter now.

    Raises Refused for a name that is taken, values that are not valid, and a filter that no sample fits.
    """
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or len(text) > LONGEST_GUIDELINE:
        raise Refused(_("A queue needs a name of at most %(most)s characters.") % {"most": LONGEST_NAME})
    if not (1 <= reviewers <= 5 and 0 <= gold_share <= 50):
        raise Refused(_("Each item has 1 to 5 reviewers, and at most 50 % of the items are known ones."))
    read_sample_filter(sample_filter)
    now = clock.now_ms()
    queue = ReviewQueue(
        id=str(ULID()), name=name, sample_filter=sample_filter, reviewers=reviewers, gold_share=gold_share,
        assigned=_check_people(assigned), adjudicators=_check_people(adjudicators), created_by=by, created_at=now,
    )  # fmt: skip
    with write_queue.global_transaction():
        if ReviewQueue.objects.filter(name=name).exists():
            raise Refused(_("There is already a queue named %(name)s. Choose another name.") % {"name": name})
        queue.save(force_insert=True)
        _add_guideline(queue, text, questions or [], by)
        if not queue_items.add_items(queue):
            raise Refused(_("No sample fits this filter. Choose another filter."))
        audit.record(by, "review_queue_created", object_type="review_queue", object_id=queue.id, name=name)
    return queue


def extend_queue(queue: ReviewQueue, *, by: str) -> int:
    """Add the samples that fit the filter by now; return how many new items there are."""
    with write_queue.global_transaction():
        count = queue_items.add_items(queue)
        audit.record(by, "review_queue_extended", object_type="review_queue", object_id=queue.id, items=count)
    return count


def change_queue(queue: ReviewQueue, *, by: str, text: str, questions: list[dict[str, Any]], **columns: Any) -> None:
    """Store what may change of a queue: reviewers, assigned, adjudicators, state, guideline.

    Another guideline is a new version; verdicts keep theirs. People who are not assigned any more lose their claims and
    keep their verdicts; items that have enough verdicts for a lower number of reviewers are closed.
    """
    with write_queue.global_transaction():
        queue.refresh_from_db()
        if not 1 <= columns.get("reviewers", queue.reviewers) <= 5 or len(text) > LONGEST_GUIDELINE:
            raise Refused(_("Each item has 1 to 5 reviewers, and at most 50 % of the items are known ones."))
        for name, value in columns.items():
            setattr(queue, name, _check_people(value) if name in ("assigned", "adjudicators") else value)
        current = queue.guidelines.get(number=queue.guideline)
        if (text, questions) != (current.text, current.questions):
            queue.guideline += 1
            _add_guideline(queue, text, questions, by)
        queue.save()
        if queue.assigned:
            claims = QueueSeat.objects.filter(item__queue=queue, label_id=None)
            claims.exclude(reviewer__in=queue.assigned).delete()
        judged = queue.items.filter(state=QueueItem.State.OPEN, seats__label_id__isnull=False)
        for item in judged.annotate(verdicts=Count("seats")).filter(verdicts__gte=queue.reviewers):
            answers.close_answered(item, queue)
        audit.record(by, "review_queue_changed", object_type="review_queue", object_id=queue.id, name=queue.name)


def find_queue(name: str) -> ReviewQueue:
    """The queue with this name or id. Raises Refused (404) when there is none."""
    queue = ReviewQueue.objects.filter(name=name).first() or ReviewQueue.objects.filter(id=name).first()
    if queue is None:
        raise Refused(_("There is no review queue named %(name)s.") % {"name": name[:LONGEST_NAME]})
    return queue


def read_queue(queue_id: str) -> ReviewQueue:
    """The queue with this id. Raises Http404."""
    queue = ReviewQueue.objects.filter(id=queue_id).first()
    if queue is None:
        raise Http404(_("There is no review queue %(id)s.") % {"id": queue_id[:LONGEST_NAME]})
    return queue


def find_own_queue(user: User, queue_id: str, *, to_adjudicate: bool = False) -> ReviewQueue:
    """The queue with this id. Raises Http404, and PermissionDenied for somebody who may not work in it."""
    queue = read_queue(queue_id)
    if not (queue.has_adjudicator(user) if to_adjudicate else queue.has_reviewer(user)):
        raise PermissionDenied
    return queue


def list_queues(user: User, *, is_all: bool = False) -> list[tuple[ReviewQueue, int]]:
    """The open queues in which a person may work, newest first, with the number of items that wait for them.

    With `is_all` also the others, which have 0.
    """
    rows = ReviewQueue.objects.order_by("-created_at", "-id")[:MOST_PEOPLE]
    mine = [queue for queue in rows if is_all or (queue.is_open and queue.has_reviewer(user))]
    return list(zip(mine, count_waiting(mine, user), strict=True))


def count_waiting(queues: Sequence[ReviewQueue], user: User) -> tuple[int, ...]:
    """How many items of each queue wait for this person, in one query; it counts up to COUNTED_UP_TO."""
    places = [Queue(review_queue=queue.id) for queue in queues]
    counts = read_counts([build_count(place, by=user.username) for place in places]) if places else ()
    return tuple(count if queue.has_reviewer(user) else 0 for queue, count in zip(queues, counts, strict=True))


def _add_guideline(queue, text, questions, by):
    Guideline.objects.create(
        queue=queue, number=queue.guideline, text=text, questions=questions, written_by=by, written_at=clock.now_ms()
    )


def _check_people(names):
    names = sorted(set(names))
    known = set(User.objects.filter(username__in=names[: MOST_PEOPLE + 1]).values_list("username", flat=True))
    if unknown := [name for name in names if name not in known]:
        raise Refused(_("There is no user named %(names)s.") % {"names": listed(unknown[:10])})
    return names
