"""Which samples wait for a verdict, and in which order a person gets them: the newest first, as in the list."""

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
DRAWN = f"""s.id IN (SELECT listed.value FROM review_draws drawn, {dialect.json_column_items("drawn.samples_json", "listed")}
    WHERE drawn.id = %s)"""  # noqa: S608 - our own words
HELD_BY_OTHERS = """EXISTS (SELECT 1 FROM sample_claims held WHERE held.sample_id = s.id
    AND held.claimed_by <> %s AND held.expires_at > %s AND held.expires_at <= %s)"""


@dataclass(frozen=True, slots=True)
class Queue:
    """A part of what waits: `name` is a status or empty for both; an empty text is no condition.

    With `skipped` it holds only what this person skipped, and without it everything else.
    """

    name: str = ""
    agent: str = ""
    type: str = ""
    session: str = ""
    skipped: bool = False
    prompted_by: str = ""  # as sample_order.Filters has both
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
        return _query(self.filters)

    @property
    def path(self) -> str:
        """The address of its page, without filters."""
        return reverse("datasets:review", args=[self.name] if self.name else [])

    @property
    def query(self) -> str:
        """The filters as the end of an address, with the name: for pages that are not the queue's own."""
        return _query(({"queue": self.name} if self.name else {}) | self.filters)

    def address(self, **more: str) -> str:
        """The address of its page with its filters, and `sample`, `after` or `before`."""
        return self.path + _query(self.filters | more)

    def without(self, name: str) -> str:
        """The address of the same queue with one filter less."""
        return replace(self, **{name: False if name == "skipped" else ""}).address()

    def condition(self, status: str, *, by: str | None) -> tuple[str, list]:
        """SQL about `dataset_samples s` with its values: of this status, within the filters, skipped by `by` or not."""
        asked = {"agent_id": self.agent, "sample_type": self.type, "session_id": self.session}
        columns = {"annotation_status": status} | {name: value for name, value in asked.items() if value}
        if self.prompted_by:
            columns["prompted_by"] = parse_prompted_by(self.prompted_by)
        checked = self._checked()
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

    def _checked(self):
        """Columns that no index is to be chosen for: the others have one together, and there are fewer of those."""
        if self.draw:
            return {"annotation_status", "agent_id", "session_id", "sample_type", "prompted_by", "reply_stop"}
        if self.session:
            return {"annotation_status", "sample_type", "prompted_by", "reply_stop"}
        if self.ending == IS_CUT_OFF:
            return {"agent_id", "sample_type", "prompted_by"}
        return {"sample_type", "reply_stop"} if self.prompted_by else {"reply_stop"}


def build_count(queue: Queue, *, by: str | None = None, also: str = "TRUE", values: tuple = ()) -> tuple[str, list]:
    """An SQL expression for how many samples are in a queue, counting up to COUNTED_UP_TO of each status."""
    parts, given = [], []
    for status in queue.statuses:
        condition, asked_for = queue.condition(status, by=by)
        some = f"SELECT 1 FROM dataset_samples s WHERE {condition} AND {also} LIMIT {COUNTED_UP_TO + 1}"  # noqa: S608
        parts.append(f"(SELECT COUNT(*) FROM ({some}) some)")  # noqa: S608 - our own words
        given += [*asked_for, *values]
    return " + ".join(parts), given


def read_counts(expressions: list[tuple[str, list]]) -> tuple:
    """The values of SQL expressions, in one query."""
    sql = "SELECT " + ", ".join(sql for sql, _values in expressions)
    return statements.read_row(DEFAULT_DB_ALIAS, sql, [value for _sql, values in expressions for value in values])


def find_position(sample_id: str) -> tuple[int, str] | None:
    """Where a sample stands in every queue; None when there is no such sample."""
    return statements.read_row(
        DEFAULT_DB_ALIAS, "SELECT created_at, id FROM dataset_samples WHERE id = %s", [sample_id]
    )


def _query(chosen):
    return f"?{urlencode(chosen)}" if chosen else ""
