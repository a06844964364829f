"""What a sample of a decision is made of: what the gate saw, and the turn where there is one."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.models import Agent
from gate.models import MemoryGateDecision
from gate.recording import speakers, windows
from gate.recording.windows import Window
from ledger.models import ConversationTurn
from openclaw_web.errors import Refused


class NoSuchDecision(Refused):
    """An id that no decision of this agent has."""

    status = 404


@dataclass(frozen=True, slots=True)
class Seen:
    """A decision with the window it was made on, and its turn; None: no turn was found for it."""

    decision: MemoryGateDecision
    turn: ConversationTurn | None
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
    turn = ConversationTurn.objects.using(agent.db).filter(id=decision.turn_id).first() if decision.turn_id else None
    if decision.turn_id and turn is None:
        raise Refused(_("The turn of this decision is no longer stored, so the decision cannot become a sample."))
    if turn and turn.repeat_of:
        raise Refused(_("The turn of this decision is copied from another session. Judge the decision on that turn."))
    window = windows.read(agent.db, decision.window_hash)
    if window is None:
        raise Refused(_("What the gate saw is not stored for this decision, so it cannot become a sample."))
    if not any((window.recent, window.user, window.reply)):
        raise Refused(_("The gate saw no message for this decision, so it cannot become a sample."))
    if speakers.withheld(agent.db, [(decision, window)]):
        raise Refused(
            _("Somebody opted out whose words the gate saw, or may have seen. The decision cannot become a sample.")
        )
    return Seen(decision, turn, window)
