"""Turns as samples: which turn can become one, and the content of an `annotated_turn` sample.

Turns share the making of samples with decisions and writes, and nothing else: a turn has no page where people judge it
before there is a sample, and samples are made of many turns at once (services), whose context is kept.
"""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from gate import decisions as gate
from gate.models import MemoryGateDecision
from ledger import consent
from ledger.collectors.machine_prompts import HANDOVER
from ledger.collectors.records import Facts, read_facts
from ledger.collectors.senders import WithheldReason, find_withheld_reason
from ledger.models import ConversationTurn, Session, TranscriptEvent
from ledger.transcripts import origins
from ledger.transcripts.answer_reading import read_answer
from ledger.transcripts.trimming import full_record

from .. import turn_facts
from ..models import DatasetSample
from ..sample_texts import PICTURE
from . import sample_store
from .kind import SampleKind

TYPE = DatasetSample.Type.ANNOTATED_TURN
NOT_USED = {
    WithheldReason.SENDER: gettext_lazy("The sender opted out, so the text is not used."),
    WithheldReason.UNKNOWN_SENDER: gettext_lazy(
        "Somebody opted out and the sender is unknown, so the text is not used."
    ),
    WithheldReason.QUOTE: gettext_lazy("The text may quote somebody who opted out, so it is not used."),
}


@dataclass(slots=True)
class Exchange:
    """The messages of a turn in full, or the `problem` why it cannot be a sample."""

    user: str = ""
    reply: str = ""
    problem: str = ""
    stop: str = ""  # the stop reason recorded with the reply
    traits: str = ""  # see turn_facts.traits
    prompt: str = ""  # see turn_facts.find_prompt
    exclusion: str = ""  # see turn_facts.find_exclusion


@dataclass(frozen=True, slots=True)
class TurnSubject:
    """A turn with its exchange, its context, and the gate's decision, if any."""

    turn: ConversationTurn
    exchange: Exchange
    context: list[dict[str, Any]]
    decision: MemoryGateDecision | None


def compute_sample_id(agent_id: str, turn_id: str) -> str:
    """The id of a turn's sample."""
    return sample_store.compute_sample_id(agent_id, turn_id, TYPE)


def read_exchanges(db: str, turns: list[ConversationTurn]) -> dict[str, Exchange]:
    """The exchange of each of these turns of an agent, by turn id."""
    opted_out = consent.read_opted_out()
    sessions = Session.objects.using(db).in_bulk({turn.session_id for turn in turns})
    direct = {name for name, row in sessions.items() if opted_out and origins.is_direct_with(row, opted_out)}
    used = [turn for turn in turns if turn.session_id not in direct]
    records, resting = _read_records(db, used), turn_facts.find_resting_on_tools(db, used)
    exchanges = {turn.id: Exchange(problem=NOT_USED[WithheldReason.SENDER]) for turn in turns}
    for turn in used:
        session = sessions.get(turn.session_id)
        exchanges[turn.id] = _build_exchange(turn, records, opted_out, session, turn.id in resting)
    return exchanges


def find_decisions(db: str, turns: list[ConversationTurn]) -> dict[str, MemoryGateDecision]:
    """The memory_gate decision of each turn that has one, by turn id."""
    return gate.find_by_turn(db, [turn.id for turn in turns])


def content(_agent: Agent, subject: TurnSubject, _is_right: bool) -> dict[str, Any]:
    """The content of a turn's sample (Type 4 of the Reflection spec)."""
    turn, exchange, decision = subject.turn, subject.exchange, subject.decision
    messages = [{"role": message["role"], "message": message["message"]} for message in subject.context]
    body: dict[str, Any] = {
        "type": TYPE.value,
        "conversationId": turn.session_id,
        "turnNumber": turn.turn_number,
        "context": messages,
        "userMessage": exchange.user,
        "agentReply": exchange.reply,
    }
    if decision:
        body["memoryGate"] = {
            "input": {
                "recentMessages": messages,
                "currentUserMessage": exchange.user,
                "currentAgentReply": exchange.reply,
            },
            "output": {
                "decision": decision.decision,
                "reason": decision.reason,
                "candidateFact": decision.candidate_fact,
            },
        }
    return body


def _read_records(db, turns):
    """The user's and the agent's records of turns, by session and record id."""
    ids = {record_id for turn in turns for record_id in (turn.user_message_id, turn.agent_message_id) if record_id}
    sessions = {turn.session_id for turn in turns}
    events = TranscriptEvent.objects.using(db).filter(session_id__in=sessions, event_id__in=ids)
    return {
        (event.session_id, event.event_id): (event.kind, read_facts(full_record(event)))
        for event in events.iterator(chunk_size=50)
    }


def _build_exchange(turn, records, opted_out, session, rests_on_tools):
    no_record: tuple[str, Facts | None] = ("", None)
    user_kind, user = records.get((turn.session_id, turn.user_message_id), no_record)
    reply_kind, reply = records.get((turn.session_id, turn.agent_message_id), no_record)
    if not turn.is_active:
        return Exchange(problem=_("On an abandoned branch."))
    if turn.repeat_of:
        return Exchange(problem=_("Copied from another session. Create the sample there."))
    if "withheld" in (user_kind, reply_kind):
        return Exchange(problem=_("The sender opted out, so the text is not used."))
    if opted_out and user:
        is_group = session is None or origins.is_group(session)
        if reason := find_withheld_reason(user.sender, user.envelope, opted_out, is_group=is_group):
            return Exchange(problem=NOT_USED[reason])
    if turn.agent_message_id is None:
        return Exchange(problem=_("No reply."))
    if user is None or reply is None or session is None:
        return Exchange(problem=_("The records are not stored. Import this agent again."))
    if not user.text.strip():
        is_picture = bool(user.images or user.files)
        return Exchange(problem=_("The user's message has no text."), exclusion=PICTURE if is_picture else "")
    text = read_answer(session, turn).text if turn.reply_details.get("sent") else reply.text
    if not text.strip():
        return Exchange(problem=_("No reply."))
    traits = turn_facts.find_traits(user, reply, rests_on_tools=rests_on_tools, answer_state=turn.answer_state)
    prompt, stop = turn_facts.find_prompt(user, reply, session), turn_facts.find_stop(turn, reply)
    if prompt == HANDOVER:  # also where somebody chooses to include other prompts
        return Exchange(problem=_("This site handed this change to the agent: no person said it."))
    exclusion = turn_facts.find_exclusion(prompt, stop, traits)
    return Exchange(user.text, text, stop=stop, traits=traits, prompt=prompt, exclusion=exclusion)


def _build_columns(_agent, subject):
    exchange = subject.exchange
    decision_id = subject.decision.id if subject.decision else None
    return {"decision_id": decision_id, **turn_facts.build_columns(exchange.prompt, exchange.stop, exchange.traits)}


TURN = SampleKind(key=TYPE, body=content, columns=_build_columns)
