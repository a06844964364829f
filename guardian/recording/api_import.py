"""Writes that a running plugin tells of: checked, placed and stored, all of a batch or none."""

from collections.abc import Sequence
from dataclasses import replace

import orjson
from django.utils.translation import gettext as _

from agents.models import Agent
from gate.models import MemoryGateDecision
from gate.recording import turn_matching
from ledger import consent
from ledger.models import ConversationTurn, Session
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from ..models import WriteGuardianAudit
from ..services import refresh_sums
from . import write_provenance, write_store
from .reports import Origin, Report, Source, StoreResult
from .schemas import ENCODED, SIDES, WriteIn

ENABLED_SETTING = "writeGuardianAuditing.enabled"


class NotThere(Refused):
    """A write names a turn or a decision that its agent does not have."""

    status = 404


def record_reports(agent: Agent, writes: Sequence[WriteIn], *, by: str = "") -> StoreResult:
    """Store what a plugin tells. Raises Refused when recording is off, Conflict for an id with other content.

    NotThere when a turn or a decision is not one of this agent, or not of the session or turn that is named. Writes of
    facts of somebody who opted out are counted, not stored.
    """
    if not configuration.is_on(ENABLED_SETTING):
        raise Refused(_("Writes to memory files are not kept: writeGuardianAuditing.enabled is off in the settings."))
    turns = ConversationTurn.objects.using(agent.db).in_bulk([one.turn_id for one in writes if one.turn_id])
    named = [one.decision_id for one in writes if one.decision_id]
    decisions = MemoryGateDecision.objects.using(agent.db).in_bulk(named)
    _check_turns(agent, writes, turns)
    _check_decisions(agent, writes, decisions)
    places = [_behind(agent, one, turns.get(one.turn_id), decisions.get(one.decision_id)) for one in writes]
    hidden = consent.find_withheld_keys(agent.db, [place.turn_id for place in places])
    told = [_told(one, place, by) for one, place in zip(writes, places, strict=True) if place.turn_id not in hidden]
    stored = replace(write_store.store_reports(agent.db, told), withheld=len(writes) - len(told))
    refresh_sums(agent.db)
    return stored


def _check_turns(agent, writes, turns):
    missing = [one for one in writes if one.turn_id and one.turn_id not in turns]
    if missing:
        sentence = _("This agent has no turn %(turn)s. Nothing was stored. Leave turn_id out to have the turn found.")
        reasons = [{"id": one.id, "reason": _("no such turn")} for one in missing]
        raise NotThere(sentence % {"turn": missing[0].turn_id}, reasons=reasons)
    ids = {turn.session_id for turn in turns.values()}
    keys = dict(Session.objects.using(agent.db).filter(id__in=ids).values_list("id", "session_key"))
    for one in writes:
        turn = turns.get(one.turn_id)
        if turn and not turn_matching.is_session_name(
            agent.agent_id, one.session_id, turn.session_id, keys.get(turn.session_id)
        ):
            words = {"turn": turn.id, "session": one.session_id}
            raise NotThere(_("The session %(session)s has no turn %(turn)s. Nothing was stored.") % words)


def _check_decisions(agent, writes, decisions):
    missing = [one for one in writes if one.decision_id and one.decision_id not in decisions]
    if missing:
        sentence = _(
            "This agent has no decision %(decision)s. Nothing was stored. Leave decision_id out to have the decision"
            " found."
        )
        reasons = [{"id": one.id, "reason": _("no such decision")} for one in missing]
        raise NotThere(sentence % {"decision": missing[0].decision_id}, reasons=reasons)
    for one in writes:
        decision = decisions.get(one.decision_id)
        if decision and not _is_of(agent, one, decision):
            words = {"decision": decision.id, "id": one.id}
            sentence = _("The decision %(decision)s is of another session or turn than the write %(id)s.")
            nothing = _("Nothing was stored.")
            raise NotThere(f"{sentence % words} {nothing}")


def _is_of(agent, one, decision):
    """Whether a decision may be the one behind a write: of its turn, else of its session."""
    if one.turn_id and decision.turn_id:
        return one.turn_id == decision.turn_id
    if one.session_id in (decision.session_id, decision.session_key):
        return True
    key = Session.objects.using(agent.db).filter(id=decision.session_id).values_list("session_key", flat=True).first()
    return turn_matching.is_session_name(agent.agent_id, one.session_id, decision.session_id, key)


def _behind(agent, one, turn, decision):
    if decision is None:
        decision = write_provenance.find_decision(
            agent.db, fact=one.candidate_fact, at=one.created_at, target_file=one.target_file
        )
        if decision and (not _is_of(agent, one, decision) or (turn and decision.turn_id not in (None, turn.id))):
            decision = None
    decision_id = decision.id if decision else None
    if turn:
        return write_provenance.from_turn(turn, one.session_id, decision_id)
    if decision and decision.turn_id:
        return replace(write_provenance.from_decision(decision), session_key=one.session_id)
    return replace(write_provenance.match_by_time(agent, [one.session_id], one.created_at), decision_id=decision_id)


def _told(one, found, by):
    columns = one.dict(exclude={"session_id", "turn_id", "decision_id", *SIDES, *ENCODED.values()})
    row = WriteGuardianAudit(**columns, **found.columns, origin=Origin.RECORDED)
    change = one.change
    return Report(row=row, source=Source.API, change=change, body_sha256=_digest(one, change), told_by=by)


def _digest(one, change):
    """The hash of what was told of a write: one for one content, however it was spelled."""
    body = one.dict(exclude_none=True, exclude={*SIDES, *ENCODED.values()})
    body["sides"] = change.hashes if change else []
    return write_store.hash_body(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
