"""SQL: which items of a review queue wait, in all or for a person, and in which order."""

from openclaw_web import clock

LIFETIME_MS = 90_000  # of a claim on an item or sample
BY_VALUE, BY_AGE = "value", "newest"
ORDERS = {
    BY_VALUE: ("i.value", "i.sample_created_at", "i.id"),
    BY_AGE: ("i.sample_created_at", "i.id"),
}
OPEN = """i.state = 'open' AND EXISTS (SELECT 1 FROM review_queues q WHERE q.id = i.queue_id AND q.state = 'open')"""
ANSWERED = """EXISTS (SELECT 1 FROM queue_seats own WHERE own.item_id = i.id AND own.reviewer = %s
    AND own.label_id IS NOT NULL)"""
# A verdict or a claim in force counts; a claim from a clock that was ahead does not (review.claims).
IS_FREE = """(SELECT COUNT(*) FROM queue_seats seat WHERE seat.item_id = i.id AND seat.reviewer <> %s
    AND (seat.label_id IS NOT NULL OR (seat.expires_at > %s AND seat.expires_at <= %s)))
    < (SELECT q.reviewers FROM review_queues q WHERE q.id = i.queue_id)"""
SKIPPED = """EXISTS (SELECT 1 FROM review_actions skip WHERE skip.kind = 'skip' AND skip.actor = %s
    AND skip.sample_id = i.sample_id AND skip.state = 'done')"""


def build_condition(queue_id: str, by: str, *, skipped: bool | None = None) -> tuple[str, list]:
    """SQL condition on `queue_items i`: it waits for this person, with its values.

    `skipped`: only items whose samples they skipped, only others, or (None) both.
    """
    now = clock.now_ms()
    parts = ["i.queue_id = %s", OPEN, f"NOT {ANSWERED}", IS_FREE]
    values = [queue_id, by, by, now, now + LIFETIME_MS]
    if skipped is not None:
        parts.append(SKIPPED if skipped else f"NOT {SKIPPED}")
        values.append(by)
    return " AND ".join(parts), values
