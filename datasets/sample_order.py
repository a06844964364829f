"""The order of samples: filters, neighbours, the next sample to judge, and counts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.db import DEFAULT_DB_ALIAS, OperationalError
from django.db.models import QuerySet

from openclaw_web.lists.list_counts import RowCount
from openclaw_web.lists.paging import Listing, Term, build_listing, encode_cursor, page_of
from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.time_limits import time_box

from .fields import OneOfThese, quote_texts
from .models import CUT_OFF, DatasetSample, SampleLabel

ORDER = ("-created_at", "-id")
BACKWARDS = ("created_at", "id")
COUNTED_UP_TO = 1_000
MOST_OF_TURNS = 500
COUNTING_MS = 15  # for the numbers of all tabs together
PERSON = "person"  # who prompted a turn that OpenClaw did not start: the column is empty
IS_CUT_OFF, IS_COMPLETE = "cut_off", "complete"  # how a reply ended
LOOKING_MS = 20  # for the search of a neighbour, which may be far away where no index helps


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of list, neighbours, counts and API; an empty text is no condition."""

    NAMES: ClassVar = ("status", "agent", "type", "session", "reason", "prompted_by", "ending")
    status: str = ""
    agent: str = ""
    type: str = ""
    session: str = ""
    reason: str = ""
    prompted_by: str = ""
    ending: str = ""

    def narrow(self, samples: QuerySet[DatasetSample]) -> QuerySet[DatasetSample]:
        """The samples among `samples` that fit."""
        return self.listing(samples).all

    def listing(self, samples: QuerySet[DatasetSample], terms: Sequence[Term] = (), order=ORDER) -> Listing:
        """The samples that fit as a listing, which `terms` may narrow further."""
        indexed, checked = self._split_columns()
        conditions = [Term(name, "exact", value) for name, value in checked.items()]
        if self._seeks_cut_off:
            samples = samples.filter(OneOfThese("reply_stop", CUT_OFF))
        elif self.ending:
            conditions.append(Term("reply_stop", "in" if self.ending == IS_CUT_OFF else "without", CUT_OFF))
        return build_listing(samples.filter(**indexed), [*conditions, *terms], order=order)

    def condition(self) -> tuple[str, list[str]]:
        """The filters as an SQL condition with its values, for counts, which need no order."""
        indexed, checked = self._split_columns()
        names = [f"{name} = %s" for name in indexed]
        is_narrow = self.session or self.reason or self.prompted_by or self._seeks_cut_off
        names += [f"{dialect.unindexed(name) if is_narrow else name} = %s" for name in checked]
        if self.ending:
            names.append(
                build_ending_condition(
                    "reply_stop" if self._seeks_cut_off else dialect.unindexed("reply_stop"), self.ending
                )
            )
        return " AND ".join(names) or "TRUE", [*indexed.values(), *checked.values()]

    def _split_columns(self):
        """Filter columns with values: first those that have an index together, then the others.

        The index of the first ones also has the order of the list.
        """
        columns = {
            "annotation_status": self.status,
            "agent_id": self.agent,
            "sample_type": self.type,
            "session_id": self.session,
            "reject_reason": self.reason,
        }
        columns = {name: value for name, value in columns.items() if value}
        if self.prompted_by:
            columns["prompted_by"] = parse_prompted_by(self.prompted_by)
        if self.session:  # a session has few samples: other columns are checked row by row
            indexed = {"session_id", "agent_id"}
        elif self.reason:  # few samples have a reason
            indexed = {"reject_reason"}
        elif self._seeks_cut_off:  # few replies are cut off
            indexed = {"annotation_status"}
        elif self.prompted_by:
            indexed = {"annotation_status", "agent_id", "prompted_by"} if self.status else {"prompted_by"}
        elif self.status:
            indexed = {"annotation_status", "agent_id", "sample_type"}
        else:
            indexed = {"agent_id"}
        checked = {name: columns.pop(name) for name in [*columns] if name not in indexed}
        return columns, checked

    @property
    def _seeks_cut_off(self):
        """Whether the index of replies that were cut off is what finds these samples."""
        return self.ending == IS_CUT_OFF and not self.session and not self.reason

    def waiting(self) -> "Filters":
        """The filters of the samples that still have to be judged: of this status, else pending."""
        return replace(self, status=self.status or DatasetSample.Status.PENDING)

    @property
    def query(self) -> str:
        """The filters as the end of an address: `?status=pending&agent=ada`, or empty."""
        chosen = {name: value for name, value in asdict(self).items() if value}
        return f"?{urlencode(chosen)}" if chosen else ""


