"""What became of a change that was handed to an agent: told by the file and OpenClaw's record, and stored once done."""

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
from ..recording import write_replacement, write_store
from ..recording.reports import FileChange, Report, Source
from ..rollbacks import intent_store, rollback_plan, workspace, workspace_access
from ..rollbacks.rollback_plan import hash_content
from ..rollbacks.steps import IntentDetails, OwnWrite, Reversal
from ..runner import proposal_counts, run_outcome
from ..services import refresh_sums
from ..standing import read_live_record

Outcome, State = Handover.Outcome, Handover.State
COARSE_MS = 1_000  # of the clocks of files
LATE_MS = 7 * clock.DAY_MS  # after which an import looks for a change no more
MAY_STILL_FINISH = (Outcome.TIMED_OUT, Outcome.CANCELED, Outcome.INTERRUPTED)
SENTENCES: dict[str, str | Promise] = {
    Outcome.DONE: gettext_lazy("Done: the agent changed %(file)s, and the file remains in the prompt."),
    Outcome.UNCHANGED: gettext_lazy("Not done: the agent has ended, and %(file)s is as it was."),
    Outcome.OTHER: gettext_lazy("Not done: %(file)s has other content now. Nothing was written over it."),
    Outcome.UNTRUSTED: gettext_lazy(
        "Not done: %(file)s has the wanted content, but OpenClaw does not trust it and leaves it out of the prompt."
    ),
    Outcome.UNRECORDED: gettext_lazy(
        "Not done: %(file)s has the wanted content, but OpenClaw's record does not name it. The agent's next write "
        "takes the file out of the prompt."
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
    """What became of a change, in a sentence or two."""
    sentence = str(SENTENCES[row.outcome]) % {"file": row.file_name}
    is_told = row.puts_back and row.started_at and row.outcome not in (Outcome.NONE, Outcome.DONE)
    return f"{sentence} {PUT_BACK}" if is_told else sentence


def read_outcome(agent: Agent, row: Handover) -> Handover.Outcome:
    """What the file and OpenClaw's record say by now; UNCHANGED while the file is as it was before the change."""
    now_hash = hash_content(rollback_plan.read_memory_file(agent, row.file_name))
    if now_hash != row.wanted_hash:
        return Outcome.UNCHANGED if now_hash == row.before_hash else Outcome.OTHER
    record = read_live_record(agent, row.file_name)
    if record is None or not record.is_known or record.file_hash != now_hash:
        return Outcome.UNRECORDED
    return Outcome.DONE if record.is_trusted else Outcome.UNTRUSTED


def store_outcome(agent: Agent, row: Handover, fallback: Handover.Outcome, answer: str = "") -> Handover:
    """Store what became of a change; `fallback` is what it is called while the file is as it was."""
    try:
        outcome = read_outcome(agent, row)
    except Refused:  # a link, or no workspace any more: the file cannot be read
        outcome = Outcome.OTHER
    row.outcome = fallback if outcome == Outcome.UNCHANGED else outcome
    row.state, row.ended_at = State.ENDED, clock.now_ms()
    row.answer = answer or row.answer
    if row.outcome == Outcome.DONE:
        _complete(agent, row)
    row.save(using=agent.db, force_update=True)
    return row


def can_check(row: Handover) -> bool:
    """Whether something may have become of a change since."""
    return row.state == State.ENDED and row.outcome not in (Outcome.DONE, Outcome.NOT_STARTED)


def check_again(agent: Agent, row: Handover, *, by: str) -> Handover:
    """Look again at what became of a change that was not done: the agent may have made it since."""
    if not can_check(row):
        raise Refused(_("There is nothing to check again."))
    with workspace_access.exclusive_write(agent):
        was = Outcome(row.outcome)
        store_outcome(agent, row, was if was in (*MAY_STILL_FINISH, Outcome.FAILED) else Outcome.UNCHANGED)
    _log(agent, row, "handover_checked", by)
    return row


def store_late_changes(agent: Agent) -> int:
    """Record changes that the agent carried out after nobody waited for them any more; how many. For imports."""
    rows = Handover.objects.using(agent.db).filter(state=State.ENDED, outcome__in=(*MAY_STILL_FINISH, Outcome.FAILED))
    count = 0
    for row in rows.filter(ended_at__gte=clock.now_ms() - LATE_MS).order_by("ended_at"):
        with (
            suppress(Refused),
            workspace_access.exclusive_job_write(agent),
        ):  # a file that cannot be read is told elsewhere
            if read_outcome(agent, row) == Outcome.DONE:
                store_outcome(agent, row, Outcome.DONE)
                count += 1
    return count


def _complete(agent, row):
    """Store the change as the write that it is: the rollback's, or that of our guardian; done once."""
    db = agent.db
    with write_queue.agent_transaction(db):
        if WriteGuardianAudit.objects.using(db).filter(id=row.own_audit_id).exists():
            return
        moment = _moment(agent, row)
        run = GuardianRun.objects.using(db).filter(id=row.run_id, state=GuardianRun.State.PROPOSED).first()
        own = OwnWrite(run.id, run_outcome.build_write_columns(run)) if run else None
        asked = IntentDetails(row.asked_by, row.reason, moment, row.own_audit_id, "", takes=_takes(db, row), own=own)
        write = WriteGuardianAudit(
            id=row.own_audit_id,
            target_file=row.file_name,
            status=WriteGuardianAudit.Status.WRITTEN,
            reason=row.reason or None,
            created_at=moment,
            **intent_store.build_provenance_columns(db, [row.audit_id] if row.audit_id else [], asked),
        )
        sides = (packing.unpack(bytes(data)) for data in (row.before_zstd, row.wanted_zstd))
        seen = _seen_by_imports(db, row)
        write_store.store_reports(db, [Report(write, Source.OWN, FileChange(*sides), told_by=row.asked_by)])
        for old in WriteGuardianAudit.objects.using(db).filter(id__in=seen):
            if write_replacement.may_replace(db, old.id, write.id):
                write_replacement.replace_write(db, old, write)
        intent_store.finish_write(db, write, asked, str(ULID()))
        row.before_zstd = row.wanted_zstd = None
    refresh_sums(db)
    if run:
        proposal_counts.store_count(agent)
    _log(agent, row, "handover_done", row.asked_by)


def _seen_by_imports(db, row):
    """The change as imports stored it meanwhile: a write of the agent, which OpenClaw's record names."""
    rows = WriteGuardianAudit.objects.using(db).filter(
        target_file=row.file_name, origin=WriteGuardianAudit.Origin.AGENT
    )
    rows = rows.filter(created_at__gte=(row.started_at or row.created_at) - COARSE_MS)
    return list(rows.filter(after_snapshot__content_hash=row.wanted_hash).values_list("id", flat=True))


def _moment(agent, row):
    """When the agent changed the file, as the file says it; between the start and now."""
    now = clock.now_ms()
    with workspace.open_workspace(workspace_access.get_workspace(agent)) as folder:
        held = folder.held(row.file_name)
        changed_at = held.about.st_mtime_ns // 1_000_000 if held else now
        if held:
            held.close()
    return max(row.started_at or row.created_at, min(changed_at, now))


def _takes(db, row):
    """The write that is taken back, unless only a part of it is, or somebody has rolled it back since."""
    if row.audit_id is None or row.hunk is not None:
        return ()
    audits = WriteGuardianAudit.objects.using(db).filter(id=write_replacement.find_current_id(db, row.audit_id))
    if not audits.filter(status=WriteGuardianAudit.Status.WRITTEN).exists():
        return ()
    return (Reversal(row.audit_id, str(ULID()), row.way, row.restored_snapshot_id),)


def _log(agent, row, action, by):
    about = {"object_type": "handover", "object_id": row.id, "agent_id": agent.agent_id}
    audit_log.record(by, action, **about, outcome=row.outcome, file=row.file_name)
