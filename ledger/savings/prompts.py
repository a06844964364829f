"""Sizes of prompts over time, which show whether input tokens stay within a narrow band.

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

from ..models import ConversationTurn, Session, TranscriptEvent, TranscriptSnapshot
from .sums import Scope, limit_to_newest

TURNS = 60  # points of a session's chart
NEWEST = 10_000  # turns that an agent's chart is made of
LEAST = 5  # values that are needed for a band
LOW, MEDIAN, HIGH = 0.1, 0.5, 0.9
COLUMNS = ("turn_number", "prompt_tokens", "created_at", "first_seq", "last_seq", "session_id")


@dataclass(frozen=True, slots=True)
class Band:
    """The range of the middle 80% of prompts, in tokens."""

    low: int
    high: int
    count: int

    @property
    def times(self) -> float:
        """The high end divided by the low end."""
        return round(self.high / self.low, 1)


@dataclass(frozen=True, slots=True)
class TurnPrompt:
    """The prompt of one turn in tokens (None: unknown), and its number of compactions."""

    turn_number: int
    prompt_tokens: int | None
    compactions: int


@dataclass(frozen=True, slots=True)
class SessionPrompts:
    """Prompts of some turns of a session in order, and their band.

    `page` is the page of turns (ConversationTurn) that they are made of.
    """

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
    """The prompts of an agent by day, and their band.

    `since` is the time (ms) from which turns are included, when there are too many.
    """

    days: Sequence[DayPrompts]
    band: Band | None
    since: int | None


def read_session_prompts(session: Session, *, after: str | None = None, before: str | None = None) -> SessionPrompts:
    """The prompts of the latest TURNS turns of a session's active branch.

    With a cursor of the page they are those before or after it.
    """
    turns = session.turns.active().only(*COLUMNS)
    page = page_of(turns, order=("-turn_number",), after=after, before=before, size=TURNS)
    ordered = page[::-1]
    marks = _count_compactions(session, ordered)
    turn_prompts = [
        TurnPrompt(turn.turn_number, turn.prompt_tokens, marks.get(turn.turn_number, 0)) for turn in ordered
    ]
    return SessionPrompts(turn_prompts, band([turn.prompt_tokens for turn in turn_prompts if turn.prompt_tokens]), page)


def read_agent_prompts(scope: Scope) -> AgentPrompts:
    """The newest prompts of an agent in the days of a scope.

    The tool of the scope is ignored: a tool has no prompts of its own.
    """
    turns = ConversationTurn.objects.using(scope.db).filter(is_active=True, prompt_tokens__gt=0)
    turns, since = limit_to_newest(turns, NEWEST, since=scope.since_ms)
    newest = list(scope.filter_by_channel(turns).order_by("created_at").values_list("created_at", "prompt_tokens"))
    by_day = groupby(newest, key=lambda row: row[0] // 86_400_000)
    days = [_build_day(number, sorted(prompt for _at, prompt in rows)) for number, rows in by_day]
    return AgentPrompts(days, band([prompt for _at, prompt in newest]), since)


def band(values: Sequence[int]) -> Band | None:
    """The band of prompts; None when there are fewer than LEAST."""
    if len(values) < LEAST:
        return None
    ordered = sorted(values)
    return Band(percentile(ordered, LOW), percentile(ordered, HIGH), len(ordered))


def percentile(ordered: Sequence[int], share: float) -> int:
    """The smallest of `ordered` (not empty) that is not below `share` of them."""
    return ordered[max(ceil(share * len(ordered)) - 1, 0)]


def build_session_chart(session_prompts: SessionPrompts, session_url: str) -> Chart:
    """A point for each turn, with the band shaded and compactions as dashed lines.

    `session_url` is the transcript's address.
    """
    return line_chart(
        [_build_point(turn, session_url) for turn in session_prompts.turns],
        title=_("Prompt tokens by turn"),
        unit=_("Turn"),
        series=[Series(_("Prompt tokens"))],
        band=_get_bounds(session_prompts.band),
        marks=[index for index, turn in enumerate(session_prompts.turns) if turn.compactions],
    )


def build_agent_chart(agent_prompts: AgentPrompts) -> Chart:
    """Median and high end of each day; days without a turn are left out."""
    return line_chart(
        [_build_day_point(day) for day in agent_prompts.days],
        title=_("Prompt tokens by day (UTC)"),
        unit=_("Day"),
        series=[Series(_("90th percentile"), "muted"), Series(_("Median"))],
        band=_get_bounds(agent_prompts.band),
    )


def _get_bounds(prompt_band):
    return (prompt_band.low, prompt_band.high) if prompt_band else None


def _build_point(turn, session_url):
    name = _("Turn %(number)s") % {"number": turn.turn_number}
    if turn.compactions:
        name += " · " + ngettext("%(n)s compaction", "%(n)s compactions", turn.compactions) % {"n": turn.compactions}
    number = str(turn.turn_number)
    return Point(name, number, (turn.prompt_tokens,), f"{session_url}?turn={number}#t-{number}")


def _build_day_point(day):
    when = date.fromisoformat(day.date)
    turns = ngettext("%(n)s turn", "%(n)s turns", day.turn_count) % {"n": f"{day.turn_count:,}"}
    name, short = f"{day_in_words(when)} ({turns})", day_in_words(when, has_year=False)
    return Point(name, short, (day.high, day.median))


def _build_day(number, prompts):
    day = datetime.fromtimestamp(number * 86_400, UTC).date()
    return DayPrompts(str(day), len(prompts), percentile(prompts, MEDIAN), percentile(prompts, HIGH))


def _count_compactions(session, turns):
    """The number of compactions in each of some consecutive turns, by turn number."""
    if not turns:
        return {}
    snapshots = TranscriptSnapshot.objects.using(session._state.db).filter(session_id=session.id)
    events = TranscriptEvent.objects.using(session._state.db).filter(
        session_id=session.id,
        event_id__in=snapshots.values("snapshot_id"),
        seq__range=(turns[0].first_seq, turns[-1].last_seq),
    )
    starts = [turn.first_seq for turn in turns]
    return Counter(turns[bisect(starts, seq) - 1].turn_number for seq in events.values_list("seq", flat=True))
