"""Claims: who has which sample or found value on the screen, and until when.

A claim is taken, renewed and taken over by one statement, and expires. A claim that would last longer than LIFETIME_MS
was taken by a clock that was ahead, and does not count.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import DEFAULT_DB_ALIAS
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements, write_queue

from ..models import DatasetSample, FindingValue, SampleClaim
from ..queues.waiting import LIFETIME_MS
from . import queues

MOST_HELD = 6  # of a kind by one person: what is on two screens, and what comes next there
SAMPLE, VALUE = SampleClaim.Kind.SAMPLE.value, SampleClaim.Kind.VALUE.value
TABLES = {SAMPLE: DatasetSample, VALUE: FindingValue}  # a claim is under the primary key of its row

# The statement itself decides: no row changes when somebody else holds the sample.
TAKE = """INSERT INTO sample_claims (sample_id, kind, claimed_by, claimed_at, expires_at)
SELECT id, %s, %s, %s, %s FROM ({which}) which WHERE TRUE
ON CONFLICT (sample_id) DO UPDATE
SET claimed_by = excluded.claimed_by, claimed_at = {claimed_at}, expires_at = excluded.expires_at
WHERE sample_claims.expires_at <= %s OR sample_claims.expires_at > %s OR sample_claims.claimed_by = excluded.claimed_by
RETURNING sample_id, claimed_at, expires_at"""
LET_GO = f"""DELETE FROM sample_claims WHERE claimed_by = %s AND kind = %s AND sample_id NOT IN (
SELECT sample_id FROM sample_claims WHERE claimed_by = %s AND kind = %s
ORDER BY sample_id = %s DESC, claimed_at DESC, sample_id LIMIT {MOST_HELD})"""  # noqa: S608 - our own words
SAME_TIME = """CASE WHEN sample_claims.claimed_by = excluded.claimed_by
    THEN sample_claims.claimed_at ELSE excluded.claimed_at END"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sample, or by its hash a found value, that a person holds; `since` identifies the opening of the page."""

    sample_id: str
    since: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Holder:
    """A person who holds samples that others wait for, with the seconds left."""

    name: str
    seconds: int
    sample_count: int = 1

    @classmethod
    def from_claim(cls, name: str, expires_at: int, now: int, sample_count: int = 1) -> "Holder":
        """The holder whose claims expire at `expires_at`, at `now` (both epoch milliseconds)."""
        return cls(name, max(1, (expires_at - now) // 1000), sample_count)


def take_next(
    queue: queues.Queue, *, by: str, after: str = "", before: str = "", besides: tuple[str, ...] = ()
) -> Claim | None:
    """Claim the next sample of a queue that nobody else holds; None: there is none.

    It is the next one behind `after` or before `before`, else the first; after the end the search goes on at the top.
    `besides` are samples not to give out.
    """
    with write_queue.global_transaction():
        return take_following(queue, by=by, after=after, before=before, besides=besides)


def take_following(
    queue: queues.Queue, *, by: str, after: str = "", before: str = "", besides: tuple[str, ...] = ()
) -> Claim | None:
    """Do as `take_next`, inside the caller's transaction."""
    place = queues.find_position(after or before) if after or before else None
    claim = _take_first(queue, by, besides, place, backwards=bool(before and not after))
    if claim is None and place and not before:
        claim = _take_first(queue, by, besides, None, backwards=False)
    return claim


def take(name: str, *, by: str, kind: str = SAMPLE) -> Claim | None:
    """Claim this sample by its id, or this found value by its hash, for a page that was opened now.

    None when somebody else holds it, or it is not there.
    """
    return _take_this(name, by, kind, "excluded.claimed_at")


def renew(name: str, *, by: str, kind: str = SAMPLE) -> Claim:
    """Renew the claim on a sample or value. Raises Refused when somebody else has it by now."""
    claim = _take_this(name, by, kind, SAME_TIME)
    if claim is None:
        raise Refused(describe_holder(find_holder(name, besides=by), kind))
    return claim


def release(name: str, *, by: str, since: int | None = None) -> bool:
    """Release a sample or value; return whether there was a claim.

    With `since`, only when the page has not been opened again.
    """
    own_claims = SampleClaim.objects.filter(sample_id=name, claimed_by=by)
    return bool((own_claims if since is None else own_claims.filter(claimed_at=since)).delete()[0])


def find_holder(name: str, *, besides: str) -> Holder | None:
    """The other person who holds this sample or value now; None: nobody."""
    return find_holders_of([name], besides=besides).get(name)


def find_holders_of(names: Iterable[str], *, besides: str) -> dict[str, Holder]:
    """The other people who hold any of these samples or values, by its id or hash."""
    now, claims = clock.now_ms(), find_claims_in_force().filter(sample_id__in=list(names)).exclude(claimed_by=besides)
    return {claim.sample_id: Holder.from_claim(claim.claimed_by, claim.expires_at, now) for claim in claims}


def get_lifetime() -> tuple[int, int]:
    """The moments between which a claim in force ends, the second included."""
    now = clock.now_ms()
    return now, now + LIFETIME_MS


def find_claims_in_force() -> QuerySet[SampleClaim]:
    """The claims that are in force."""
    now, latest = get_lifetime()
    return SampleClaim.objects.filter(expires_at__gt=now, expires_at__lte=latest)


def describe_holder(other: Holder | None, kind: str = SAMPLE) -> str:
    """Why a sample or value cannot be claimed, in words."""
    if other is None and kind == VALUE:
        return _("Somebody else had this value open a moment ago. Check the value again.")
    if other is None:
        return _("Somebody else had this sample open a moment ago. Check the sample again.")
    sentence = (
        _("%(who)s has this value open (%(seconds)s s left). The value becomes available when they leave it.")
        if kind == VALUE
        else _("%(who)s has this sample open (%(seconds)s s left). The sample becomes available when they leave it.")
    )
    return sentence % {"who": other.name, "seconds": other.seconds}


def find_holders(queue: queues.Queue, *, besides: str) -> list[Holder]:
    """The other people who hold samples of a queue, at most ten."""
    now = clock.now_ms()
    conditions = [queue.condition(status, by=None) for status in queue.statuses]
    fits = " OR ".join(f"({condition})" for condition, _values in conditions)
    rows = statements.read_rows(
        DEFAULT_DB_ALIAS,
        "SELECT c.claimed_by, MAX(c.expires_at), COUNT(*) FROM sample_claims c"  # noqa: S608 - our own words
        f" JOIN dataset_samples s ON s.id = c.sample_id WHERE c.expires_at > %s AND c.expires_at <= %s"
        f" AND c.claimed_by <> %s AND ({fits})"
        " GROUP BY c.claimed_by ORDER BY c.claimed_by LIMIT 10",
        [now, now + LIFETIME_MS, besides, *(value for _condition, values in conditions for value in values)],
    )
    return [Holder.from_claim(name, until, now, count) for name, until, count in rows]


def _take_first(queue, by, besides, place, *, backwards):
    direction = "ASC" if backwards else "DESC"
    parts, values = [], []
    for status in queue.statuses:
        condition, condition_values = queue.condition(status, by=by)
        condition += f" AND NOT {queues.HELD_BY_OTHERS}"
        condition_values += [by, *get_lifetime()]
        if place:
            condition += f" AND (s.created_at, s.id) {'>' if backwards else '<'} (%s, %s)"
            condition_values += place
        if besides:
            condition += f" AND s.id NOT IN ({', '.join(['%s'] * len(besides))})"
            condition_values += besides
        parts.append(
            f"SELECT * FROM (SELECT s.id, s.created_at FROM dataset_samples s WHERE {condition}"  # noqa: S608
            f" ORDER BY s.created_at {direction}, s.id {direction} LIMIT 1) one"
        )
        values += condition_values
    first = f"SELECT id FROM ({' UNION ALL '.join(parts)}) best ORDER BY created_at {direction}, id {direction} LIMIT 1"  # noqa: S608
    return _insert_claim(first, values, by, SAMPLE, "excluded.claimed_at")


def _take_this(name, by, kind, claimed_at):
    table = TABLES[kind]._meta
    which = f"SELECT {table.pk.column} AS id FROM {table.db_table} WHERE {table.pk.column} = %s"  # noqa: S608
    return _insert_claim(which, [name], by, kind, claimed_at)


def _insert_claim(which, values, by, kind, claimed_at):
    now, until = get_lifetime()
    sql = TAKE.format(which=which, claimed_at=claimed_at)
    rows = statements.read_rows(DEFAULT_DB_ALIAS, sql, [kind, by, now, until, *values, now, until])
    if rows:  # the oldest claims end, so that nobody holds more than a few samples of everybody's queue
        statements.run(DEFAULT_DB_ALIAS, LET_GO, [by, kind, by, kind, rows[0][0]])
    return Claim(*rows[0]) if rows else None
