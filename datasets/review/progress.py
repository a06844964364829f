"""How far the queue is: what waits, what was done today by everybody and by one person."""

from dataclasses import dataclass

from agents import clock

from . import queues
from .queues import Queue

COUNTED_UP_TO = 10_000
DAY_MS = 86_400_000
HOUR_MS = 3_600_000
OF = "actor = %s AND kind <> 'skip' AND state = 'done'"


@dataclass(frozen=True, slots=True)
class Progress:
    """Numbers for the top of the queue; `_more` says that there are at least that many. Days are UTC days."""

    waiting: int
    waiting_more: bool
    today: int
    mine_today: int
    mine_last_hour: int
    mine: int
    mine_more: bool


@dataclass(frozen=True, slots=True)
class Rest:
    """Why nothing is left to judge: what the person skipped, what the filter hides, how many samples there are."""

    skipped: int
    hidden: int
    all: int
    is_more: bool


def of(queue: Queue, by: str) -> Progress:
    """The numbers of a queue and of a person, in one query that reads a bounded number of index entries."""
    now = clock.now_ms()
    numbers = queues.asked(
        [
            queues.amount(queue, by=by),
            _sum("kind <> 'skip' AND state = 'done' AND at >= %s", [now - now % DAY_MS]),
            _sum(f"{OF} AND at >= %s", [by, now - now % DAY_MS]),
            _sum(f"{OF} AND at >= %s", [by, now - HOUR_MS]),
            _sum(OF, [by]),
        ]
    )
    waiting, today, mine_today, hour, mine = numbers
    most = queues.COUNTED_UP_TO
    return Progress(
        min(waiting, most), waiting > most, today, mine_today, hour, min(mine, COUNTED_UP_TO), mine > COUNTED_UP_TO
    )


def rest(queue: Queue, by: str) -> Rest:
    """What an empty queue says about what is not in it."""
    here, skipped = (Queue(queue.name, queue.agent, queue.type, queue.session, flag) for flag in (False, True))
    one = f"SELECT 1 FROM dataset_samples s LIMIT {COUNTED_UP_TO + 1}"  # noqa: S608 - our own words
    in_filter, left, everywhere, samples = queues.asked(
        [
            queues.amount(here, by=None),
            queues.amount(skipped, by=by),
            queues.amount(Queue(), by=None),
            (f"(SELECT COUNT(*) FROM ({one}) one)", []),  # noqa: S608
        ]
    )
    return Rest(left, max(0, everywhere - in_filter), min(samples, COUNTED_UP_TO), samples > COUNTED_UP_TO)


def waiting() -> tuple[int, bool]:
    """How many samples wait, and whether there are more than that: for the badge, which stops at 99."""
    parts = [
        f"(SELECT COUNT(*) FROM (SELECT 1 FROM dataset_samples WHERE annotation_status = '{name}' LIMIT 100) some)"  # noqa: S608
        for name in queues.NAMES
    ]
    (count,) = queues.asked([(" + ".join(parts), [])])
    return min(count, 99), count > 99


def _sum(condition, values):
    rows = f"SELECT sample_count FROM review_actions WHERE {condition} LIMIT {COUNTED_UP_TO + 1}"  # noqa: S608
    return f"(SELECT COALESCE(SUM(sample_count), 0) FROM ({rows}) rows_)", values  # noqa: S608 - our own words
