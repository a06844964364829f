"""Costs of big outputs, and savings by keeping them off the prompt. Reads only.

Sums come from `tool_days` and `session_tools`, which grow with days and tools and not with records; the largest and the
repeated outputs are searched among a bounded number of uses.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from heapq import nlargest

from django.db.models import Exists, Max, OuterRef, QuerySet, Sum
from django.db.models.functions import Coalesce

from artifacts.models import Artifact
from artifacts.services import OUTPUT_KIND
from openclaw_web import clock

from ..models import Session, SessionDay, ToolDay, TranscriptEvent
from ..transcripts.tool_days import COUNT_COLUMNS, PROMPT_COLUMNS

CHARS_PER_TOKEN = 4
SHOWN = 20
TOOLS = 50
LOOKED_AT = 1_000  # uses among which the largest and the repeated ones are searched
USE = (
    *("id", "handle", "kind", "content_type", "chars", "lines", "tool", "summary", "session_id", "record_id"),
    *("tool_call_id", "created_at"),
)


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of outputs of tools; tokens are estimates: characters / CHARS_PER_TOKEN."""

    call_count: int = 0
    result_count: int = 0
    failed_count: int = 0
    chars: int = 0
    stashed_count: int = 0
    stashed_chars: int = 0
    kept_chars: int = 0
    carried_chars: int = 0
    tool: str = ""

    @property
    def saved_chars(self) -> int:
        """Characters that could be kept off the prompt, each output counted once."""
        return self.stashed_chars - self.kept_chars

    @property
    def tokens(self) -> int:
        """Tokens of all results."""
        return tokens_of(self.chars)

    @property
    def stashed_tokens(self) -> int:
        """Tokens of the results that are artifacts."""
        return tokens_of(self.stashed_chars)

    @property
    def kept_tokens(self) -> int:
        """Tokens that would stay in the prompt: previews, summaries and handles."""
        return tokens_of(self.kept_chars)

    @property
    def saved_tokens(self) -> int:
        """Tokens that could be kept off the prompt, each output counted once."""
        return tokens_of(self.saved_chars)

    @property
    def carried_tokens(self) -> int:
        """Avoidable tokens, counted again for each later model call that read them."""
        return tokens_of(self.carried_chars)


@dataclass(frozen=True, slots=True)
class Use:
    """An output of a tool that is an artifact; `uses` counts the uses of its content."""

    id: str
    handle: str
    kind: str
    content_type: str
    chars: int
    lines: int
    tool: str | None
    summary: str
    session_id: str
    record_id: str
    tool_call_id: str | None
    created_at: int
    uses: int = 1

    @property
    def sha256(self) -> str:
        """The name of the content in addresses."""
        return self.handle[-64:]

    @property
    def tokens(self) -> int:
        """Its tokens in a prompt."""
        return tokens_of(self.chars)

    @property
    def wasted_chars(self) -> int:
        """The characters of every use but the first."""
        return (self.uses - 1) * self.chars


@dataclass(frozen=True, slots=True)
class Savings:
    """The sums of one agent's or one session's outputs, and the outputs that stand out."""

    totals: Sums
    tools: Sequence[Sums]
    content_count: int
    largest: Sequence[Use]
    repeated: Sequence[Use]
    prompt_tokens: int
    has_more_tools: bool
    is_cut: bool
    looked_since: int | None = None

    @property
    def carried_percent(self) -> float | None:
        """Carried tokens in percent of all tokens that models read.

        None when the records have no usage.
        """
        return round(100 * self.totals.carried_tokens / self.prompt_tokens, 1) if self.prompt_tokens else None


@dataclass(frozen=True, slots=True)
class Scope:
    """An agent's outputs since a UTC day, of one tool or channel if given."""

    db: str
    since: date | None = None
    tool: str = ""
    channel: str = ""

    @property
    def since_ms(self) -> int:
        """The first moment of the first day."""
        return moment_of(self.since) if self.since else 0

    def filter_by_channel(self, rows: QuerySet) -> QuerySet:
        """The rows whose session has the channel.

        It is looked up row by row, so filter them by something else first.
        """
        if not self.channel:
            return rows
        sessions = Session.objects.using(self.db).filter(id=OuterRef("session_id"), channel_id=self.channel)
        return rows.filter(Exists(sessions))

    def tool_days(self) -> QuerySet:
        """The sums by day, of all tools."""
        days = ToolDay.objects.using(self.db).filter(date__gte=str(self.since))
        return days.filter(channel_id=self.channel) if self.channel else days


