"""Stores decisions that a running plugin reports through the API.

They are checked, matched with their turns and stored: all of a request, or none.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from django.utils.translation import gettext as _

from agents.models import Agent
from ledger import consent
from ledger.models import ConversationTurn, Session
from ledger.transcripts.reported_turns import find_turns
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from ..models import MemoryGateDecision
from . import decision_store, turn_matching
from .reports import Match, Origin, Report, Source, StoreResult
from .windows import Window

if TYPE_CHECKING:
    from ..schemas import DecisionIn

ENABLED_SETTING = "memoryGateAuditing.enabled"


class NoSuchTurn(Refused):
    """A report names a turn that its session does not have."""

    status = 404


def record_reports(agent: Agent, decisions: Sequence["DecisionIn"]) -> StoreResult:
    """Store decisions that a plugin reports.

    A decision whose turn is not known is stored like one without, and joined when that turn comes. Raises Refused when
    recording is off, Conflict for a known id with other content, and NoSuchTurn when a turn is not of the session that
    is named. Decisions on words of somebody who opted out are counted, not stored.
    """
    if not configuration.is_on(ENABLED_SETTING):
        raise Refused(_("Decisions of memory_gate are not kept: memoryGateAuditing.enabled is off in the settings."))
    turns = find_named_turns(agent, decisions)
    reports = [
        _build_report(agent, decision, turns.get((decision.session_id, decision.turn_id))) for decision in decisions
    ]
    hidden = consent.find_withheld_keys(agent.db, [report.row.turn_id for report in reports])
    usable = [report for report in reports if report.row.turn_id not in hidden]
    return replace(decision_store.store_reports(agent.db, usable), withheld=len(reports) - len(usable))


def find_named_turns(agent: Agent, reports: Sequence[Any]) -> dict[tuple[Any, Any], ConversationTurn]:
    """Find the turns that reports name, by the names of session and turn. Raises NoSuchTurn for another session's."""
    turns = find_turns(agent.db, [(report.session_id, report.turn_id) for report in reports])
    sessions = Session.objects.using(agent.db).in_bulk({turn.session_id for turn in turns.values()})
    for (name, turn_id), turn in turns.items():
        key = sessions[turn.session_id].session_key
        if turn.id == turn_id and not turn_matching.is_session_name(agent.agent_id, name, turn.session_id, key):
            words = {"turn": turn.id, "session": name}
            raise NoSuchTurn(_("The session %(session)s has no turn %(turn)s. Nothing was stored.") % words)
    return turns


def _build_report(agent, decision, turn):
    match = (
        turn_matching.TurnMatch(turn.session_id, turn.id, Match.GIVEN)
        if turn
        else turn_matching.match_turn(agent.db, agent.agent_id, [decision.session_id], decision.created_at, None)
    )
    columns = decision.dict(exclude={"context", "session_id", "turn_id"})
    columns["candidate_fact"] = decision.candidate_fact or None
    columns["named_turn_id"] = None if turn else decision.turn_id
    row = MemoryGateDecision(
        **columns,
        session_id=match.session_id,
        turn_id=match.turn_id,
        match=match.match,
        session_key=decision.session_id,
        origin=Origin.RECORDED,
    )
    body = orjson.dumps(decision.dict(exclude_none=True), option=orjson.OPT_SORT_KEYS)
    return Report(
        row=row,
        source=Source.API,
        window=_build_window(agent, decision, match),
        body_sha256=decision_store.hash_body(body),
    )


def _build_window(agent, decision, match):
    if decision.context is None:
        return None
    turn = ConversationTurn.objects.using(agent.db).filter(id=match.turn_id).first() if match.turn_id else None
    return Window(
        tuple(message.dict() for message in decision.context),
        turn.user_message_content if turn else None,
        (turn.agent_message_content or None) if turn else None,
    )
