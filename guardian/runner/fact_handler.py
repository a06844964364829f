"""Handles one fact: applies the rules, asks the model and stores the outcome.

The outcome is a proposal, or a write whose status says why nothing was written.
"""

from collections.abc import Callable, Collection

from django.utils.translation import gettext as _
from ulid import ULID

from agents.models import Agent
from agents.runners.calls import LimitReached
from gate.models import MemoryGateDecision
from ledger import consent
from openclaw_web import clock
from openclaw_web.disk import packing
from openclaw_web.errors import Refused
from openclaw_web.llm.client import CallFailed

from ..changes import compute_change
from ..corrections import rules
from ..files import LONGEST_FACT, MEMORY_FILES
from ..models import GuardianRun, WriteGuardianAudit
from ..rollbacks.rollback_plan import hash_content
from . import fact_selection, proposals, unattended_writes
from .fact_selection import Memory, PastMemory
from .llm.config import Guardian
from .llm.tools import End, Tools, run_tool_loop, why_unreadable
from .proposals import BY_GUARDIAN, end_without_write

State, Status = GuardianRun.State, WriteGuardianAudit.Status


def build_run(decision: MemoryGateDecision, *, by: str) -> GuardianRun:
    """Return the run for the fact of a decision; it is not stored yet."""
    return GuardianRun(
        id=str(ULID()),
        decision_id=decision.id,
        turn_id=decision.turn_id,
        session_id=decision.session_id,
        session_key=decision.session_key,
        target_file=fact_selection.get_target_file(decision),
        candidate_fact=decision.candidate_fact,
        state=State.QUEUED,
        started_by=by,
        created_at=clock.now_ms(),
    )


def build_retry(agent: Agent, audit_id: str, *, fact: str | None, file: str | None, by: str) -> GuardianRun:
    """Build the run that proposes a write again; it is not stored.

    Without a new fact or file it has the write's own. Raises NoSuchWrite, and Refused for a fact or file that is not
    valid and for words that may not be used.
    """
    audit = rules.get_write(agent.db, audit_id)
    fact, file = (fact or audit.candidate_fact or "").strip(), file or audit.target_file
    if not fact or len(fact) > LONGEST_FACT:
        raise Refused(_("Say the fact, in at most 20,000 characters."))
    if file not in MEMORY_FILES:
        raise Refused(_("%(file)s is not a memory file.") % {"file": file or "–"})
    if consent.find_withheld_keys(agent.db, [audit.turn_id]):
        raise Refused(_("Nothing is sent: somebody of this conversation has opted out."))
    return GuardianRun(
        id=str(ULID()),
        decision_id=audit.decision_id,
        turn_id=audit.turn_id,
        session_id=audit.session_id,
        session_key=audit.session_key,
        target_file=file,
        candidate_fact=fact,
        retry_of=audit.id,
        state=State.QUEUED,
        started_by=by,
        created_at=clock.now_ms(),
    )


