"""The page of one write: its change, origin and outcome."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from agents.models import Agent
from gate.models import MemoryGateDecision
from ledger.models import ConversationTurn
from ledger.session.evidence import Evidence, read_evidence
from openclaw_web.diffs import line_diff, unified_format
from people.configuration import setting_values as configuration

from .. import fact_evidence, services, versions
from ..models import BehaviorCorrection, FileSnapshot, GuardianStatus, Rollback, WriteGuardianAudit
from ..recording import snapshot_pairs, sql, write_store
from ..recording.reports import CHANGED, Source
from . import related_writes


def explain_unknown(row: WriteGuardianAudit) -> str:
    """Return the sentence; empty where the change is known, or the write changed no file."""
    is_known = row.before_snapshot_id or row.after_snapshot_id or row.diff is not None
    if is_known or row.status not in CHANGED:
        return ""
    words = {"file": row.target_file or "", "setting": write_store.SNAPSHOTS_SETTING}
    if not row.target_file:
        return _("What changed is not known: the write names no file.")
    if row.sources & Source.ELSEWHERE:
        return _("What changed is not known: no agent has the workspace of this write.")
    if not configuration.is_on(write_store.SNAPSHOTS_SETTING):
        return _("What changed is not known: the setting %(setting)s is off.") % words
    return _explain_by_versions(row) % words


def _explain_by_versions(row):
    db, name, at = row._state.db or "", row.target_file, row.created_at
    count = services.find_held_versions(db, name).values("id")[:2].count()
    if count == 0:
        return _("No version of %(file)s is stored, so the change of this write is not known.")
    if count == 1:
        return _("Only one version of %(file)s is stored, so the change of this write is not known.")
    if snapshot_pairs.is_ambiguous(db, row):
        return _(
            "Several changes of %(file)s added the words of this fact, so it is not known which one is this write's."
        )
    if not sql.has_newer_snapshot(db, name, at):
        return _("No later version of %(file)s is stored yet, so the change of this write is not known.")
    if sql.find_last_snapshot(db, name, at) is None:
        return _("The first stored version of %(file)s is later than this write, so its change is not known.")
    return _("What changed is not known: other writes explain the changes of %(file)s around this time.")


MAX_ROWS = 20  # rows of other writes, turns of a window, and statuses
UNIFIED = "unified"  # in addresses: both sides one below the other
TURN = ("id", "session_id", "turn_number", "created_at", "user_message_content", "user_message_id")


@dataclass(frozen=True, slots=True)
class Sides:
    """The versions of a file before and after a write; None: no file, or not known."""

    before: FileSnapshot | None
    after: FileSnapshot | None
    is_known: bool

    @property
    def lossy(self) -> list[FileSnapshot]:
        """The versions whose text is not all that the file held."""
        return [side for side in (self.before, self.after) if side and side.is_lossy]


def read_sides(row: WriteGuardianAudit) -> Sides:
    """Return both versions of a write, with their contents."""
    rows = FileSnapshot.objects.using(row._state.db).defer("raw")
    versions_by_id = rows.in_bulk({name for name in (row.before_snapshot_id, row.after_snapshot_id) if name})
    before, after = (versions_by_id.get(name or "") for name in (row.before_snapshot_id, row.after_snapshot_id))
    return Sides(before, after, bool(before or after))


def compare_sides(row: WriteGuardianAudit, sides: Sides) -> line_diff.Diff | None:
    """Compare both versions by the hunks that were stored with the write; None where not known."""
    if not sides.is_known:
        return None
    old, new = (side.content if side else None for side in (sides.before, sides.after))
    return line_diff.build_from_hunks(old, new, row.hunks) if row.hunks else line_diff.compare(old, new)


def build_write_context(agent: Agent, row: WriteGuardianAudit, *, layout: str = "") -> dict[str, Any]:
    """Build the context of a write, without its neighbours.

    `layout` is how the diff is drawn: UNIFIED, or side by side.
    """
    sides = read_sides(row)
    diff = compare_sides(row, sides)
    view = line_diff.build_view(diff) if diff else None
    write_evidence = read_evidence(agent.db, row)
    why = explain_unknown(row)
    lines = None  # of the file with the fact of the write
    if why and row.target_file and row.candidate_fact:
        lines = fact_evidence.find_lines(versions.find_newest(agent, row.target_file), row.candidate_fact)
    return {
        "audit": row,
        "sides": sides,
        "diff": diff,
        "view": unified_format.to_one_column(view) if view and layout == UNIFIED else view,
        "is_unified": layout == UNIFIED,
        "change_unknown": why,
        "fact_lines": lines,
        **read_origin(agent, row, write_evidence),
        "evidence": write_evidence,
        **read_outcome(row),
        "is_withheld": write_evidence.is_withheld,
        "rollback_subject": related_writes.read_subjects(agent.db, [row.id]).get(row.id)
        if row.origin == related_writes.ROLLBACK
        else None,
        "shared": find_shared_writes(row) if row.is_diff_shared else [],
        "window": find_turns_in_window(agent, row) if row.earliest_at else [],
        "most": MAX_ROWS,
    }


def read_origin(agent: Agent, row: WriteGuardianAudit, evidence: Evidence) -> dict[str, Any]:
    """Return the session, turn and decision behind a write, and the rule that applies to it."""
    decisions = MemoryGateDecision.objects.using(agent.db).defer("raw_response")
    rules = BehaviorCorrection.objects.using(agent.db)
    return {
        "turn": evidence.turn,
        "session": evidence.session,
        "decision": decisions.filter(id=row.decision_id).first() if row.decision_id else None,
        "rule": rules.filter(id=row.rule_id).first() if row.rule_id else None,
    }


def read_outcome(row: WriteGuardianAudit) -> dict[str, Any]:
    """Return the outcome of a write: statuses, rollback, and the writes that it took back."""
    db = row._state.db or ""
    rollbacks, chain = Rollback.objects.using(db), related_writes.read_chains(db, [row.id])[row.id]
    return {
        "statuses": list(GuardianStatus.objects.using(db).filter(audit=row).order_by("created_at", "id")[:MAX_ROWS]),
        "rollback": next(iter(chain.steps), None),
        "chain": chain,
        "takes_back": list(rollbacks.filter(own_audit=row).order_by("rolled_back_at", "id")[:MAX_ROWS]),
        "retries": [retry.id for retry in _select_brief(db).filter(retry_of=row.id).order_by("created_at")[:MAX_ROWS]],
    }


def find_shared_writes(row: WriteGuardianAudit) -> list[WriteGuardianAudit]:
    """Return the other writes between the same two versions, oldest first."""
    sides = {"before_snapshot_id": row.before_snapshot_id, "after_snapshot_id": row.after_snapshot_id}
    rows = _select_brief(row._state.db).filter(**sides, is_diff_shared=True).exclude(id=row.id)
    return list(rows.order_by("created_at", "id")[:MAX_ROWS])


def find_turns_in_window(agent: Agent, row: WriteGuardianAudit) -> list[ConversationTurn]:
    """Return the last turns in the time of an unattributed write, newest first."""
    turns = ConversationTurn.objects.using(agent.db).placed().only(*TURN)
    turns_in_time = turns.filter(created_at__gte=row.earliest_at, created_at__lte=row.created_at)
    return list(turns_in_time.order_by("-created_at", "-place")[:MAX_ROWS])


def _select_brief(db):
    return WriteGuardianAudit.objects.using(db).only("id", "created_at", "status", "candidate_fact", "target_file")
