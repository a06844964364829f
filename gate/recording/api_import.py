"""Stores decisions that a running plugin reports through the API.

They are checked, matched with their turns and stored: all of a request, or none.
"""

from collections.abc import Sequence
from dataclasses import replace

import orjson
from django.utils.translation import gettext as _

from agents.models import Agent
from ledger import consent
from ledger.models import ConversationTurn, Session
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from ..models import MemoryGateDecision
from ..schemas import DecisionIn
from . import decision_store, turn_matching
from .reports import Match, Origin, Report, Source, StoreResult
from .windows import Window

ENABLED_SETTING = "memoryGateAuditing.enabled"


class NoSuchTurn(Refused):
    """A decision names a turn that its agent does not have."""

    status = 404


def record_reports(agent: Agent, decisions: Sequence[DecisionIn]) -> StoreResult:
    """Store decisions that a plugin reports.

    Raises Refused when recording is off, Conflict for a known id with other content, and NoSuchTurn when a turn is not
    one of this agent, or not of the session that is named. Decisions on words of somebody who opted out are counted,
    not stored.
    """
    if not configuration.is_on(ENABLED_SETTING):
        raise Refused(_("Decisions of memory_gate are not kept: memoryGateAuditing.enabled is off in the settings."))
    named = [decision.turn_id for decision in decisions if decision.turn_id]
    turns = ConversationTurn.objects.using(agent.db).in_bulk(named)
    _check_turns(agent, decisions, turns)
    reports = [_build_report(agent, decision, turns.get(decision.turn_id)) for decision in decisions]
    hidden = consent.find_withheld_keys(agent.db, [report.row.turn_id for report in reports])
    usable = [report for report in reports if report.row.turn_id not in hidden]
    return replace(decision_store.store_reports(agent.db, usable), withheld=len(reports) - len(usable))


def _check_turns(agent, decisions, turns):
    missing = [decision for decision in decisions if decision.turn_id and decision.turn_id not in turns]
    if missing:
        sentence = _(
            "This agent has no turn %(turn)s. Nothing was stored. Leave turn_id out to have the turn found by time."
        )
        reasons = [{"id": decision.id, "reason": _("no such turn")} for decision in missing]
        raise NoSuchTurn(sentence % {"turn": missing[0].turn_id}, reasons=reasons)
    keys = dict(
        Session.objects.using(agent.db)
        .filter(id__in={turn.session_id for turn in turns.values()})
        .values_list("id", "session_key")
    )
    for decision in decisions:
        turn = turns.get(decision.turn_id)
        if turn and not turn_matching.is_session_name(
            agent.agent_id, decision.session_id, turn.session_id, keys.get(turn.session_id)
        ):
            words = {"turn": turn.id, "session": decision.session_id}
            raise NoSuchTurn(_("The session %(session)s has no turn %(turn)s. Nothing was stored.") % words)


def _build_report(agent, decision, turn):
    match = (
        turn_matching.TurnMatch(turn.session_id, turn.id, Match.GIVEN)
        if turn
        else turn_matching.match_turn(agent.db, agent.agent_id, [decision.session_id], decision.created_at, None)
    )
    columns = decision.dict(exclude={"context", "session_id", "turn_id"})
    columns["candidate_fact"] = decision.candidate_fact or None
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
