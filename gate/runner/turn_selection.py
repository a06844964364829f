"""Selects the turns that the built-in gate judges.

Those of people, on the active branch, answered and ended.
"""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db.models import Count, Exists, F, OuterRef, QuerySet
from django.db.models.functions import Left, Right
from django.utils.translation import gettext as _

from agents.runners.choice import Choice, NoSuchSession
from ledger import consent
from ledger.collectors.answers import UNTAUGHT, is_silent
from ledger.collectors.machine_prompts import prompt_kind
from ledger.collectors.records import find_injected_kind
from ledger.models import ConversationTurn
from openclaw_web import clock
from openclaw_web.batches import in_batches

from ..models import GateCall, MemoryGateDecision
from ..recording import turn_matching
from ..recording.reports import Origin

SETTLED_MS = 60_000  # milliseconds after its reply a turn has ended
WORKING_MS = 3_600_000  # the same where a tool call follows the reply
BATCH_SIZE = 200
Rows = TypeVar("Rows", bound=QuerySet[Any])
COLUMNS = (
    *("id", "session_id", "user_message_id", "agent_message_id"),
    *("created_at", "latency_ms", "agent_metadata", "user_metadata"),
)


@dataclass(frozen=True, slots=True)
class TurnChoice(Choice):
    """A choice of turns to judge.

    `give_up_after` counts the calls about a turn by the same model and prompt. `before_at` does not hide decisions of
    other origins. With `is_again`, also turns that have a decision, unless it is of the same model and prompt.
    """

    is_again: bool = False


@dataclass(slots=True)
class TurnSelection:
    """Ids of turns to judge, the oldest first, and the count of withheld turns."""

    ids: list[str] = field(default_factory=list)
    withheld: int = 0


def select_turns(db: str, choice: TurnChoice, model: str, prompt_version: str) -> TurnSelection:
    """Return the turns that a model with a prompt is to judge. Raises NoSuchSession."""
    # The turns of a choice, newest first, with the ends of their texts.
    turns = ConversationTurn.objects.using(db).active().filter(agent_message_id__isnull=False, repeat_of=None)
    turns = turns.exclude(answer_state__in=UNTAUGHT)
    turns = filter_by_choice(db, turns, choice).exclude(
        Exists(_find_excluding_decisions(db, choice, model, prompt_version))
    )
    if choice.give_up_after is not None:
        turns = turns.exclude(Exists(_find_given_up(db, model, prompt_version, choice.give_up_after)))
    ends = {
        "asked_start": Left("user_message_content", 600),
        "said_start": Left("agent_message_content", BATCH_SIZE),
        "said_end": Right("agent_message_content", BATCH_SIZE),
        "session_key": F("session__session_key"),
    }
    rows = turns.only(*COLUMNS).annotate(**ends).placed().order_by("-created_at", "-place")
    selection = TurnSelection()
    for batch in in_batches(filter(_is_eligible, rows.iterator(chunk_size=BATCH_SIZE)), BATCH_SIZE):
        hidden = consent.find_withheld(db, batch)
        for turn in batch:
            if turn.id in hidden:
                selection.withheld += 1
            else:
                selection.ids.append(turn.id)
            if len(selection.ids) == choice.limit:
                break
        if len(selection.ids) == choice.limit:
            break
    selection.ids.reverse()
    return selection


def filter_by_choice(db: str, rows: Rows, choice: Choice) -> Rows:
    """Filter rows by the sessions and times of a choice. Raises NoSuchSession."""
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


def _find_excluding_decisions(db, choice, model, prompt_version):
    """Return the decisions that exclude a turn from being judged."""
    rows = MemoryGateDecision.objects.using(db).filter(turn_id=OuterRef("id"))
    if choice.is_again:
        rows = rows.filter(origin=Origin.OWN, llm_model=model, prompt_version=prompt_version)
    if choice.before_at is not None:
        rows = rows.exclude(origin=Origin.OWN, created_at__gte=choice.before_at)
    return rows


def _find_given_up(db, model, prompt_version, max_calls):
    """Return turns that this model with this prompt was asked about `most` times."""
    calls = GateCall.objects.using(db).filter(
        turn_id=OuterRef("id"), origin=Origin.OWN, llm_model=model, prompt_version=prompt_version, replay_id=None
    )
    return calls.values("turn_id").annotate(number=Count("id")).filter(number__gte=max_calls)


def _is_eligible(turn):
    if _is_machine_prompt(turn) or is_silent(turn.said_start) or is_silent(turn.said_end):
        return False
    settle_ms = WORKING_MS if turn.reply_details.get("stopReason") == "toolUse" else SETTLED_MS
    age = clock.now_ms() - turn.created_at - (turn.latency_ms or 0)
    return (
        age >= settle_ms or age < -settle_ms
    )  # the clock of a turn that far in the future is wrong: it counts as ended


def _is_machine_prompt(turn):
    """Return whether a turn was not begun by a person.

    Its stored sender says so, or its words do.
    """
    sender = turn.sender
    if prompt_kind(sender, turn.session_key, turn.session_id):
        return True
    return not sender.get("is_person") and bool(find_injected_kind(turn.asked_start))