def parse_prompted_by(name: str) -> str:
    """The value of the column `prompted_by` for a name of words.PROMPTED_WORDS."""
    return "" if name == PERSON else name


def build_ending_condition(column: str, ending: str) -> str:
    """SQL condition on `reply_stop`, here called `column`: the reply was cut off, or was not (IS_COMPLETE)."""
    if ending == IS_CUT_OFF:
        return f"{column} IN ({quote_texts(CUT_OFF)})"
    return f"COALESCE({column}, '') NOT IN ({quote_texts(CUT_OFF)})"


def count_samples(lists: list[Filters]) -> list[RowCount | None]:
    """The number of samples for each of these filters, in one query.

    All are None when the query takes longer than COUNTING_MS. Counting stops beyond COUNTED_UP_TO.
    """
    parts, values = [], []
    for filters in lists:
        condition, condition_values = filters.condition()
        rows = f"SELECT 1 FROM dataset_samples WHERE {condition} LIMIT {COUNTED_UP_TO + 1}"  # noqa: S608 - our own words
        parts.append(f"(SELECT COUNT(*) FROM ({rows}) some)")  # noqa: S608
        values += condition_values
    with time_box(DEFAULT_DB_ALIAS, COUNTING_MS) as is_up:
        try:
            counts = statements.read_row(DEFAULT_DB_ALIAS, f"SELECT {', '.join(parts)}", values)
            return [RowCount(min(count, COUNTED_UP_TO), count > COUNTED_UP_TO) for count in counts]
        except OperationalError as exc:
            if not is_up(exc):
                raise
            return [None for _filters in lists]


def find_neighbours(sample: DatasetSample, filters: Filters) -> tuple[str | None, str | None]:
    """The ids of the samples before and after this one in the filtered list."""
    return _find_neighbour(sample, filters, BACKWARDS), _find_neighbour(sample, filters, ORDER)


def find_next_waiting(sample: DatasetSample, filters: Filters) -> str | None:
    """The id of the next sample to judge after this one; None: none waits.

    After the end of the list the search starts again at its top.
    """
    waiting = filters.waiting()
    first = waiting.narrow(DatasetSample.objects.exclude(id=sample.id)).order_by(*ORDER).values_list("id", flat=True)
    return _find_neighbour(sample, waiting, ORDER) or first.first()


def read_history(sample: DatasetSample) -> QuerySet[SampleLabel]:
    """The last 50 verdicts on a sample, the newest first.

    A reject and the reason that was given after it are one verdict: the row with the reason. A covered sample has none.
    """
    if sample.is_covered:
        return sample.labels.none()
    amended = sample.labels.filter(amends__isnull=False).values("amends")
    return sample.labels.exclude(id__in=amended).order_by("-labelled_at", "-id")[:50]


def find_by_turn(agent_id: str, session_id: str, numbers: list[int]) -> list[dict[str, Any]]:
    """The samples of these turns of a session, one for each turn.

    Each is a dictionary of `id`, `turn_number` and `annotation_status`. The sample of a whole turn goes before those of
    its decision alone.
    """
    rows = DatasetSample.objects.filter(agent_id=agent_id, session_id=session_id, turn_number__in=numbers)
    samples = rows.order_by("turn_number", "-sample_type", "id").values("id", "turn_number", "annotation_status")
    return list({row["turn_number"]: row for row in samples[:MOST_OF_TURNS]}.values())


def _find_neighbour(sample, filters, order):
    rows = filters.narrow(DatasetSample.objects.all()).values("created_at", "id")
    with time_box(rows.db, LOOKING_MS) as is_up:
        try:
            page = page_of(rows, order=order, after=encode_cursor([sample.created_at, sample.id]), size=1)
        except OperationalError as exc:
            if not is_up(exc):
                raise
            return None
    return page[0]["id"] if page else None
