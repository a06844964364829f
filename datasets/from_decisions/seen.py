"""What is known of a decision that is to become a sample: its turn, and what the gate saw; or why it cannot be one."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.models import Agent
from gate.models import MemoryGateDecision
from gate.recording import consent, windows
from gate.recording.windows import Window
from ledger.models import ConversationTurn
from openclaw_web.errors import Refused

LOOKED_AT = 500  # turns before the one of a decision, in which the messages of its window are looked for


class NoSuchDecision(Refused):
    """An id that no decision of this agent has."""

    status = 404


@dataclass(frozen=True, slots=True)
class Seen:
    """A decision with its turn and the window it was made on."""

    decision: MemoryGateDecision
    turn: ConversationTurn
    window: Window


def decision_of(agent: Agent, decision_id: str) -> MemoryGateDecision:
    """A decision of an agent. Raises NoSuchDecision."""
    rows = MemoryGateDecision.objects.using(agent.db).defer("raw_response")
    found = rows.filter(id=decision_id).first()
    if found is None:
        raise NoSuchDecision(_("This agent has no such decision. See the list of decisions for their ids."))
    return found


def seen_of(agent: Agent, decision: MemoryGateDecision) -> Seen:
    """What a sample of the decision is made of. Raises Refused where it cannot have one."""
    if decision.turn_id is None:
        raise Refused(_("No turn was found for this decision, so it cannot become a sample."))
    turn = ConversationTurn.objects.using(agent.db).filter(id=decision.turn_id).first()
    if turn is None:
        raise Refused(_("The turn of this decision is no longer stored, so the decision cannot become a sample."))
    window = windows.read(agent.db, decision.window_hash)
    if window is None:
        raise Refused(_("What the gate saw is not stored for this decision, so it cannot become a sample."))
    if not any((window.recent, window.user, window.reply)):
        raise Refused(_("The gate saw no message for this decision, so it cannot become a sample."))
    if _is_withheld(agent.db, turn, window):
        raise Refused(
            _("Somebody opted out whose words the gate saw, or may have seen. The decision cannot become a sample.")
        )
    return Seen(decision, turn, window)


def _is_withheld(db, turn, window):
    """Whether a message of the window is of somebody who opted out by now, or nobody can tell whose it is."""
    if not consent.opted_out():
        return False
    said_by = _turns_with(db, turn, {message["message"] for message in window.recent})
    unknown = any((message["role"], message["message"]) not in said_by for message in window.recent)
    found = {one.id: one for turns in said_by.values() for one in turns} | {turn.id: turn}
    return unknown or bool(consent.withheld(db, list(found.values())))


def _turns_with(db, turn, texts: set[str]) -> dict[tuple[str, str], list[ConversationTurn]]:
    """By role and text, the turns before this one of its session in which one of these texts was said."""
    before = ConversationTurn.objects.using(db).filter(session_id=turn.session_id, first_seq__lt=turn.first_seq)
    found: dict[tuple[str, str], list[ConversationTurn]] = {}
    rows: Sequence[ConversationTurn] = before.order_by("-first_seq")[:LOOKED_AT] if texts else []
    for one in rows:
        for role, text in (("user", one.user_message_content), ("agent", one.agent_message_content)):
            if text in texts:
                found.setdefault((role, text), []).append(one)
    return found
