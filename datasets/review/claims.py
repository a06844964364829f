"""Who has which sample on the screen. A claim is taken, renewed and taken over by one statement, and runs out.

One that would last longer than any does was taken by a clock that ran ahead, and holds nothing.
"""

from dataclasses import dataclass

from django.db import DEFAULT_DB_ALIAS
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements, write_queue

from ..models import SampleClaim
from . import queues

LIFETIME_MS = 90_000
MOST_HELD = 6  # by one person: what is on two screens, and what comes next there

# Decides by itself: no row changes when somebody else holds the sample.
TAKE = """INSERT INTO sample_claims (sample_id, claimed_by, claimed_at, expires_at)
SELECT id, %s, %s, %s FROM ({which}) which WHERE TRUE
ON CONFLICT (sample_id) DO UPDATE
SET claimed_by = excluded.claimed_by, claimed_at = {claimed_at}, expires_at = excluded.expires_at
WHERE sample_claims.expires_at <= %s OR sample_claims.expires_at > %s OR sample_claims.claimed_by = excluded.claimed_by
RETURNING sample_id, claimed_at, expires_at"""
LET_GO = f"""DELETE FROM sample_claims WHERE claimed_by = %s AND sample_id NOT IN (
SELECT sample_id FROM sample_claims WHERE claimed_by = %s
ORDER BY sample_id = %s DESC, claimed_at DESC, sample_id LIMIT {MOST_HELD})"""  # noqa: S608 - our own words
THIS_ONE = "SELECT id FROM dataset_samples WHERE id = %s"
SAME_TIME = """CASE WHEN sample_claims.claimed_by = excluded.claimed_by
    THEN sample_claims.claimed_at ELSE excluded.claimed_at END"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sample that a person holds; `since` says which opening of the page it belongs to."""

    sample_id: str
    since: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody who holds samples that others wait for, and for how long yet."""

    name: str
    seconds: int
    sample_count: int = 1

    @classmethod
    def from_claim(cls, name: str, expires_at: int, now: int, sample_count: int = 1) -> "Holder":
        """Somebody whose claims run out at `expires_at`, seen from `now` (both epoch milliseconds)."""
        return cls(name, max(1, (expires_at - now) // 1000), sample_count)


def take_next(
    queue: queues.Queue, *, by: str, after: str = "", before: str = "", besides: tuple[str, ...] = ()
) -> Claim | None:
    """Claim the next sample of a queue that nobody else holds: behind `after`, before `before`, else the first.

    From the end it goes on at the top. None when there is none. `besides` are samples not to give out.
    """
    with write_queue.global_transaction():
        return take_following(queue, by=by, after=after, before=before, besides=besides)


def take_following(
    queue: queues.Queue, *, by: str, after: str = "", before: str = "", besides: tuple[str, ...] = ()
) -> Claim | None:
    """As `take_next`, inside the caller's transaction."""
    place = queues.find_position(after or before) if after or before else None
    found = _take_first(queue, by, besides, place, backwards=bool(before and not after))
    if found is None and place and not before:
        found = _take_first(queue, by, besides, None, backwards=False)
    return found


def take(sample_id: str, *, by: str) -> Claim | None:
    """Claim this sample for a page that was opened now; None when somebody else holds it, or there is none."""
    return _take(THIS_ONE, [sample_id], by, "excluded.claimed_at")


def renew(sample_id: str, *, by: str) -> Claim:
    """Hold on to a sample. Raises Refused when somebody else has it by now."""
    claim = _take(THIS_ONE, [sample_id], by, SAME_TIME)
    if claim is None:
        raise Refused(describe_holder(find_holder(sample_id, besides=by)))
    return claim


def release(sample_id: str, *, by: str, since: int | None = None) -> bool:
    """Let go of a sample; with `since` only when the page has not been opened again. Whether there was a claim."""
    mine = SampleClaim.objects.filter(sample_id=sample_id, claimed_by=by)
    return bool((mine if since is None else mine.filter(claimed_at=since)).delete()[0])


