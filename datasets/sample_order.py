"""The order in which samples are looked at: filters, what comes before and after, what waits, how many there are."""

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
LOOKING_MS = 20  # for the sample beside one: where no index helps, it may be far away


@dataclass(frozen=True, slots=True)
class Filters:
    """Which samples: an empty text is no condition. The same for list, neighbours, counts and API."""

    NAMES: ClassVar = ("status", "agent", "type", "session", "reason", "prompted_by", "ending")
    status: str = ""
    agent: str = ""
    type: str = ""
    session: str = ""
    reason: str = ""
    prompted_by: str = ""
    ending: str = ""

    def narrow(self, samples: QuerySet[DatasetSample]) -> QuerySet[DatasetSample]:
        """Those of `samples` that fit."""
        return self.listing(samples).all

    def listing(self, samples: QuerySet[DatasetSample], terms: Sequence[Term] = (), order=ORDER) -> Listing:
        """The same as a list, which `terms` may narrow further."""
        sought, checked = self._columns()
        found = [Term(name, "exact", value) for name, value in checked.items()]
        if self._seeks_cut_off:
            samples = samples.filter(OneOfThese("reply_stop", CUT_OFF))
        elif self.ending:
            found.append(Term("reply_stop", "in" if self.ending == IS_CUT_OFF else "without", CUT_OFF))
        return build_listing(samples.filter(**sought), [*found, *terms], order=order)

    def condition(self) -> tuple[str, list[str]]:
        """The same as SQL with its values, for counts: these need no order."""
        sought, checked = self._columns()
        names = [f"{name} = %s" for name in sought]
        is_sought = self.session or self.reason or self.prompted_by or self._seeks_cut_off
        names += [f"{dialect.unindexed(name) if is_sought else name} = %s" for name in checked]
        if self.ending:
            names.append(
                build_ending_condition(
                    "reply_stop" if self._seeks_cut_off else dialect.unindexed("reply_stop"), self.ending
                )
            )
        return " AND ".join(names) or "TRUE", [*sought.values(), *checked.values()]

    def _columns(self):
        """Columns and values: those that have an index together, in which the order of the list follows, and others."""
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
        if self.session:  # few samples: what else is asked of them is checked
            sought = {"session_id", "agent_id"}
        elif self.reason:  # few of all samples have one
            sought = {"reject_reason"}
        elif self._seeks_cut_off:  # few are
            sought = {"annotation_status"}
        elif self.prompted_by:
            sought = {"annotation_status", "agent_id", "prompted_by"} if self.status else {"prompted_by"}
        elif self.status:
            sought = {"annotation_status", "agent_id", "sample_type"}
        else:
            sought = {"agent_id"}
        checked = {name: columns.pop(name) for name in [*columns] if name not in sought}
        return columns, checked

    @property
    def _seeks_cut_off(self):
        """Whether the index of replies that were cut off is what finds these samples."""
        return self.ending == IS_CUT_OFF and not self.session and not self.reason

    def waiting(self) -> "Filters":
        """The samples somebody who works through this list has yet to judge: of its status, else pending."""
        return replace(self, status=self.status or DatasetSample.Status.PENDING)

    @property
    def query(self) -> str:
        """As the end of an address: `?status=pending&agent=ada`, or nothing."""
        chosen = {name: value for name, value in asdict(self).items() if value}
        return f"?{urlencode(chosen)}" if chosen else ""


def parse_prompted_by(name: str) -> str:
    """What `prompted_by` has for a name of words.PROMPTED_WORDS."""
    return "" if name == PERSON else name


def build_ending_condition(column: str, ending: str) -> str:
    """SQL about `reply_stop`, here called `column`: whether the reply was cut off, or was not (IS_COMPLETE)."""
    if ending == IS_CUT_OFF:
        return f"{column} IN ({quote_texts(CUT_OFF)})"
    return f"COALESCE({column}, '') NOT IN ({quote_texts(CUT_OFF)})"


def count_samples(lists: list[Filters]) -> list[RowCount | None]:
    """How many samples fit each of these filters, in one query; None for all of them when that takes too long.

    Nobody counts beyond COUNTED_UP_TO.
    """
    parts, values = [], []
    for filters in lists:
        condition, asked_for = filters.condition()
        some = f"SELECT 1 FROM dataset_samples WHERE {condition} LIMIT {COUNTED_UP_TO + 1}"  # noqa: S608 - our own words
        parts.append(f"(SELECT COUNT(*) FROM ({some}) some)")  # noqa: S608
        values += asked_for
    with time_box(DEFAULT_DB_ALIAS, COUNTING_MS) as is_up:
        try:
            counts = statements.read_row(DEFAULT_DB_ALIAS, f"SELECT {', '.join(parts)}", values)
            return [_capped(count) for count in counts]
        except OperationalError as exc:
            if not is_up(exc):
                raise
            return [None for _filters in lists]


def find_neighbours(sample: DatasetSample, filters: Filters) -> tuple[str | None, str | None]:
    """The ids of the samples before and after this one in the filtered list."""
    return _beside(sample, filters, BACKWARDS), _beside(sample, filters, ORDER)


def find_next_waiting(sample: DatasetSample, filters: Filters) -> str | None:
    """The id of the sample to judge after this one; from the end of the list it goes back to the top."""
    waiting = filters.waiting()
    first = waiting.narrow(DatasetSample.objects.exclude(id=sample.id)).order_by(*ORDER).values_list("id", flat=True)
    return _beside(sample, waiting, ORDER) or first.first()


def read_history(sample: DatasetSample) -> QuerySet[SampleLabel]:
    """The verdicts on a sample, the newest first; nobody reads beyond the last 50.

    A reject whose reason was given after it is one verdict: the row with the reason.
    """
    amended = sample.labels.filter(amends__isnull=False).values("amends")
    return sample.labels.exclude(id__in=amended).order_by("-labelled_at", "-id")[:50]


def find_by_turn(agent_id: str, session_id: str, numbers: list[int]) -> list[dict[str, Any]]:
    """The samples of these turns of a session, one for each turn: `id`, `turn_number`, `annotation_status`.

    One of all that was said in the turn goes before those of a decision alone.
    """
    rows = DatasetSample.objects.filter(agent_id=agent_id, session_id=session_id, turn_number__in=numbers)
    found = rows.order_by("turn_number", "-sample_type", "id").values("id", "turn_number", "annotation_status")
    return list({row["turn_number"]: row for row in found[:MOST_OF_TURNS]}.values())


def _capped(count):
    return RowCount(min(count, COUNTED_UP_TO), count > COUNTED_UP_TO)


def _beside(sample, filters, order):
    rows = filters.narrow(DatasetSample.objects.all()).values("created_at", "id")
    with time_box(rows.db, LOOKING_MS) as is_up:
        try:
            page = page_of(rows, order=order, after=encode_cursor([sample.created_at, sample.id]), size=1)
        except OperationalError as exc:
            if not is_up(exc):
                raise
            return None
    return page[0]["id"] if page else None
