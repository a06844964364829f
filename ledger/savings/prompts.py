"""How big prompts were over time: whether input tokens stay within a tight band.

The prompt of a turn is what its biggest model call read: new tokens, tokens from the cache and tokens into the cache.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from math import ceil

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from openclaw_web.lists.paging import Page, page_of
from openclaw_web.pages.charts import Chart, Point, Series, line_chart
from openclaw_web.pages.formatting import day_in_words

from ..models import ConversationTurn, Session, TranscriptEventIdentity, TranscriptSnapshot
from .sums import Scope, limit_to_newest

TURNS = 60  # points of a session's chart
NEWEST = 10_000  # turns that an agent's chart is made of
LEAST = 5  # values that have a middle worth speaking of
LOW, MEDIAN, HIGH = 0.1, 0.5, 0.9
COLUMNS = ("turn_number", "prompt_tokens", "created_at", "first_seq", "last_seq", "session_id")


@dataclass(frozen=True, slots=True)
class Band:
    """Between which sizes the middle 80% of prompts lie."""

    low: int
    high: int
    count: int

    @property
    def times(self) -> float:
        """How many times the low end the high end is."""
        return round(self.high / self.low, 1)


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """The prompt of one turn (None: not known), and how many compactions there were in it."""

    turn_number: int
    prompt_tokens: int | None
    compactions: int


@dataclass(frozen=True, slots=True)
class SessionPrompts:
    """Some turns of a session in order, their band, and the page of turns (ConversationTurn) they are made of."""

    turns: Sequence[TurnPrompt]
    band: Band | None
    page: Page


@dataclass(frozen=True, slots=True)
class DayPrompts:
    """The prompts of one UTC day."""

    date: str
    turn_count: int
    median: int
    high: int


@dataclass(frozen=True, slots=True)
class AgentPrompts:
    """The prompts of an agent by day, their band; `since` is when they begin if the days hold too many (ms)."""

    days: Sequence[DayPrompts]
    band: Band | None
    since: int | None


def read_session_prompts(session: Session, *, after: str | None = None, before: str | None = None) -> SessionPrompts:
    """The latest TURNS turns of a session's active branch, or those beside them by a cursor of the page."""
    turns = session.turns.active().only(*COLUMNS)
    page = page_of(turns, order=("-turn_number",), after=after, before=before, size=TURNS)
    shown = page[::-1]
    marks = _compactions(session, shown)
    found = [TurnPrompt(turn.turn_number, turn.prompt_tokens, marks.get(turn.turn_number, 0)) for turn in shown]
    return SessionPrompts(found, band([turn.prompt_tokens for turn in found if turn.prompt_tokens]), page)


def read_agent_prompts(scope: Scope) -> AgentPrompts:
    """The newest prompts of an agent in the days of a scope; of one tool there are none of their own."""
    turns = ConversationTurn.objects.using(scope.db).filter(is_active=True, prompt_tokens__gt=0)
    turns, since = limit_to_newest(turns, NEWEST, since=scope.since_ms)
    newest = list(scope.of_channel(turns).order_by("created_at").values_list("created_at", "prompt_tokens"))
    by_day = groupby(newest, key=lambda row: row[0] // 86_400_000)
    days = [_day(number, sorted(prompt for _at, prompt in rows)) for number, rows in by_day]
    return AgentPrompts(days, band([prompt for _at, prompt in newest]), since)


def band(values: Sequence[int]) -> Band | None:
    """The band of prompts; None when there are too few to speak of one."""
    if len(values) < LEAST:
        return None
    ordered = sorted(values)
    return Band(percentile(ordered, LOW), percentile(ordered, HIGH), len(ordered))


def percentile(ordered: Sequence[int], share: float) -> int:
    """The smallest of `ordered` (not empty) that is not below `share` of them."""
    return ordered[max(ceil(share * len(ordered)) - 1, 0)]


def build_session_chart(found: SessionPrompts, here: str) -> Chart:
    """A point for each turn, its band shaded, compactions as dashed lines; `here` is the transcript's address."""
    return line_chart(
        [_point(turn, here) for turn in found.turns],
        title=_("Prompt tokens by turn"),
        unit=_("Turn"),
        series=[Series(_("Prompt tokens"))],
        band=_ends(found.band),
        marks=[index for index, turn in enumerate(found.turns) if turn.compactions],
    )


def build_agent_chart(found: AgentPrompts) -> Chart:
    """Median and high end of each day; days without a turn are left out."""
    return line_chart(
        [_day_point(day) for day in found.days],
        title=_("Prompt tokens by day (UTC)"),
        unit=_("Day"),
        series=[Series(_("90th percentile"), "muted"), Series(_("Median"))],
        band=_ends(found.band),
    )


def _ends(found):
    return (found.low, found.high) if found else None


def _point(turn, here):
    name = _("Turn %(number)s") % {"number": turn.turn_number}
    if turn.compactions:
        name += " · " + ngettext("%(n)s compaction", "%(n)s compactions", turn.compactions) % {"n": turn.compactions}
    number = str(turn.turn_number)
    return Point(name, number, (turn.prompt_tokens,), f"{here}?turn={number}#t-{number}")


def _day_point(day):
    when = date.fromisoformat(day.date)
    turns = ngettext("%(n)s turn", "%(n)s turns", day.turn_count) % {"n": f"{day.turn_count:,}"}
    name, short = f"{day_in_words(when)} ({turns})", day_in_words(when, has_year=False)
    return Point(name, short, (day.high, day.median))


def _day(number, prompts):
    day = datetime.fromtimestamp(number * 86_400, UTC).date()
    return DayPrompts(str(day), len(prompts), percentile(prompts, MEDIAN), percentile(prompts, HIGH))


def _compactions(session, turns):
    """How many compactions lie in each of some turns that follow each other, by number."""
    if not turns:
        return {}
    snapshots = TranscriptSnapshot.objects.using(session._state.db).filter(session_id=session.id)
    found = TranscriptEventIdentity.objects.using(session._state.db).filter(
        session_id=session.id,
        event_id__in=snapshots.values("snapshot_id"),
        seq__range=(turns[0].first_seq, turns[-1].last_seq),
    )
    starts = [turn.first_seq for turn in turns]
    return Counter(turns[bisect(starts, seq) - 1].turn_number for seq in found.values_list("seq", flat=True))
