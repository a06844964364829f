"""Queues: which samples wait for a verdict, and in which order, the newest first."""

from dataclasses import asdict, dataclass, replace
from urllib.parse import urlencode

from django.db import DEFAULT_DB_ALIAS
from django.urls import reverse

from openclaw_web.sqlite import dialect, statements

from ..models import DatasetSample
from ..sample_order import IS_CUT_OFF, build_ending_condition, parse_prompted_by

WAITING = (DatasetSample.Status.PENDING, DatasetSample.Status.NEEDS_REVIEW)
NAMES = tuple(status.value for status in WAITING)
COUNTED_UP_TO = 1_000

SKIPPED = """EXISTS (SELECT 1 FROM review_actions skip WHERE skip.kind = 'skip' AND skip.actor = %s
    AND skip.sample_id = s.id AND skip.state = 'done')"""
REPEATED = "EXISTS (SELECT 1 FROM dataset_samples copy WHERE copy.id = s.id AND copy.repeat_of IS NOT NULL)"
DRAWN = f"""s.id IN (SELECT listed.value FROM review_draws drawn,
    {dialect.json_column_items("drawn.samples_json", "listed")} WHERE drawn.id = %s)"""  # noqa: S608 - our own words
HELD_BY_OTHERS = """EXISTS (SELECT 1 FROM sample_claims held WHERE held.sample_id = s.id
    AND held.claimed_by <> %s AND held.expires_at > %s AND held.expires_at <= %s)"""


@dataclass(frozen=True, slots=True)
class Queue:
    """A part of the waiting samples, as filters; an empty text is no condition.

    `name` is a status, or empty for both. With `skipped` it has only samples that this person skipped, and without it
    all others.
    """

    name: str = ""
    agent: str = ""
    type: str = ""
    session: str = ""
    skipped: bool = False
    prompted_by: str = ""  # this and the next as in sample_order.Filters
    ending: str = ""
    draw: str = ""  # the id of a draw: the samples of decisions that were drawn at random

    @property
    def statuses(self) -> list[str]:
        """The statuses of its samples."""
        return [self.name] if self.name else list(NAMES)

    @property
    def filters(self) -> dict[str, str]:
        """The filters in force, as they stand in an address."""
        chosen = {name: value for name, value in asdict(self).items() if value and name != "name"}
        return chosen | ({"skipped": "1"} if self.skipped else {})

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

    def without(self, name: str) -> str:
        """The address of the same queue with one filter less."""
        return replace(self, **{name: False if name == "skipped" else ""}).address()

    def condition(self, status: str, *, by: str | None) -> tuple[str, list]:
        """SQL condition on `dataset_samples s` with its values, for one status of the queue.

        `by` is the person whose skipped samples are left out, or the only ones; None: skips do not count.
        """
        filters = {"agent_id": self.agent, "sample_type": self.type, "session_id": self.session}
        columns = {"annotation_status": status} | {name: value for name, value in filters.items() if value}
        if self.prompted_by:
            columns["prompted_by"] = parse_prompted_by(self.prompted_by)
        checked = self._find_unindexed_columns()
        parts = [f"{dialect.unindexed(f's.{name}') if name in checked else f's.{name}'} = %s" for name in columns]
        values = list(columns.values())
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

    def _find_unindexed_columns(self):
        """Columns that SQLite must not choose an index for.

        The other columns have an index together, and fewer samples match them.
        """
        if self.draw:
            return {"annotation_status", "agent_id", "session_id", "sample_type", "prompted_by", "reply_stop"}
        if self.session:
            return {"annotation_status", "sample_type", "prompted_by", "reply_stop"}
        if self.ending == IS_CUT_OFF:
            return {"agent_id", "sample_type", "prompted_by"}
        return {"sample_type", "reply_stop"} if self.prompted_by else {"reply_stop"}


def build_count(queue: Queue, *, by: str | None = None, also: str = "TRUE", values: tuple = ()) -> tuple[str, list]:
    """SQL that counts the samples of a queue, with its values.

    It counts up to COUNTED_UP_TO of each status. `also` is a further condition, `values` are its values.
    """
    parts, all_values = [], []
    for status in queue.statuses:
        condition, condition_values = queue.condition(status, by=by)
        rows = f"SELECT 1 FROM dataset_samples s WHERE {condition} AND {also} LIMIT {COUNTED_UP_TO + 1}"  # noqa: S608
        parts.append(f"(SELECT COUNT(*) FROM ({rows}) some)")  # noqa: S608 - our own words
        all_values += [*condition_values, *values]
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
