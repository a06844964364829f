"""Seats: who holds or has judged an item. Claims and verdicts share a table, so that an item never has more than N.

The functions have the signatures of `review.claims`, so that the review page works with either.
"""

from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements, write_queue

from ..models import QueueItem, QueueSeat
from ..review.claims import MOST_HELD, Claim
from ..review.queues import Queue
from .waiting import BY_AGE, BY_VALUE, LIFETIME_MS, ORDERS, build_condition

# The statement itself decides: no row changes when the item has its reviewers, or this person's verdict.
TAKE = """INSERT INTO queue_seats (item_id, reviewer, since, expires_at, with_twins)
SELECT i.id, %s, %s, %s, FALSE FROM queue_items i WHERE {condition} ORDER BY {order} LIMIT 1
ON CONFLICT (item_id, reviewer) DO UPDATE SET since = {since}, expires_at = excluded.expires_at
WHERE queue_seats.label_id IS NULL
RETURNING item_id, since, expires_at"""
LET_GO = f"""DELETE FROM queue_seats WHERE reviewer = %s AND label_id IS NULL AND id NOT IN (
SELECT id FROM queue_seats WHERE reviewer = %s AND label_id IS NULL
ORDER BY item_id = %s DESC, since DESC, id LIMIT {MOST_HELD})"""  # noqa: S608 - our own words
SAME_TIME = "CASE WHEN queue_seats.expires_at > excluded.since THEN queue_seats.since ELSE excluded.since END"
POSITION = "SELECT {columns} FROM queue_items i WHERE i.queue_id = %s AND i.sample_id = %s"


class SeatClaims:
    """The claims of a review queue: `review.claims` for the page of a queue of several people."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.columns = ORDERS[BY_AGE if queue.order == BY_AGE else BY_VALUE]

    def take(self, sample_id: str, *, by: str) -> Claim | None:
        """Claim the item of a sample for a page that was opened now; None: it has its reviewers, or is judged."""
        return self._insert(by, "i.sample_id = %s", [sample_id])

    def renew(self, sample_id: str, *, by: str) -> Claim:
        """Renew the claim on an item. Raises Refused when others have taken all its places by now."""
        claim = self._insert(by, "i.sample_id = %s", [sample_id], since=SAME_TIME)
        if claim is None:
            raise Refused(describe_no_seat(self.queue.review_queue, sample_id, by))
        return claim

    def release(self, sample_id: str, *, by: str, since: int | None = None) -> bool:
        """Release an item; return whether there was a claim, with `since` only this opening of the page."""
        rows = QueueSeat.objects.filter(
            item__queue=self.queue.review_queue, item__sample_id=sample_id, reviewer=by, label_id=None
        )
        return bool((rows if since is None else rows.filter(since=since)).delete()[0])

    def take_next(self, _queue: Queue, *, by: str, after: str = "", before: str = "", besides=()) -> Claim | None:
        """Claim the next item that waits for this person; None: there is none."""
        with write_queue.global_transaction():
            return self.take_following(by=by, after=after, before=before, besides=besides)

    def take_following(self, *, by: str, after: str = "", before: str = "", besides=()) -> Claim | None:
        """Do as `take_next`, inside the caller's transaction."""
        sql = POSITION.format(columns=", ".join(self.columns))
        values = [self.queue.review_queue, after or before]
        place = statements.read_row(DEFAULT_DB_ALIAS, sql, values) if after or before else None
        is_back = bool(before and not after)
        condition = f"i.sample_id NOT IN ({', '.join(['%s'] * len(besides))})" if besides else "TRUE"
        claim = None
        if place:
            behind = f" AND ({', '.join(self.columns)}) {'>' if is_back else '<'} ({', '.join(['%s'] * len(place))})"
            claim = self._insert(
                by, condition + behind, [*besides, *place], is_back=is_back, skipped=self.queue.skipped
            )
        if claim is None and not (place and is_back):
            claim = self._insert(by, condition, list(besides), skipped=self.queue.skipped)
        return claim

    def _insert(self, by, condition, values, *, since="excluded.since", is_back=False, skipped=None):
        now = clock.now_ms()
        waits, waits_values = build_condition(self.queue.review_queue, by, skipped=skipped)
        order = ", ".join(f"{column} {'ASC' if is_back else 'DESC'}" for column in self.columns)
        sql = TAKE.format(condition=f"{waits} AND {condition}", order=order, since=since)
        rows = statements.read_rows(DEFAULT_DB_ALIAS, sql, [by, now, now + LIFETIME_MS, *waits_values, *values])
        if not rows:
            return None
        statements.run(DEFAULT_DB_ALIAS, LET_GO, [by, by, rows[0][0]])
        sample_id = QueueItem.objects.values_list("sample_id", flat=True).get(id=rows[0][0])
        return Claim(sample_id, *rows[0][1:])


def describe_no_seat(queue_id: str, sample_id: str, by: str) -> str:
    """Why a person may not judge an item, in words."""
    item = QueueItem.objects.filter(queue=queue_id, sample_id=sample_id).select_related("queue").first()
    if item is None:
        return _("This sample is not in the queue.")
    if not item.queue.is_open:
        return _("This queue is closed.")
    if item.seats.filter(reviewer=by, label_id__isnull=False).exists():
        return _("You have judged this sample in this queue. Undo your verdict to give another one.")
    if item.state != QueueItem.State.OPEN:
        return _("This sample has all its verdicts in this queue.")
    return _("Enough reviewers have this sample open or have judged it. Continue with the next sample.")
