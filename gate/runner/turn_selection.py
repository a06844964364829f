"""Which turns the built-in gate judges: those of people, on the active branch, answered and ended."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from django.db.models import Count, Exists, F, OuterRef, QuerySet
from django.db.models.functions import Left, Right
from django.utils.translation import gettext as _

from agents.runners.choice import Choice, NoSuchSession
from ledger import consent
from ledger.collectors.machine_prompts import prompt_kind
from ledger.collectors.records import find_injected_kind, is_silent
from ledger.models import ConversationTurn
from openclaw_web import clock

from ..models import GateCall, MemoryGateDecision
from ..recording import turn_matching
from ..recording.reports import Origin

SETTLED_MS = 60_000  # after its reply a turn has ended
WORKING_MS = 3_600_000  # the same, when the reply was followed by a call of a tool
BATCH_SIZE = 200
Row = TypeVar("Row")
Rows = TypeVar("Rows", bound=QuerySet[Any])
COLUMNS = (
    *("id", "session_id", "user_message_id", "agent_message_id"),
    *("created_at", "latency_ms", "agent_metadata", "user_metadata"),
)


@dataclass(frozen=True, slots=True)
class TurnChoice(Choice):
    """Which turns somebody wants judged; `give_up_after` counts calls about one by the same model and prompt.

    `before_at` does not hide decisions of other origins. With `is_again`, also turns that have a decision, as long as
    it is not of the same model and prompt.
    """

    is_again: bool = False


@dataclass(slots=True)
class TurnSelection:
    """Ids of turns in the order in which they are judged, the oldest first; how many more are withheld."""

    ids: list[str] = field(default_factory=list)
    withheld: int = 0


def select_turns(db: str, asked: TurnChoice, model: str, prompt_version: str) -> TurnSelection:
    """The turns that a model with a prompt is to judge. Raises NoSuchSession."""
    rows = _wanted(db, asked, model, prompt_version)
    chosen = TurnSelection()
    for some in split_rows(turn for turn in rows.iterator(chunk_size=BATCH_SIZE) if _is_for_us(turn)):
        hidden = consent.find_withheld(db, some)
        for turn in some:
            if turn.id in hidden:
                chosen.withheld += 1
            else:
                chosen.ids.append(turn.id)
            if len(chosen.ids) == asked.limit:
                break
        if len(chosen.ids) == asked.limit:
            break
    chosen.ids.reverse()
    return chosen


def _wanted(db, asked, model, prompt_version):
    """The rows of the turns, newest first, with the ends of their texts."""
    turns = ConversationTurn.objects.using(db).active().filter(agent_message_id__isnull=False, repeat_of=None)
    turns = filter_by_choice(db, turns, asked).exclude(Exists(_decisions(db, asked, model, prompt_version)))
    if asked.give_up_after is not None:
        turns = turns.exclude(Exists(_hopeless(db, model, prompt_version, asked.give_up_after)))
    ends = {
        "asked_start": Left("user_message_content", 600),
        "said_start": Left("agent_message_content", BATCH_SIZE),
        "said_end": Right("agent_message_content", BATCH_SIZE),
        "session_key": F("session__session_key"),
    }
    return turns.only(*COLUMNS).annotate(**ends).placed().order_by("-created_at", "-place")


def filter_by_choice(db: str, rows: Rows, choice: Choice) -> Rows:
    """The rows of the sessions and times of a choice. Raises NoSuchSession."""
    if choice.session is not None:
        sessions = turn_matching.find_session_ids(db, db.removeprefix("agent_"), [choice.session])
        if not sessions:
            raise NoSuchSession(_("This agent has no session %(session)s.") % {"session": choice.session})
        rows = rows.filter(session_id__in=sessions)
    if choice.since is not None:
        rows = rows.filter(created_at__gte=choice.since)
    if untils := [moment for moment in (choice.until, choice.before_at) if moment is not None]:
        rows = rows.filter(created_at__lt=min(untils))
    return rows


def split_rows(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows, so many at a time."""
    rows = iter(rows)
    while piece := list(islice(rows, BATCH_SIZE)):
        yield piece


def _decisions(db, asked, model, prompt_version):
    """The decisions because of which a turn is not judged."""
    rows = MemoryGateDecision.objects.using(db).filter(turn_id=OuterRef("id"))
    if asked.is_again:
        rows = rows.filter(origin=Origin.OWN, llm_model=model, prompt_version=prompt_version)
    if asked.before_at is not None:
        rows = rows.exclude(origin=Origin.OWN, created_at__gte=asked.before_at)
    return rows


def _hopeless(db, model, prompt_version, most):
    """Turns about which this model was asked so often, with this prompt, that it is not asked again."""
    calls = GateCall.objects.using(db).filter(
        turn_id=OuterRef("id"), origin=Origin.OWN, llm_model=model, prompt_version=prompt_version, replay_id=None
    )
    return calls.values("turn_id").annotate(number=Count("id")).filter(number__gte=most)


def _is_for_us(turn):
    if _is_prompt(turn) or is_silent(turn.said_start) or is_silent(turn.said_end):
        return False
    rest, age = _rest(turn), clock.now_ms() - turn.created_at - (turn.latency_ms or 0)
    return age >= rest or age < -rest  # a turn that far in the future has ended at a time nobody knows


def _is_prompt(turn):
    """Whether nobody typed what began a turn: what is stored of it says so, or its words do."""
    sender = turn.sender
    if prompt_kind(sender, turn.session_key, turn.session_id):
        return True
    return not sender.get("is_person") and bool(find_injected_kind(turn.asked_start))


def _rest(turn):
    return WORKING_MS if turn.reply_details.get("stopReason") == "toolUse" else SETTLED_MS
