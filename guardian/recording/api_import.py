"""Stores the writes that a running plugin reports, all of a batch or none."""

import binascii
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import orjson
from django.utils.translation import gettext as _
from pydantic import Field, model_validator

from agents.models import Agent
from gate.models import MemoryGateDecision
from gate.recording import turn_matching
from gate.recording.api_import import find_named_turns
from gate.schemas import CALL, Id, Moment, Name, ReportBody, Text, with_reported_columns
from ledger import consent
from ledger.models import Session
from openclaw_web.endpoints.schemas import Body
from openclaw_web.errors import Refused
from people.configuration import setting_values as configuration

from ..files import MEMORY_FILES, MOST_BYTES
from ..models import WriteGuardianAudit
from ..services import refresh_sums
from . import write_provenance, write_store
from .reports import FileChange, Origin, Report, Source, Status, StoreResult

MAX_WRITES = 100  # writes in one request
# Words in the place of an id in addresses: other pages, and what a browser resolves.
NOT_IDS = frozenset(
    (
        ".",
        "..",
        "blame",
        "chart",
        "correct",
        "cure",
        "handovers",
        "history",
        "left",
        "of",
        "opted-out",
        "own",
        "rollback",
        "rules",
        "session",
    )
)
SIDES = ("before", "after")
ENCODED = {side: f"{side}_base64" for side in SIDES}


@with_reported_columns(WriteGuardianAudit, "session_key")
class WriteIn(ReportBody):
    """One write. Names as in the spec's table, or as in its interface (`sessionId`, `llmCall`, `fileChange`)."""

    nested = (CALL, "fileChange")

    id: Id = Field(description="sent again with the same content, it is the same write")
    decision_id: Name | None = Field(None, description="leave out to have the decision found by its fact")
    turn_id: Name | None = Field(None, description="leave out to have the turn found by decision, session and time")
    session_id: Name = Field(description="id or key of the session")
    target_file: Literal[MEMORY_FILES]  # type: ignore[valid-type]
    candidate_fact: Text
    status: Literal["written", "refused", "failed", "skipped"]
    reason: Text | None = Field(None, description="why it was refused, or failed")
    created_at: Moment
    before: str | None = Field(None, description="the file before the write; null: there was none. At most 5 MB")
    after: str | None = Field(
        None, description="the file after the write; needed with `before` unless nothing was written (refused, ...)"
    )
    before_base64: str | None = Field(None, description="instead of `before`, for a file that is not UTF-8")
    after_base64: str | None = Field(None, description="instead of `after`")

    @model_validator(mode="after")
    def is_one(self) -> "WriteIn":
        """Check that a write has a fact, a possible id, and both sides or none."""
        if self.id in NOT_IDS:
            raise ValueError(f"{self.id} cannot be the id of a write")
        if not self.candidate_fact.strip():
            raise ValueError("candidate_fact is required")
        reported_sides = [side for side in SIDES if {side, ENCODED[side]} & self.model_fields_set]
        if self.status != Status.WRITTEN and "after" in reported_sides:
            raise ValueError(f"a write that was {self.status} has no after: send before alone")
        if self.status == Status.WRITTEN and len(reported_sides) == 1:
            raise ValueError("before and after belong together: null is for a file that was not there")
        if reported_sides:
            self._check_sides()
        return self

    def _check_sides(self):
        for side in SIDES:
            if getattr(self, side) is not None and getattr(self, ENCODED[side]) is not None:
                raise ValueError(f"send {side} or {ENCODED[side]}, not both")
            data = self._read_bytes(side)
            if data is not None and len(data) > MOST_BYTES:
                raise ValueError(f"{side} is too large: a file can have at most 5 MB")
        if self.status == Status.WRITTEN and self._read_bytes("before") is None and self._read_bytes("after") is None:
            raise ValueError("a write without a file before and after it changed nothing")

    def _read_bytes(self, side):
        text, encoded = getattr(self, side), getattr(self, ENCODED[side])
        if encoded is None:
            return None if text is None else text.encode()
        try:
            return b64decode(encoded, validate=True)
        except binascii.Error as exc:
            raise ValueError(f"{ENCODED[side]} is not base64") from exc

    @property
    def change(self) -> FileChange | None:
        """Both sides of the file; None where they were not reported.

        They are equal where the write changed no file.
        """
        if not {*SIDES, *ENCODED.values()} & self.model_fields_set:
            return None
        before = self._read_bytes("before")
        return FileChange(before, self._read_bytes("after") if self.status == Status.WRITTEN else before)


class WritesIn(Body):
    writes: list[WriteIn] = Field(min_length=1, max_length=MAX_WRITES, description="all are stored, or none")


ENABLED_SETTING = "writeGuardianAuditing.enabled"


class NotThere(Refused):
    """A write names a decision that its agent does not have."""

    status = 404


def record_reports(agent: Agent, writes: Sequence[WriteIn], *, by: str = "") -> StoreResult:
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
