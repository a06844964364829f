"""Queues: which samples wait for a verdict, and in which order, the newest first."""

from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

from django.db import DEFAULT_DB_ALIAS
from django.urls import reverse

from openclaw_web import clock
from openclaw_web.amounts import format_plural
from openclaw_web.pages import zones
from openclaw_web.sqlite import dialect, statements

from ..models import DatasetSample
from ..queues.waiting import build_condition
from ..sample_order import IS_CUT_OFF, build_ending_condition, parse_prompted_by
from .actions import REMEMBERED

WAITING = (DatasetSample.Status.PENDING, DatasetSample.Status.NEEDS_REVIEW)
NAMES = tuple(status.value for status in WAITING)
NEXT = "next-"  # begins the id of a draw that fills gaps of a dataset: datasets.coverage
NEEDS_REASON = "needs_reason"  # the queue of wrong decisions that were approved without a reason
# The labels as the partial index spells them: SQLite uses it for nothing else.
UNEXPLAINED = f"""s.gate_label IN ('corrected', 'incorrect')
    AND trim(coalesce({dialect.json_text("s.gate_corrected_output", "reason")}, '')) = ''"""
COUNTED_UP_TO = 1_000

SKIPPED = """EXISTS (SELECT 1 FROM review_actions skip WHERE skip.kind = 'skip' AND skip.actor = %s
    AND skip.sample_id = s.id AND skip.state = 'done')"""
# By its index, which holds repeated samples only: else SQLite reads the wide row of each sample that it counts.
REPEATED = f"""EXISTS (SELECT 1 FROM dataset_samples copy {dialect.by_index("idx_sample_repeated")}
    WHERE copy.id = s.id AND copy.repeat_of IS NOT NULL)"""  # noqa: S608 - our own words
DRAWN = f"""s.id IN (SELECT listed.value FROM review_draws drawn,
    {dialect.json_column_items("drawn.samples_json", "listed")} WHERE drawn.id = %s)"""  # noqa: S608 - our own words
HELD_BY_OTHERS = """EXISTS (SELECT 1 FROM sample_claims held WHERE held.sample_id = s.id
    AND held.claimed_by <> %s AND held.expires_at > %s AND held.expires_at <= %s)"""