def handle_fact(
    agent: Agent, guardian: Guardian, run: GuardianRun, *, wait: Callable[[float], object], is_unattended: bool = False
) -> GuardianRun | None:
    """Handle the fact of a run; returns None when the fact is withheld.

    With `is_unattended` a proposal is written at once where unattended writing is on. For the run of a test the model
    itself is asked, with the files as they were, and only the run is stored. Raises LimitReached and CallFailed, and
    Refused for a file that nobody may touch: the fact can be handled again.
    """
    run.state, run.prompt_version, run.llm_model = State.RUNNING, guardian.prompt_version, guardian.model
    if consent.find_withheld_keys(agent.db, [run.turn_id]):
        return _withhold(agent.db, run)
    if not run.test_id and _is_refused_by_rule(agent.db, run):
        run.llm_model = run.prompt_version = ""
        return end_without_write(agent.db, run, State.REFUSED, Status.REFUSED, by=BY_GUARDIAN)
    memory = PastMemory(agent.db, rules.get_write(agent.db, run.retry_of)) if run.test_id else Memory(agent)
    if memory.is_hidden(run.target_file):
        return _withhold(agent.db, run)
    run.save(using=agent.db)
    result, failure = None, None
    try:
        content = memory.read_file(run.target_file)
        if content is not None and why_unreadable(content):
            raise Refused(_("%(file)s is too large, or no plain text: it is not sent.") % {"file": run.target_file})
        tools = Tools(run.target_file, content, memory.read_file, memory.is_hidden)
        result = run_tool_loop(agent.db, guardian, run, tools, wait=wait)
    except (Refused, CallFailed) as failed:
        failure = failed
        raise
    finally:
        if result is None:
            _stop(agent.db, run, failure)
    run.reason = result.reason
    if result.end == End.REFUSE:
        run.state = State.REFUSED
    elif result.end == End.NOTHING:
        run.state, run.reason = State.FAILED, _("The model neither wrote nor refused.")
    elif result.content == content:
        run.state, run.reason = State.SKIPPED, _("The file would not have changed.")
    else:
        change = compute_change(content, result.content, run.target_file)
        run.lines_added, run.lines_removed = change.added, change.removed
        run.before_hash = hash_content(content) or None
        run.before_zstd = None if content is None else packing.pack(content)
        run.after_zstd, run.state = packing.pack(result.content), State.PROPOSED
    if run.state != State.PROPOSED and not run.test_id:
        return end_without_write(agent.db, run, run.state, Status(run.state), by=BY_GUARDIAN)
    run.save(using=agent.db, force_update=True)
    if is_unattended:
        unattended_writes.write_or_note(agent, run)
    proposals.store_count(agent)
    return run


def stop_interrupted(db: str, under_way: Collection[str] = ()) -> int:
    """Mark runs as stopped whose process died or whose job is gone.

    Their facts can be handled again. `under_way` are the queued runs that jobs are still going to begin.
    """
    count = stop_running(db)
    lost = GuardianRun.objects.using(db).filter(state=State.QUEUED).exclude(id__in=under_way)
    return count + lost.update(state=State.STOPPED, reason=_("The job ended before the model was asked."))


def stop_running(db: str) -> int:
    """Mark the running runs as stopped with their process.

    The caller holds off other runs.
    """
    running = GuardianRun.objects.using(db).filter(state=State.RUNNING)
    return running.update(state=State.STOPPED, reason=_("The process ended before the model had answered."))


def stop_queued(db: str, run_id: str, why: str) -> None:
    """Mark a queued run as stopped because its job ended without it."""
    GuardianRun.objects.using(db).filter(id=run_id, state=State.QUEUED).update(state=State.STOPPED, reason=why)


def _is_refused_by_rule(db, run):
    """Apply the rules to a fact and return whether one refuses it.

    A rule may also change the fact or its file.
    """
    ruling = rules.find_ruling(db, fact=run.candidate_fact, target_file=run.target_file)
    if ruling is None or not ruling.differs(fact=run.candidate_fact, target_file=run.target_file):
        return False
    run.rule_id = ruling.rule_id
    if ruling.status == Status.REFUSED:
        run.reason = ruling.reason
        return True
    run.candidate_fact, run.target_file = ruling.fact, ruling.target_file
    return False


def _stop(db, run, failure: Refused | CallFailed | None):
    """Store that a run ended without a result.

    A run that asked no model because of the limit is deleted.
    """
    if isinstance(failure, LimitReached) and not run.step_count and not run.retry_of:
        run.delete(using=db)
        return
    waits = run.test_id and not (isinstance(failure, Refused) and not isinstance(failure, LimitReached))
    run.state, run.reason = State.QUEUED if waits else State.STOPPED, failure.sentence if failure else ""
    run.save(using=db, force_update=True)


def _withhold(db, run):
    sentence = _("Withheld: this conversation or this file holds, or may hold, words of somebody who has opted out.")
    GuardianRun.every.using(db).filter(id=run.id).update(state=State.STOPPED, reason=sentence)