def read_agent_savings(scope: Scope) -> Savings:
    """The savings of an agent in the days of a scope."""
    days = scope.tool_days()
    all_uses = _exclude_repeated(Artifact.objects.using(scope.db).filter(record_id__isnull=False, kind=OUTPUT_KIND))
    uses, newest = limit_to_newest(all_uses, LOOKED_AT, since=scope.since_ms)
    uses = scope.filter_by_channel(uses.filter(tool=scope.tool) if scope.tool else uses)
    rows = list(uses.order_by().values_list("handle", "chars", "id"))  # once: each of these rows lies somewhere else
    ids = [row_id for _chars, _handle, row_id in nlargest(SHOWN, ((row[1], row[0], row[2]) for row in rows))]
    largest = Artifact.objects.using(scope.db).filter(id__in=ids).order_by("-chars", "-handle", "-id").values(*USE)
    return _build_savings(
        _sum_by_tool(days.filter(tool=scope.tool) if scope.tool else days),
        (uses, [row[:2] for row in rows], largest),
        days.aggregate(read=Coalesce(Sum("prompt_tokens"), 0))["read"],
        is_cut=newest is not None,
        looked_since=newest,
    )


def read_session_savings(session: Session) -> Savings:
    """The savings of one session."""
    uses = Artifact.objects.using(session._state.db).filter(
        session_id=session.id, record_id__isnull=False, kind=OUTPUT_KIND
    )
    uses = _exclude_repeated(uses).order_by("-chars", "-handle")  # as their index has them: the largest come first
    contents = list(uses.values_list("handle", "chars")[: LOOKED_AT + 1])
    read = sum(getattr(session, name) for name in PROMPT_COLUMNS)
    looked_at = (uses, contents[:LOOKED_AT], uses.values(*USE)[:SHOWN])
    return _build_savings(
        _sum_by_tool(session.tools.all()),
        looked_at,
        read,
        is_cut=len(contents) > LOOKED_AT,
    )


def _exclude_repeated(uses):
    """Uses without those in repeated records, which are very few.

    A repeated record counts in the session that has it first.
    """
    repeated = TranscriptEvent.objects.using(uses.db).filter(repeat_of__isnull=False)
    if not repeated.exists():
        return uses
    own = repeated.filter(session_id=OuterRef("session_id"), event_id=OuterRef("record_id"))
    return uses.exclude(Exists(own))


def limit_to_newest(rows: QuerySet, count: int, *, since: int) -> tuple[QuerySet, int | None]:
    """The rows created since a moment, at most `count`, and the moment after which they begin.

    Moments are in milliseconds. The second value is None when these are all rows.
    """
    recent = rows.filter(created_at__gte=since)
    newest = recent.order_by("-created_at").values_list("created_at", flat=True)[count : count + 1].first()
    # With both bounds SQLite may seek to the earlier one and walk from there.
    return (recent, None) if newest is None else (rows.filter(created_at__gt=newest), newest)


def find_first_day(db: str, days: int) -> date:
    """The first of the last `days` UTC days.

    They end today, or with the latest day when that is more than `days` ago.
    """
    today = datetime.fromtimestamp(clock.now_ms() / 1000, UTC).date()
    last = SessionDay.objects.using(db).filter(date__lte=str(today)).aggregate(last=Max("date"))["last"]
    latest = date.fromisoformat(last) if last else today
    return (today if today - latest < timedelta(days=days) else latest) - timedelta(days=days - 1)


def moment_of(day: date) -> int:
    """The first millisecond of a UTC day."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


def tokens_of(chars: int) -> int:
    """The estimated tokens of a text with so many characters."""
    return round(chars / CHARS_PER_TOKEN)


def _sum_by_tool(sums):
    added = {f"sum_{name}": Sum(name) for name in COUNT_COLUMNS}
    return sums.values("tool").annotate(**added).order_by("-sum_chars", "tool").iterator()


def _build_savings(by_tool, looked_at, prompt_tokens, **more):
    uses, contents, largest = looked_at
    totals, tools = dict.fromkeys(COUNT_COLUMNS, 0), []
    for row in by_tool:  # names of tools come from transcripts: there may be many
        for name in COUNT_COLUMNS:
            totals[name] += row[f"sum_{name}"]
        if len(tools) <= TOOLS and row["sum_call_count"] + row["sum_result_count"]:
            tools.append(Sums(**{name: row[f"sum_{name}"] for name in COUNT_COLUMNS}, tool=row["tool"]))
    return Savings(
        totals=Sums(**totals),
        tools=tools[:TOOLS],
        content_count=len({handle for handle, _chars in contents}),
        largest=[Use(**row) for row in largest],
        repeated=_find_repeated(uses, contents),
        prompt_tokens=prompt_tokens,
        has_more_tools=len(tools) > TOOLS,
        **more,
    )


def _find_repeated(uses, contents):
    """Contents with several uses, the most costly first, each with one of its records."""
    wasted = sorted(
        ((1 - times) * chars, handle, times) for (handle, chars), times in Counter(contents).items() if times > 1
    )[:SHOWN]
    ones = uses.filter(handle__in=[handle for _wasted, handle, _times in wasted]).order_by()
    ones = Artifact.objects.using(uses.db).filter(id__in=ones.values("handle").annotate(one=Max("id")).values("one"))
    known = {row["handle"]: row for row in ones.values(*USE)}
    return [Use(**known[handle], uses=times) for _wasted, handle, times in wasted if handle in known]