@dataclass(frozen=True, slots=True)
class Queue:
    """A part of the waiting samples, as filters; an empty text is no condition.

    `name` is a status, NEEDS_REASON, or empty for both statuses. With `skipped` it has only samples that this person
    skipped, and without it all others.
    """

    name: str = ""
    agent: str = ""
    type: str = ""
    session: str = ""
    skipped: bool = False
    prompted_by: str = ""  # this and the next as in sample_order.Filters
    ending: str = ""
    draw: str = ""  # the id of a draw: samples of decisions drawn at random, or those that fill gaps (NEXT)
    review_queue: str = ""  # the id of a queue of several people: its items that wait for this person
    conflicts: bool = False  # of such a queue: its conflicts
    order: str = ""  # of such a queue: `newest`, or by value

    @property
    def statuses(self) -> list[str]:
        """The statuses of its samples."""
        if self.review_queue:
            return [""]  # of any status
        if self.name == NEEDS_REASON:
            return [DatasetSample.Status.APPROVED.value]
        return [self.name] if self.name else list(NAMES)

    @property
    def filters(self) -> dict[str, str]:
        """The filters in force, as they stand in an address."""
        names = [field.name for field in fields(self) if field.name != "name"]
        chosen = {name: getattr(self, name) for name in names if getattr(self, name)}
        return chosen | {name: "1" for name in ("skipped", "conflicts") if chosen.get(name)}

    @property
    def query_of_filters(self) -> str:
        """The filters as the end of an address."""
        return _format_query(self.filters)

    @property
    def path(self) -> str:
        """The address of its page, without filters."""
        return reverse("datasets:review", args=[self.name] if self.name else [])

    @property
    def query(self) -> str:
        """The filters and the name as the end of an address of another page."""
        return _format_query(({"queue": self.name} if self.name else {}) | self.filters)

    def address(self, **more: str) -> str:
        """The address of its page with its filters, and `sample`, `after` or `before`."""
        return self.path + _format_query(self.filters | more)

    def ordered(self, order: str) -> str:
        """The address of the same queue in another order."""
        return replace(self, order=order).address()

    def without(self, name: str) -> str:
        """The address of the same queue with one filter less."""
        if name == "review_queue":
            return Queue(self.name).address()
        return replace(self, **{name: False if name in ("skipped", "conflicts") else ""}).address()

    def condition(self, status: str, *, by: str | None) -> tuple[str, list]:
        """SQL condition on `dataset_samples s` with its values, for one status of the queue.

        `by` is the person whose skipped samples are left out, or the only ones; None: skips do not count.
        """
        if self.review_queue:
            return self._build_item_condition(by)
        filters = {"agent_id": self.agent, "sample_type": self.type, "session_id": self.session}
        columns = {"annotation_status": status} | {name: value for name, value in filters.items() if value}
        if self.prompted_by:
            columns["prompted_by"] = parse_prompted_by(self.prompted_by)
        checked = self._find_unindexed_columns()
        parts = [f"{dialect.unindexed(f's.{name}') if name in checked else f's.{name}'} = %s" for name in columns]
        values = list(columns.values())
        if self.name == NEEDS_REASON:
            parts.append(UNEXPLAINED)
        if self.ending:
            stop = dialect.unindexed("s.reply_stop") if "reply_stop" in checked else "s.reply_stop"
            parts.append(build_ending_condition(stop, self.ending))
        if self.draw:
            parts.append(DRAWN)
            values.append(self.draw)
        if by is not None:
            parts.append(SKIPPED if self.skipped else f"NOT {SKIPPED}")
            values.append(by)
        parts.append(f"NOT {REPEATED}")
        return " AND ".join(parts), values

    def _build_item_condition(self, by):
        if self.conflicts:
            fits, values = "i.queue_id = %s AND i.state = 'conflict'", [self.review_queue]
        else:
            fits, values = build_condition(self.review_queue, by or "", skipped=self.skipped if by else None)
        return f"s.id IN (SELECT i.sample_id FROM queue_items i WHERE {fits})", values  # noqa: S608 - our own words

    def _find_unindexed_columns(self):
        """Columns that SQLite must not choose an index for.

        The other columns have an index together, and fewer samples match them.
        """
        if self.draw:
            return {"annotation_status", "agent_id", "session_id", "sample_type", "prompted_by", "reply_stop"}
        if self.session:
            return {"annotation_status", "sample_type", "prompted_by", "reply_stop"}
        if self.name == NEEDS_REASON:
            return {"agent_id", "session_id", "sample_type", "prompted_by", "reply_stop"}
        if self.ending == IS_CUT_OFF:
            return {"agent_id", "sample_type", "prompted_by"}
        return {"sample_type", "reply_stop"} if self.prompted_by else {"reply_stop"}


def build_count(queue: Queue, *, by: str | None = None) -> tuple[str, list]:
    """SQL that counts the samples of a queue, with its values.

    It counts up to COUNTED_UP_TO of each status.
    """
    parts, all_values = [], []
    for status in queue.statuses:
        condition, condition_values = queue.condition(status, by=by)
        rows = f"SELECT 1 FROM dataset_samples s WHERE {condition} LIMIT {COUNTED_UP_TO + 1}"  # noqa: S608
        parts.append(f"(SELECT COUNT(*) FROM ({rows}) some)")  # noqa: S608 - our own words
        all_values += condition_values
    return " + ".join(parts), all_values


def read_counts(expressions: list[tuple[str, list]]) -> tuple:
    """The values of SQL expressions, in one query."""
    sql = "SELECT " + ", ".join(sql for sql, _values in expressions)
    return statements.read_row(DEFAULT_DB_ALIAS, sql, [value for _sql, values in expressions for value in values])


def find_position(sample_id: str) -> tuple[int, str] | None:
    """The position of a sample in every queue; None when there is no such sample."""
    return statements.read_row(
        DEFAULT_DB_ALIAS, "SELECT created_at, id FROM dataset_samples WHERE id = %s", [sample_id]
    )


def _format_query(chosen):
    return f"?{urlencode(chosen)}" if chosen else ""