def find_holder(sample_id: str, *, besides: str) -> Holder | None:
    """Who else holds this sample now."""
    now = clock.now_ms()
    claim = find_claims_in_force().filter(sample_id=sample_id).exclude(claimed_by=besides).first()
    return Holder.from_claim(claim.claimed_by, claim.expires_at, now) if claim else None


def get_lifetime() -> tuple[int, int]:
    """Between which moments a claim ends that is in force: after the first, and not after the second."""
    now = clock.now_ms()
    return now, now + LIFETIME_MS


def find_claims_in_force() -> QuerySet[SampleClaim]:
    """The claims that are in force."""
    now, latest = get_lifetime()
    return SampleClaim.objects.filter(expires_at__gt=now, expires_at__lte=latest)


def describe_holder(other: Holder | None) -> str:
    """Why a sample cannot be had, in words."""
    if other is None:
        return _("Somebody else had this sample open a moment ago. Check the sample again.")
    return _("%(who)s has this sample open (%(seconds)s s left). The sample becomes available when they leave it.") % {
        "who": other.name,
        "seconds": other.seconds,
    }


def find_holders(queue: queues.Queue, *, besides: str) -> list[Holder]:
    """Who else holds samples of a queue: at most ten people."""
    now = clock.now_ms()
    conditions = [queue.condition(status, by=None) for status in queue.statuses]
    fits = " OR ".join(f"({condition})" for condition, _values in conditions)
    found = statements.read_rows(
        DEFAULT_DB_ALIAS,
        "SELECT c.claimed_by, MAX(c.expires_at), COUNT(*) FROM sample_claims c"  # noqa: S608 - our own words
        f" JOIN dataset_samples s ON s.id = c.sample_id WHERE c.expires_at > %s AND c.expires_at <= %s"
        f" AND c.claimed_by <> %s AND ({fits})"
        " GROUP BY c.claimed_by ORDER BY c.claimed_by LIMIT 10",
        [now, now + LIFETIME_MS, besides, *(value for _condition, values in conditions for value in values)],
    )
    return [Holder.from_claim(name, until, now, count) for name, until, count in found]


def _take_first(queue, by, besides, place, *, backwards):
    direction = "ASC" if backwards else "DESC"
    parts, values = [], []
    for status in queue.statuses:
        condition, asked_for = queue.condition(status, by=by)
        condition += f" AND NOT {queues.HELD_BY_OTHERS}"
        asked_for += [by, *get_lifetime()]
        if place:
            condition += f" AND (s.created_at, s.id) {'>' if backwards else '<'} (%s, %s)"
            asked_for += place
        if besides:
            condition += f" AND s.id NOT IN ({', '.join(['%s'] * len(besides))})"
            asked_for += besides
        parts.append(
            f"SELECT * FROM (SELECT s.id, s.created_at FROM dataset_samples s WHERE {condition}"  # noqa: S608
            f" ORDER BY s.created_at {direction}, s.id {direction} LIMIT 1) one"
        )
        values += asked_for
    first = f"SELECT id FROM ({' UNION ALL '.join(parts)}) best ORDER BY created_at {direction}, id {direction} LIMIT 1"  # noqa: S608
    return _take(first, values, by, "excluded.claimed_at")


def _take(which, values, by, claimed_at):
    now = clock.now_ms()
    sql = TAKE.format(which=which, claimed_at=claimed_at)
    rows = statements.read_rows(DEFAULT_DB_ALIAS, sql, [by, now, now + LIFETIME_MS, *values, now, now + LIFETIME_MS])
    if rows:  # nobody holds more than a few, whatever they ask for: the queue is everybody's
        statements.run(DEFAULT_DB_ALIAS, LET_GO, [by, by, rows[0][0]])
    return Claim(*rows[0]) if rows else None
