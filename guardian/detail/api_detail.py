"""Writes, blame and opted-out lines as the API and commands return them."""

from collections.abc import Collection
from typing import Any

from django.shortcuts import get_object_or_404

from agents.models import Agent
from ledger.models import ConversationTurn
from ledger.session.evidence import read_evidence
from openclaw_web.diffs import line_diff, unified_format

from ..corrections import api, correction_store
from ..models import BehaviorCorrection, Rollback, WriteGuardianAudit
from ..standing import read_standing
from . import document, line_blame, opted_out_lines, page
from .page import explain_unknown

ROLLBACK_COLUMNS = ("id", "rolled_back_at", "rolled_back_by", "reason", "restored_snapshot_id", "own_audit_id", "way")


def read_write(agent: Agent, audit_id: str) -> WriteGuardianAudit:
    """Return a write with all that is known of it, with the names of the API.

    Raises Http404 when there is none.
    """
    row = get_object_or_404(WriteGuardianAudit.objects.using(agent.db), id=audit_id)
    for name, value in build_write_fields(agent, row).items():
        setattr(row, name, value)
    return row


def build_write_fields(agent: Agent, row: WriteGuardianAudit) -> dict[str, Any]:
    """Return what is known of a write in addition to its columns."""
    evidence = read_evidence(agent.db, row)
    origin, outcome = page.read_origin(agent, row, evidence), page.read_outcome(row)
    sides = page.read_sides(row)
    diff = page.compare_sides(row, sides)
    view = line_diff.build_view(diff) if diff else None
    return {
        "before": sides.before,
        "after": sides.after,
        "is_coarse": bool(view and view.is_coarse),
        "left": view.left_out if view else 0,
        "hunks": unified_format.build_hunks(view) if view else [],
        "turn": ConversationTurn.objects.using(agent.db).filter(id=row.turn_id).first() if row.turn_id else None,
        "evidence": evidence,
        "decision": origin["decision"],
        "rule": origin["rule"],
        "status_history": outcome["statuses"],
        "rolled_back": outcome["rollback"],
        "is_back_in_file": outcome["chain"].standing is not None,
        "takes_back": [rollback.audit_id for rollback in outcome["takes_back"]],
        "retries": outcome["retries"],
        "shared_with": [shared_write.id for shared_write in page.find_shared_writes(row)] if row.is_diff_shared else [],
        "turns_in_window": [turn.id for turn in page.find_turns_in_window(agent, row)] if row.earliest_at else [],
        "corrected": [
            api.correction_to_json(correction)
            for correction in reversed(correction_store.find_by_write(agent.db, row.id))
        ],
        "change_unknown": explain_unknown(row) or None,
        "is_elsewhere": bool(row.sources & WriteGuardianAudit.Source.ELSEWHERE),
    }


def read_blame(agent: Agent, name: str) -> dict[str, Any] | None:
    """Return who wrote each line of a file, as runs of lines; None without any version."""
    file_blame = line_blame.blame_file(agent, name)
    if file_blame is None:
        return None
    return {
        "version": file_blame.version,
        "line_count": len(file_blame.lines),
        "first_at": file_blame.first_at,
        "is_cut": file_blame.is_cut,
        "standing": read_standing(agent, name),
        "runs": [_run_fields(*run) for run in document.read_runs(agent.db, file_blame)],
    }


def read_opted_out(agent: Agent) -> dict[str, Any]:
    """Return the lines of memory files that come from people who opted out."""
    opted_out_result = opted_out_lines.find_opted_out_lines(agent)
    return {
        "is_asked": opted_out_result.is_asked,
        "theirs": [_write_lines_fields(write_lines) for write_lines in opted_out_result.theirs],
        "unknown": [_write_lines_fields(write_lines) for write_lines in opted_out_result.unknown],
        "without_write": opted_out_result.without_write,
        "more": opted_out_result.more,
    }


def _write_lines_fields(write_lines):
    lines = [{"file": file, "number": number, "text": text} for file, number, text in write_lines.lines]
    write_fields = {
        "audit_id": write_lines.audit.id,
        "created_at": write_lines.audit.created_at,
        "session_id": write_lines.audit.session_id,
    }
    return {**write_fields, "turn_id": write_lines.turn.id if write_lines.turn else None, "lines": lines}


def _run_fields(first, last, origin):
    audit, gap, turn = origin.audit, origin.gap, origin.turn
    return {
        "first": first,
        "last": last,
        "known": "write" if audit else "gap" if gap else "before",
        "audit_id": audit.id if audit else None,
        "turn_id": audit.turn_id if audit else None,
        "session_id": audit.session_id if audit else None,
        "message_id": turn.user_message_id if turn else None,
        "since": gap.since if gap else None,
        "until": gap.until if gap else None,
    }


def read_outcomes(db: str, audit_ids: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the `rollback` and the `corrections` of each of these writes.

    Without a rollback it is None; corrections come oldest first.
    """
    outcomes: dict[str, dict[str, Any]] = {name: {"rollback": None, "corrections": []} for name in audit_ids}
    for row in Rollback.objects.using(db).filter(audit__in=audit_ids).values("audit_id", *ROLLBACK_COLUMNS):
        outcomes[row.pop("audit_id")]["rollback"] = row
    rows = BehaviorCorrection.objects.using(db).filter(audit__in=audit_ids)
    for row in rows.order_by("corrected_at", "id"):
        outcomes[row.audit_id]["corrections"].append(api.correction_to_json(row))
    return outcomes