COUNTED_ACTIONS = 10_000
HOUR_MS = 3_600_000
OF = "actor = %s AND kind <> 'skip' AND state = 'done'"
LATEST = f"SELECT state FROM review_actions WHERE actor = %s ORDER BY at DESC, id DESC LIMIT {REMEMBERED}"  # noqa: S608
APPROVED = "s.annotation_status = 'approved'"
HAS_UNEXPLAINED = f"EXISTS (SELECT 1 FROM dataset_samples s WHERE {APPROVED} AND {UNEXPLAINED})"  # noqa: S608
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
    has_unexplained: bool  # whether a wrong decision was approved without a reason


@dataclass(frozen=True, slots=True)
class Badge:
    """The number beside “Training” in the rail.

    It counts the whole queue of a person, to at most 99.
    """

    count: int
    is_more: bool

    @property
    def words(self) -> str:
        """The number in words."""
        return format_plural("%(count)s sample to review", "%(count)s samples to review", self.count)


@dataclass(frozen=True, slots=True)
class Rest:
    """Counts for an empty queue: skipped samples, those hidden by filters, all samples."""

    skipped: int
    hidden: int
    all: int
    is_more: bool


def read_progress(queue: Queue, by: str, *, with_all_own: bool = False) -> Progress:
    """The numbers of a queue and of a person, in one query of bounded cost.

    The person's last hour and all of their actions are counted `with_all_own`, and are 0 otherwise.
    """
    now = clock.now_ms()
    today = zones.find_day_start(now)
    numbers = read_counts(
        [
            build_count(queue, by=by),
            _sum("kind <> 'skip' AND state = 'done' AND at >= %s", [today]),
            _sum(f"{OF} AND at >= %s", [by, today]),
            _sum(f"{OF} AND at >= %s", [by, now - HOUR_MS]) if with_all_own else ("0", []),
            _sum(OF, [by]) if with_all_own else ("0", []),
            (UNDOABLE, [by]),
            (HAS_UNEXPLAINED, []),
            *([] if queue == Queue() else [build_count(Queue(), by=by)]),
        ]
    )
    waiting_count, done_today, mine_today, last_hour, mine, undoable, unexplained, *everywhere = numbers
    return Progress(
        waiting=min(waiting_count, COUNTED_UP_TO),
        waiting_more=waiting_count > COUNTED_UP_TO,
        today=done_today,
        mine_today=mine_today,
        mine_last_hour=last_hour,
        mine=min(mine, COUNTED_ACTIONS),
        mine_more=mine > COUNTED_ACTIONS,
        everywhere=everywhere[0] if everywhere else waiting_count,
        may_undo=undoable > 0,
        has_unexplained=unexplained > 0,
    )


def read_rest(queue: Queue, by: str) -> Rest:
    """The counts of samples that an empty queue does not contain."""
    unskipped, skipped = (replace(queue, skipped=flag) for flag in (False, True))
    sample_rows = f"SELECT 1 FROM dataset_samples s LIMIT {COUNTED_ACTIONS + 1}"  # noqa: S608 - our own words
    in_filter, skipped_count, everywhere, samples = read_counts(
        [
            build_count(unskipped, by=None),
            build_count(skipped, by=by),
            build_count(Queue(), by=None),
            (f"(SELECT COUNT(*) FROM ({sample_rows}) one)", []),  # noqa: S608
        ]
    )
    if queue.review_queue:  # others are for other people; a conflict is not skipped
        skipped_count, in_filter = 0 if queue.conflicts else skipped_count, everywhere
    return Rest(skipped_count, max(0, everywhere - in_filter), min(samples, COUNTED_ACTIONS), samples > COUNTED_ACTIONS)


def build_badge(count: int) -> Badge:
    """The badge for this number of samples."""
    return Badge(min(count, 99), count > 99)


def _sum(condition, values):
    rows = f"SELECT sample_count FROM review_actions WHERE {condition} LIMIT {COUNTED_ACTIONS + 1}"  # noqa: S608
    return f"(SELECT COALESCE(SUM(sample_count), 0) FROM ({rows}) rows_)", values  # noqa: S608 - our own words
