"""Steps of a session's runs as OpenClaw measured them."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy as _

from artifacts import handles
from openclaw_web.lists.paging import Page, page_of
from openclaw_web.pages import states
from openclaw_web.sqlite.fields import RowId
from openclaw_web.sqlite.json_columns import decode

from ..collectors.trajectories import TOOL_ENDED
from ..models import Session, TrajectoryEvent
from ..words import STEP_ENDS
from .timeline import format_json

ORDER = ("created_at", "seq", "place")
SIZE = 100
BUDGET_BYTES = 1_000_000  # of facts in one page
GIVEN = {"systemPrompt": _("System prompt"), "tools": _("Tool schemas")}  # facts that are handles of artifacts
MOST_ENDS = 5_000  # ends of tool calls that are read for a page
AROUND_MS = 3_600_000
SHORT = 60  # characters of a word in a list
BAD = frozenset({"error", "failed", "failure", "aborted", "timeout"})


@dataclass(slots=True)
class StepDescription:
    """The description of a step for people.

    `words` are for a line of a list, `given` are `(label, sha256 of an artifact)`, `usage` are counts.
    """

    words: list[str] = field(default_factory=list)
    given: list[tuple[Any, str]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    is_failed: bool = False

    @property
    def line(self):
        """Its words on one line."""
        return " · ".join(word[:SHORT] for word in self.words)

    @property
    def tokens_in(self):
        """Tokens that a model call read; None when they are unknown."""
        return _valid_int(self.usage.get("input"))

    @property
    def tokens_out(self):
        """Tokens that a model call wrote; None when they are unknown."""
        return _valid_int(self.usage.get("output"))

    @property
    def cost(self):
        """US dollars of a model call; None when unknown: 0 for tokens is no price."""
        return _valid_number(self.usage.get("cost")) or (None if self.tokens_in or self.tokens_out else 0)


def find_steps(session: Session):
    """The steps of a session's runs."""
    steps = TrajectoryEvent.objects.using(session._state.db).annotate(place=RowId())
    return steps.filter(session_id=session.id, created_at__isnull=False)


def has_steps(db: str) -> Exists:
    """An expression for queries of sessions: whether a session has steps."""
    return Exists(TrajectoryEvent.objects.using(db).filter(session_id=OuterRef("id")))


def read_page(session: Session, *, size: int = SIZE, **place: Any) -> Page:
    """One page of steps, the earliest first. `place`: see page_of."""
    return page_of(find_steps(session), order=ORDER, size=size, **place, budget=BUDGET_BYTES, weigh=weight)


def weight(step: TrajectoryEvent) -> int:
    """The size of a step in an answer, in characters."""
    return len(step.about_json) + len(step.run_id) + len(step.type)


def read_step_facts(step: TrajectoryEvent) -> dict[str, Any]:
    """The facts of a step."""
    return decode(step.about_json)


def describe_step(step: TrajectoryEvent) -> StepDescription:
    """The description of a step for people."""
    facts = read_step_facts(step)
    status = facts.get("status") or facts.get("finalStatus") or ""
    words = [facts.get(name) for name in ("name", "modelId", "trigger", "stopReason")]
    words.append(str(states.word(status)) if isinstance(status, str) and status else "")
    words += [str(word) for name, word in STEP_ENDS.items() if facts.get(name) is True]
    usage = facts.get("usage")
    return StepDescription(
        words=[word for word in words if isinstance(word, str) and word],
        given=[(label, sha256) for name, label in GIVEN.items() if (sha256 := _parse_handle(facts.get(name)))],
        usage=usage if isinstance(usage, dict) else {},
        is_failed=facts.get("success") is False or (isinstance(status, str) and status in BAD),
    )


def format_facts(step: TrajectoryEvent) -> str:
    """All facts of a step as JSON on several lines."""
    return format_json(read_step_facts(step))


def read_tool_ends(db: str, **conditions: Any):
    """The facts of ends of tool calls that have a duration, the newest first."""
    steps = TrajectoryEvent.objects.using(db).filter(type=TOOL_ENDED, **conditions).order_by("-created_at")
    for about_json in steps.values_list("about_json", flat=True)[:MOST_ENDS]:
        facts = decode(about_json)
        if _valid_int(facts.get("durationMs")) is not None:
            yield facts


def add_durations(session: Session, sections) -> None:
    """Set the durations of results on a page (timeline.Section) that their own records lack."""
    calls = [call for section in sections for entry in section.entries for call in entry.calls if call.result]
    results = {
        f"sha256:{hashlib.sha256(call.result.call_id.encode()).hexdigest()}": call.result
        for call in calls
        if call.result.duration_ms is None
    }
    moments = [result.created_at for result in results.values()]
    if not moments:
        return
    # A result is stored after its call ended, seconds later where several calls end together.
    window = (min(moments) - AROUND_MS, max(moments) + AROUND_MS)
    for facts in read_tool_ends(session._state.db, session_id=session.id, created_at__range=window):
        if result := results.get(facts["toolCallId"]):
            result.duration_ms = facts["durationMs"]


def _valid_number(value):
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53 else None


def _valid_int(value):
    number = _valid_number(value)
    return None if number is None else int(number)


def _parse_handle(handle):
    with suppress(handles.NotAHandle):
        return handles.parse(handle)
    return ""
