"""Stores the writes that a running plugin reports, all of a batch or none."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson
from django.utils.translation import gettext as _

from agents.models import Agent
from gate.models import MemoryGateDecision
from gate.recording import turn_matching
from gate.recording.api_import import find_named_turns
from ledger import consent
from ledger.models import Session
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from ..models import WriteGuardianAudit
from ..services import refresh_sums
from . import write_provenance, write_store
from .reports import ENCODED, SIDES, Origin, Report, Source, StoreResult

if TYPE_CHECKING:
    from .schemas import WriteIn

ENABLED_SETTING = "writeGuardianAuditing.enabled"


class NotThere(Refused):
    """A write names a decision that its agent does not have."""

    status = 404


def record_reports(agent: Agent, writes: Sequence["WriteIn"], *, by: str = "") -> StoreResult:
    """Store the reports of a plugin; return what was stored.

    A turn that is not known is that of the decision, or found. Raises Refused when recording is off, Conflict for an id
    with other content, NoSuchTurn when a turn is not of the session that is named, and NotThere when a decision is not
    one of this agent, or not of the session or turn that is named. Writes of facts of somebody who opted out are
    counted, not stored.
    """
    if not configuration.is_on(ENABLED_SETTING):
        raise Refused(_("Writes to memory files are not kept: writeGuardianAuditing.enabled is off in the settings."))
    turns = find_named_turns(agent, writes)
    decision_ids = [write.decision_id for write in writes if write.decision_id]
    decisions = MemoryGateDecision.objects.using(agent.db).in_bulk(decision_ids)
    _check_decisions(agent, writes, decisions)
    provenances = [
        _find_provenance(agent, write, turns.get((write.session_id, write.turn_id)), decisions.get(write.decision_id))
        for write in writes
    ]
    hidden = consent.find_withheld_keys(agent.db, [provenance.turn_id for provenance in provenances])
    reports = [
        _build_report(write, provenance, by)
        for write, provenance in zip(writes, provenances, strict=True)
        if provenance.turn_id not in hidden
    ]
    result = replace(write_store.store_reports(agent.db, reports), withheld=len(writes) - len(reports))
    refresh_sums(agent.db)
    return result


def _check_decisions(agent, writes, decisions):
    missing = [write for write in writes if write.decision_id and write.decision_id not in decisions]
    if missing:
        sentence = _(
            "This agent has no decision %(decision)s. Nothing was stored. Leave decision_id out to have the decision"
            " found."
        )
        reasons = [{"id": write.id, "reason": _("no such decision")} for write in missing]
        raise NotThere(sentence % {"decision": missing[0].decision_id}, reasons=reasons)
    for write in writes:
        decision = decisions.get(write.decision_id)
        if decision and not _may_cause(agent, write, decision):
            words = {"decision": decision.id, "id": write.id}
            sentence = _("The decision %(decision)s is of another session or turn than the write %(id)s.")
            nothing = _("Nothing was stored.")
            raise NotThere(f"{sentence % words} {nothing}")


def _may_cause(agent, write, decision):
    """Return whether a decision may have caused a write: by its turn, else by its session."""
    if write.turn_id and decision.turn_id:
        return write.turn_id == decision.turn_id
    if write.session_id in (decision.session_id, decision.session_key):
        return True
    key = Session.objects.using(agent.db).filter(id=decision.session_id).values_list("session_key", flat=True).first()
    return turn_matching.is_session_name(agent.agent_id, write.session_id, decision.session_id, key)


def _find_provenance(agent, write, turn, decision):
    if decision is None:
        decision = write_provenance.find_decision(
            agent.db, fact=write.candidate_fact, at=write.created_at, target_file=write.target_file
        )
        if decision and (not _may_cause(agent, write, decision) or (turn and decision.turn_id not in (None, turn.id))):
            decision = None
    decision_id = decision.id if decision else None
    if turn:
        return write_provenance.from_turn(turn, write.session_id, decision_id)
    if decision and decision.turn_id:
        return replace(write_provenance.from_decision(decision), session_key=write.session_id)
    return replace(write_provenance.match_by_time(agent, [write.session_id], write.created_at), decision_id=decision_id)


def _build_report(write, provenance, by):
    columns = write.dict(exclude={"session_id", "turn_id", "decision_id", *SIDES, *ENCODED.values()})
    row = WriteGuardianAudit(**columns, **provenance.columns, origin=Origin.RECORDED)
    change = write.change
    # The hash is the same for one content, however it was encoded.
    body = write.dict(exclude_none=True, exclude={*SIDES, *ENCODED.values()})
    body["sides"] = change.hashes if change else []
    return Report(
        row=row,
        source=Source.API,
        change=change,
        body_sha256=write_store.hash_body(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)),
        reporter=by,
    )
