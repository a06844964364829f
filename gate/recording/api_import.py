"""Decisions that a running plugin tells of: checked, placed and stored, all of a batch or none."""

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
    """Store what a plugin tells. Raises Refused when recording is off, Conflict for an id with other content.

    NoSuchTurn when a turn is not one of this agent, or not of the session that is named. Decisions on words of
    somebody who opted out are counted, not stored.
    """
    if not configuration.is_on(ENABLED_SETTING):
        raise Refused(_("Decisions of memory_gate are not kept: memoryGateAuditing.enabled is off in the settings."))
    named = [one.turn_id for one in decisions if one.turn_id]
    turns = ConversationTurn.objects.using(agent.db).in_bulk(named)
    _check_turns(agent, decisions, turns)
    told = [_told(agent, one, turns.get(one.turn_id)) for one in decisions]
    hidden = consent.find_withheld_keys(agent.db, [one.row.turn_id for one in told])
    usable = [one for one in told if one.row.turn_id not in hidden]
    return replace(decision_store.store_reports(agent.db, usable), withheld=len(told) - len(usable))


def _check_turns(agent, decisions, turns):
    missing = [one for one in decisions if one.turn_id and one.turn_id not in turns]
    if missing:
        sentence = _(
            "This agent has no turn %(turn)s. Nothing was stored. Leave turn_id out to have the turn found by time."
        )
        reasons = [{"id": one.id, "reason": _("no such turn")} for one in missing]
        raise NoSuchTurn(sentence % {"turn": missing[0].turn_id}, reasons=reasons)
    keys = dict(
        Session.objects.using(agent.db)
        .filter(id__in={turn.session_id for turn in turns.values()})
        .values_list("id", "session_key")
    )
    for one in decisions:
        turn = turns.get(one.turn_id)
        if turn and not turn_matching.is_session_name(
            agent.agent_id, one.session_id, turn.session_id, keys.get(turn.session_id)
        ):
            words = {"turn": turn.id, "session": one.session_id}
            raise NoSuchTurn(_("The session %(session)s has no turn %(turn)s. Nothing was stored.") % words)


def _told(agent, one, turn):
    place = (
        turn_matching.TurnMatch(turn.session_id, turn.id, Match.GIVEN)
        if turn
        else turn_matching.match_turn(agent.db, agent.agent_id, [one.session_id], one.created_at, None)
    )
    columns = one.dict(exclude={"context", "session_id", "turn_id"})
    columns["candidate_fact"] = one.candidate_fact or None
    row = MemoryGateDecision(
        **columns,
        session_id=place.session_id,
        turn_id=place.turn_id,
        match=place.match,
        session_key=one.session_id,
        origin=Origin.RECORDED,
    )
    body = orjson.dumps(one.dict(exclude_none=True), option=orjson.OPT_SORT_KEYS)
    return Report(
        row=row, source=Source.API, window=_window(agent, one, place), body_sha256=decision_store.hash_body(body)
    )


def _window(agent, one, place):
    if one.context is None:
        return None
    turn = ConversationTurn.objects.using(agent.db).filter(id=place.turn_id).first() if place.turn_id else None
    return Window(
        tuple(message.dict() for message in one.context),
        turn.user_message_content if turn else None,
        (turn.agent_message_content or None) if turn else None,
    )
