"""Finds and stores the outcome of a change that was handed to an agent.

The file and OpenClaw's record say what became of it. A change that is done is stored as a write.
"""

from contextlib import suppress

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from ulid import ULID

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from people.audit import log as audit_log

from ..models import GuardianRun, Handover, WriteGuardianAudit
from ..recording import reports, write_store
from ..recording.reports import FileChange, Report, Source
from ..rollbacks import intent_store, rollback_plan, workspace, workspace_access
from ..rollbacks.intent_store import IntentDetails, OwnWrite, Reversal
from ..rollbacks.rollback_plan import hash_content
from ..runner import proposals
from ..services import refresh_sums
from ..standing import read_live_record

Outcome, State = Handover.Outcome, Handover.State
COARSE_MS = 1_000  # resolution of the clocks of files
LATE_MS = 7 * clock.DAY_MS  # after which an import looks for a change no more
WRITTEN = (Outcome.DONE, Outcome.UNTRUSTED, Outcome.UNRECORDED)  # the file holds what was asked for
MAY_STILL_FINISH = (Outcome.TIMED_OUT, Outcome.CANCELED, Outcome.INTERRUPTED)
SENTENCES: dict[str, str | Promise] = {
    Outcome.DONE: gettext_lazy(
        "Done: the agent changed %(file)s, and OpenClaw's record names it. The next prompt should hold the file."
    ),
    Outcome.UNCHANGED: gettext_lazy("Not done: the agent has ended, and %(file)s is as it was."),
    Outcome.OTHER: gettext_lazy("Not done: %(file)s has other content now. Nothing was written over it."),
    Outcome.UNTRUSTED: gettext_lazy(
        "%(file)s has the wanted content, and the change is stored. But OpenClaw does not trust the file and leaves it "
        "out of the prompt: the page of the file has the text that brings it back."
    ),
    Outcome.UNRECORDED: gettext_lazy(
        "%(file)s has the wanted content, and the change is stored. But OpenClaw's record does not name it: the "
        "agent's next write takes the file out of the prompt. The page of the file then has the text that brings it "
        "back."
    ),
    Outcome.TIMED_OUT: gettext_lazy("Not done in time: %(file)s is as it was. The agent may still change the file."),
    Outcome.CANCELED: gettext_lazy("Canceled: %(file)s is as it was. The agent may still carry out the change."),
    Outcome.INTERRUPTED: gettext_lazy(
        "This site ended while the agent was asked. The agent may still change %(file)s."
    ),
    Outcome.FAILED: gettext_lazy("Not done: the command of OpenClaw failed, and %(file)s is as it was."),
    Outcome.NOT_STARTED: gettext_lazy("Nothing was handed over."),
    Outcome.NONE: gettext_lazy("The agent is being asked."),
}
PUT_BACK = gettext_lazy("The version that OpenClaw's record names was put back before: that is a write of its own.")


def sentence_of(row: Handover) -> str:
    """Return the outcome of a change, in a sentence or two."""
    sentence = str(SENTENCES[row.outcome]) % {"file": row.file_name}
    names_put_back = row.puts_back and row.started_at and row.outcome not in (Outcome.NONE, *WRITTEN)
    return f"{sentence} {PUT_BACK}" if names_put_back else sentence


def read_outcome(agent: Agent, row: Handover) -> Handover.Outcome:
    """Read the outcome from the file and OpenClaw's record.

    It is UNCHANGED while the file is as it was before the change.
    """
    now_hash = hash_content(rollback_plan.read_memory_file(agent, row.file_name))
    if now_hash != row.wanted_hash:
        return Outcome.UNCHANGED if now_hash == row.before_hash else Outcome.OTHER
    record = read_live_record(agent, row.file_name)
    if record is None or not record.is_known or record.file_hash != now_hash:
        return Outcome.UNRECORDED
    return Outcome.DONE if record.is_trusted else Outcome.UNTRUSTED


def store_outcome(agent: Agent, row: Handover, fallback: Handover.Outcome, answer: str = "") -> Handover:
    """Store the outcome of a change.

    `fallback` is the outcome while the file is as it was.
    """
    try:
        outcome = read_outcome(agent, row)
    except Refused:  # a link, or no workspace any more: the file cannot be read
        outcome = Outcome.OTHER
    row.outcome = fallback if outcome == Outcome.UNCHANGED else outcome
    row.state, row.ended_at = State.ENDED, clock.now_ms()
    row.answer = answer or row.answer
    if row.outcome in WRITTEN:
        _complete(agent, row)
    row.save(using=agent.db, force_update=True)
    return row


