"""Writes as the API and the commands tell them."""

from collections.abc import Collection
from typing import Any

from django.shortcuts import get_object_or_404

from agents.models import Agent
from ledger.session.evidence import read_evidence
from openclaw_web.diffs import line_diff, unified_format

from ..corrections import api_detail, correction_store
from ..corrections import api_detail as corrections
from ..models import BehaviorCorrection, Rollback, WriteGuardianAudit
from ..standing import read_standing as standing_of
from ..unknown_change import explain_unknown
from . import blame_page, line_blame, opted_out_lines, page

ROLLBACK_COLUMNS = ("id", "rolled_back_at", "rolled_back_by", "reason", "restored_snapshot_id", "own_audit_id", "way")


def read_write(agent: Agent, audit_id: str) -> WriteGuardianAudit:
    """A write with all that is known of it, as the API names it. Raises Http404 when there is none."""
    row = get_object_or_404(WriteGuardianAudit.objects.using(agent.db), id=audit_id)
    for name, value in build_write_fields(agent, row).items():
        setattr(row, name, value)
    return row


def build_write_fields(agent: Agent, row: WriteGuardianAudit) -> dict[str, Any]:
    """What there is to tell of a write beside its own columns."""
    from_where, fate = page.read_origin(agent, row), page.read_outcome(row)
    sides = page.read_sides(row)
    diff = page.compare_sides(row, sides)
    view = line_diff.build_view(diff) if diff else None
    return {
        "before": sides.before,
        "after": sides.after,
        "is_coarse": bool(view and view.is_coarse),
        "left": view.left if view else 0,
        "hunks": unified_format.build_hunks(view) if view else [],
        "turn": from_where["turn"],
        "evidence": read_evidence(agent.db, row),
        "decision": from_where["decision"],
        "rule": from_where["rule"],
        "status_history": fate["statuses"],
        "rolled_back": fate["rollback"],
        "is_back_in_file": fate["chain"].standing is not None,
        "takes_back": [one.audit_id for one in fate["takes_back"]],
        "retries": fate["retries"],
        "shared_with": [one.id for one in page.find_shared_writes(row)] if row.is_diff_shared else [],
        "turns_in_window": [turn.id for turn in page.find_turns_in_window(agent, row)] if row.earliest_at else [],
        "corrected": [
            corrections.correction_to_json(one) for one in reversed(correction_store.find_by_write(agent.db, row.id))
        ],
        "change_unknown": explain_unknown(row) or None,
        "is_elsewhere": bool(row.sources & WriteGuardianAudit.Source.ELSEWHERE),
    }


def read_blame(agent: Agent, name: str) -> dict[str, Any] | None:
    """Who put each line of a file there, as runs of lines; None when there is no version of it."""
    found = line_blame.blame_file(agent, name)
    if found is None:
        return None
    return {
        "version": found.version,
        "line_count": len(found.lines),
        "first_at": found.first_at,
        "is_cut": found.is_cut,
        "standing": standing_of(agent, name),
        "runs": [_run(first, run) for first, run in blame_page.read_runs(agent.db, found)],
    }


def read_opted_out(agent: Agent) -> dict[str, Any]:
    """The lines of memory files that come from people who opted out."""
    found = opted_out_lines.find_opted_out_lines(agent)
    return {
        "is_asked": found.is_asked,
        "theirs": [_left(one) for one in found.theirs],
        "unknown": [_left(one) for one in found.unknown],
        "without_write": found.without_write,
        "more": found.more,
    }


def _left(one):
    lines = [{"file": file, "number": number, "text": text} for file, number, text in one.lines]
    about = {"audit_id": one.audit.id, "created_at": one.audit.created_at, "session_id": one.audit.session_id}
    return {**about, "turn_id": one.turn.id if one.turn else None, "lines": lines}


def _run(first, run):
    audit, gap, turn = run.audit, run.gap, run.turn
    return {
        "first": first,
        "last": first + len(run.lines) - 1,
        "known": "write" if audit else "gap" if gap else "before",
        "audit_id": audit.id if audit else None,
        "turn_id": audit.turn_id if audit else None,
        "session_id": audit.session_id if audit else None,
        "message_id": turn.user_message_id if turn else None,
        "since": gap.since if gap else None,
        "until": gap.until if gap else None,
    }


def read_outcomes(db: str, audit_ids: Collection[str]) -> dict[str, dict[str, Any]]:
    """Of each of these writes its `rollback`, None where there is none, and its `corrections`, the oldest first."""
    found: dict[str, dict[str, Any]] = {name: {"rollback": None, "corrections": []} for name in audit_ids}
    for row in Rollback.objects.using(db).filter(audit__in=audit_ids).values("audit_id", *ROLLBACK_COLUMNS):
        found[row.pop("audit_id")]["rollback"] = row
    rows = BehaviorCorrection.objects.using(db).filter(audit__in=audit_ids)
    for row in rows.order_by("corrected_at", "id"):
        found[row.audit_id]["corrections"].append(api_detail.correction_to_json(row))
    return found
