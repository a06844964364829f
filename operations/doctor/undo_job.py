"""Runs `doctor --undo`: removes sessions that a run imported first, and excludes them from imports."""

from pathlib import Path
from typing import Any

from django.db import connections, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import databases, holdings
from agents.models import Agent, CollectorSource
from collecting import collect
from collecting.models import MigrationRun
from datasets import turn_facts
from gate.models import MemoryGateDecision
from jobs import kinds as job_kinds
from ledger.models import Session, SessionDay
from ledger.rebuild import repeats, sums
from ledger.transcripts import session_rows, tool_days
from openclaw_web.amounts import format_plural
from openclaw_web.batches import in_batches
from openclaw_web.errors import Refused
from openclaw_web.pages import states
from overview import summaries
from people.audit import log as audit

from ..retention import session_selection
from . import fix_job, ignored_sessions, report

Status = MigrationRun.Status
LISTED, AT_ONCE = 200, 500
FORCE_ADVICE = gettext_lazy("Force the undo to remove the sessions anyway.")


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Undo the run `params["run"]`; with `force` also when its sources were removed.

    `by` is the user. Raises Refused, with a list of the sessions, when evidence or samples refer to one of them; then
    nothing was changed. Running it again continues an interrupted undo.
    """
    with fix_job.exclusive_run(), collect.exclusive_run(progress):
        row, imported = _find_run(params)
        _refuse_evidence(imported)
        for agent_id, ids in imported.items():  # first: removed sessions are then excluded even if this is interrupted
            with transaction.atomic():
                ignored_sessions.ignore_sessions(row, agent_id, set(ids))
                _forget_sources(row.root, agent_id, set(ids))
        total, done, removed = sum(map(len, imported.values())), 0, {}
        for agent_id, ids in imported.items():
            db = databases.get_alias(agent_id)
            removed[agent_id] = 0
            for session_id in ids:
                progress.update(
                    done, total, _("Removing sessions of the undone run from %(agent)s") % {"agent": agent_id}
                )
                removed[agent_id] += _remove_session(agent_id, db, session_id)
                holdings.note_removed(agent_id, [session_id], holdings.RemovalReason.UNDONE)
                done += 1
            repeats.mark_repeats(db)  # records that occurred in them too are counted in the sessions that are left
            sums.rebuild_tool_days(db)
            agent = Agent.objects.get(agent_id=agent_id)
            turn_facts.mark_repeated(agent)
            summaries.refresh(agent)
            connections[db].close()
        count = sum(removed.values())
        sentence = ngettext(
            "%(count)s session of run %(run)s was removed; imports exclude it from now on.",
            "%(count)s sessions of run %(run)s were removed; imports exclude them from now on.",
            count,
        )
        message = sentence % {"count": count, "run": row.id} + _describe_decisions(imported)
        with transaction.atomic():
            MigrationRun.objects.filter(id=row.id).update(status=Status.UNDONE, message=message)
            by = params.get("by", "")
            audit.record(by, "doctor_undone", object_type="migration_run", object_id=row.id, sessions=count)
    done_facts = report.EMPTY_RUN | {"id": row.id, "sessions": removed, "ignored": total}
    return report.EMPTY_PLAN | {"verb": "undo", "message": message, "run": done_facts}


def _describe_decisions(imported):
    """A sentence about the memory_gate decisions that are kept, with their messages."""
    count = 0
    for agent_id, ids in imported.items():
        rows = MemoryGateDecision.objects.using(databases.get_alias(agent_id))
        for batch in in_batches(ids, AT_ONCE):
            count += rows.filter(session_id__in=batch).count()
    if not count:
        return ""
    return " " + format_plural(
        "%(count)s decision of memory_gate about them is kept.",
        "%(count)s decisions of memory_gate about them are kept.",
        count,
    )


def _find_run(params):
    row = MigrationRun.objects.filter(id=params["run"]).first()
    if row is None:
        raise Refused(_("There is no repair run %(run)s. The Doctor page lists all runs.") % params)
    if row.status not in (Status.COMPLETED, Status.WARNING):
        sentence = _("Run %(run)s is %(status)s: there is nothing to undo.")
        raise Refused(sentence % {"run": row.id, "status": str(states.word(row.status)).lower()})
    imported = MigrationRun.report.decode_strictly(row.report_json).get("sessions", {})
    removed_count = 0 if params.get("force") else _count_removed_sources(row.root, imported)
    if removed_count:
        sentence = ngettext(
            "%(count)s source of these sessions was moved or removed: its copy is in the backup folder.",
            "%(count)s sources of these sessions were moved or removed: their copies are in the backup folder.",
            removed_count,
        )
        raise Refused((sentence % {"count": removed_count}) + f" {FORCE_ADVICE}")
    return row, imported


def _count_removed_sources(root, imported):
    """How many source files of these sessions were moved or removed, by this run or later."""
    sources = (
        source
        for agent_id, ids in imported.items()
        for source, _own in ignored_sessions.find_sources(root, agent_id, set(ids))
    )
    return len(
        {
            source.source_path
            for source in sources
            if source.removed_source and not Path(root, source.source_path).exists()
        }
    )


def _refuse_evidence(imported):
    reasons = []
    for agent_id, ids in imported.items():
        db = databases.get_alias(agent_id)
        held = Session.objects.using(db).in_bulk(ids)
        for session_id in held:
            if evidence := session_selection.find_evidence(agent_id, db, session_id):
                reasons.append({"id": f"{agent_id}/{session_id}", "reason": str(evidence)})
    if reasons:
        sentence = ngettext(
            "%(count)s of these sessions has to be kept because evidence refers to it. Nothing was changed.",
            "%(count)s of these sessions have to be kept because evidence refers to them. Nothing was changed.",
            len(reasons),
        )
        raise Refused(sentence % {"count": len(reasons)}, reasons=reasons[:LISTED])


def _forget_sources(root, agent_id, session_ids):
    kinds = (CollectorSource.Kind.TRANSCRIPT, CollectorSource.Kind.SESSION_INDEX)
    rows = CollectorSource.objects.filter(root=root, agent_id=agent_id, kind__in=kinds)
    forgotten = [key for key, path in rows.values_list("source_key", "path") if _names_session(path, session_ids)]
    for batch in in_batches(forgotten, AT_ONCE):
        CollectorSource.objects.filter(source_key__in=batch).delete()


def _names_session(path, session_ids):
    tail = path.rpartition("/sessions/")[2] if "/sessions/" in path else path.partition("!")[2] or path
    parts = {tail[:36], path.rpartition("#")[2], path.rpartition("~")[2], path.rpartition("!")[2].partition("/")[0]}
    return bool(parts & session_ids)


def _remove_session(agent_id, db, session_id):
    """Remove one session with its sums; returns whether it existed.

    Raises Refused when evidence was added meanwhile.
    """
    with transaction.atomic(using=db, durable=True):
        if not Session.objects.using(db).filter(id=session_id).exists():
            return 0
        if session_selection.find_evidence(agent_id, db, session_id):
            raise Refused(
                _("Evidence for session %(id)s was added in the meantime. Undo the run again.") % {"id": session_id}
            )
        session_rows.delete_rows(db, session_id)
        SessionDay.objects.using(db).filter(session_id=session_id).delete()
        tool_days.remove_sums(db, session_id)
    return 1


JOB = job_kinds.Kind(
    run=run,
    label=gettext_lazy("Doctor: undo"),
    audit_text=gettext_lazy("started to undo an import and repair"),
    cancel_text=gettext_lazy("Sessions already removed are excluded from imports; undo the run again to continue."),
    describe_result=report.in_words,
    page="operations:doctor",
)
