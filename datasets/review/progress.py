"""Progress of the queue: waiting samples, and verdicts of today."""

from dataclasses import dataclass, replace

from django.utils.translation import ngettext

from openclaw_web import clock
from openclaw_web.pages import zones

from . import queues
from .queues import Queue

COUNTED_UP_TO = 10_000
HOUR_MS = 3_600_000
REMEMBERED = 50  # actions of a person that can be undone
OF = "actor = %s AND kind <> 'skip' AND state = 'done'"
LATEST = f"SELECT state FROM review_actions WHERE actor = %s ORDER BY at DESC, id DESC LIMIT {REMEMBERED}"  # noqa: S608
UNDOABLE = f"(SELECT COUNT(*) FROM ({LATEST}) latest WHERE state = 'done')"  # noqa: S608 - our own words


@dataclass(frozen=True, slots=True)
class Progress:
    """Numbers for the top of the queue; `_more`: at least that many.

    A day is one in the time zone of the person who looks.
    """

    waiting: int
    waiting_more: bool
    today: int
    mine_today: int
    mine_last_hour: int
    mine: int
    mine_more: bool
    everywhere: int  # waits for this person, whatever the queue's filters
    may_undo: bool  # whether the person did something that the next undo takes back


@dataclass(frozen=True, slots=True)
class Badge:
    """The number beside “Review” in the rail.

    It counts the whole queue of a person, to at most 99.
    """

    count: int
    is_more: bool

    @property
    def words(self) -> str:
        """The number in words."""
        return ngettext("%(count)s sample to review", "%(count)s samples to review", self.count) % {"count": self.count}


@dataclass(frozen=True, slots=True)
class Rest:
    """Counts for an empty queue: skipped samples, those hidden by filters, all samples."""

    skipped: int
    hidden: int
    all: int
    is_more: bool


def read_progress(queue: Queue, by: str) -> Progress:
    """The numbers of a queue and of a person, in one query of bounded cost."""
    now = clock.now_ms()
    today = zones.find_day_start(now)
    numbers = queues.read_counts(
        [
            queues.build_count(queue, by=by),
            _sum("kind <> 'skip' AND state = 'done' AND at >= %s", [today]),
            _sum(f"{OF} AND at >= %s", [by, today]),
            _sum(f"{OF} AND at >= %s", [by, now - HOUR_MS]),
            _sum(OF, [by]),
            (UNDOABLE, [by]),
            *([] if queue == Queue() else [queues.build_count(Queue(), by=by)]),
        ]
    )
    waiting_count, done_today, mine_today, last_hour, mine, undoable, *everywhere = numbers
    most = queues.COUNTED_UP_TO
    return Progress(
        waiting=min(waiting_count, most),
        waiting_more=waiting_count > most,
        today=done_today,
        mine_today=mine_today,
        mine_last_hour=last_hour,
        mine=min(mine, COUNTED_UP_TO),
        mine_more=mine > COUNTED_UP_TO,
        everywhere=everywhere[0] if everywhere else waiting_count,
        may_undo=undoable > 0,
    )


def read_rest(queue: Queue, by: str) -> Rest:
    """The counts of samples that an empty queue does not contain."""
    unskipped, skipped = (replace(queue, skipped=flag) for flag in (False, True))
    sample_rows = f"SELECT 1 FROM dataset_samples s LIMIT {COUNTED_UP_TO + 1}"  # noqa: S608 - our own words
    in_filter, skipped_count, everywhere, samples = queues.read_counts(
        [
            queues.build_count(unskipped, by=None),
            queues.build_count(skipped, by=by),
            queues.build_count(Queue(), by=None),
            (f"(SELECT COUNT(*) FROM ({sample_rows}) one)", []),  # noqa: S608
        ]
    )
    return Rest(skipped_count, max(0, everywhere - in_filter), min(samples, COUNTED_UP_TO), samples > COUNTED_UP_TO)


def read_badge(by: str) -> Badge:
    """The badge of a person, for pages that count no more than that."""
    return build_badge(*queues.read_counts([queues.build_count(Queue(), by=by)]))


def build_badge(count: int) -> Badge:
    """The badge for this number of samples."""
    return Badge(min(count, 99), count > 99)


def _sum(condition, values):
    rows = f"SELECT sample_count FROM review_actions WHERE {condition} LIMIT {COUNTED_UP_TO + 1}"  # noqa: S608
    return f"(SELECT COALESCE(SUM(sample_count), 0) FROM ({rows}) rows_)", values  # noqa: S608 - our own words