def can_check(row: Handover) -> bool:
    """Return whether the outcome of a change may be another one by now."""
    return row.state == State.ENDED and row.outcome not in (Outcome.DONE, Outcome.NOT_STARTED)


def check_again(agent: Agent, row: Handover, *, by: str) -> Handover:
    """Read again the outcome of a change that was not done: it may be by now."""
    if not can_check(row):
        raise Refused(_("There is nothing to check again."))
    with workspace_access.exclusive_write(agent):
        old_outcome = Outcome(row.outcome)
        store_outcome(
            agent, row, old_outcome if old_outcome in (*MAY_STILL_FINISH, Outcome.FAILED) else Outcome.UNCHANGED
        )
    _log(agent, row, "handover_checked", by)
    return row


def store_late_changes(agent: Agent) -> int:
    """Store changes that the agent carried out after the wait; return how many.

    Imports call this, when nobody waits for these changes any more.
    """
    late = (*MAY_STILL_FINISH, Outcome.FAILED, Outcome.UNRECORDED)
    rows = Handover.objects.using(agent.db).filter(state=State.ENDED, outcome__in=late)
    count = 0
    for row in rows.filter(ended_at__gte=clock.now_ms() - LATE_MS).order_by("ended_at"):
        with (
            suppress(Refused),
            workspace_access.exclusive_job_write(agent),
        ):  # unreadable files are reported elsewhere
            if read_outcome(agent, row) in set(WRITTEN) - {row.outcome}:
                store_outcome(agent, row, Outcome.UNCHANGED)
                count += 1
    return count


def _complete(agent, row):
    """Store the change as a write: the rollback's, or the built-in guardian's.

    It is done once.
    """
    db = agent.db
    with write_queue.agent_transaction(db):
        if WriteGuardianAudit.objects.using(db).filter(id=row.own_audit_id).exists():
            return
        now = clock.now_ms()
        with workspace.open_workspace(workspace_access.get_workspace(agent)) as folder:
            file = folder.open_file(row.file_name)
            changed_at = file.stat_result.st_mtime_ns // 1_000_000 if file else now
            if file:
                file.close()
        moment = max(row.started_at or row.created_at, min(changed_at, now))
        run = GuardianRun.objects.using(db).filter(id=row.run_id, state=GuardianRun.State.PROPOSED).first()
        own = OwnWrite(run.id, proposals.build_write_columns(run)) if run else None
        details = IntentDetails(
            row.asked_by, row.reason, moment, row.own_audit_id, "", takes=_build_reversals(db, row), own=own
        )
        write = WriteGuardianAudit(
            id=row.own_audit_id,
            target_file=row.file_name,
            status=WriteGuardianAudit.Status.WRITTEN,
            reason=row.reason or None,
            created_at=moment,
            **intent_store.build_provenance_columns(db, [row.audit_id] if row.audit_id else [], details),
        )
        sides = (packing.unpack(bytes(data)) for data in (row.before_zstd, row.wanted_zstd))
        # Imports may have stored the change meanwhile, as a write of the agent that OpenClaw's record names.
        rows = WriteGuardianAudit.objects.using(db).filter(
            target_file=row.file_name, origin=WriteGuardianAudit.Origin.AGENT
        )
        rows = rows.filter(created_at__gte=(row.started_at or row.created_at) - COARSE_MS)
        imported_ids = list(rows.filter(after_snapshot__content_hash=row.wanted_hash).values_list("id", flat=True))
        write_store.store_reports(db, [Report(write, Source.OWN, FileChange(*sides), reporter=row.asked_by)])
        for old in WriteGuardianAudit.objects.using(db).filter(id__in=imported_ids):
            if reports.may_replace(db, old.id, write.id):
                reports.replace_write(db, old, write)
        intent_store.finish_write(db, write, details, str(ULID()))
        row.before_zstd = row.wanted_zstd = None
    refresh_sums(db)
    if run:
        proposals.store_count(agent)
    _log(agent, row, "handover_done", row.asked_by)


def _build_reversals(db, row):
    """Return the write that is taken back, if it is taken back as a whole.

    There is none when only a part of it is, or when somebody has rolled it back since.
    """
    if row.audit_id is None or row.hunk is not None:
        return ()
    audits = WriteGuardianAudit.objects.using(db).filter(id=reports.find_current_id(db, row.audit_id))
    if not audits.filter(status=WriteGuardianAudit.Status.WRITTEN).exists():
        return ()
    return (Reversal(row.audit_id, str(ULID()), row.way, row.restored_snapshot_id),)


def _log(agent, row, action, by):
    details = {"object_type": "handover", "object_id": row.id, "agent_id": agent.agent_id}
    audit_log.record(by, action, **details, outcome=row.outcome, file=row.file_name)
