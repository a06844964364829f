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
from ..models import GuardianRun, WriteGuardianAudit
from ..rollbacks.rollback_plan import hash_content
from . import fact_selection, proposal_counts, unattended_writes
from .llm import prompts, tool_loop
from .llm.config import Guardian
from .llm.tools import End, FactResult, Tools, why_unreadable
from .memory import Memory
from .run_outcome import BY_GUARDIAN, end_without_write

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


def handle_fact(
    agent: Agent, guardian: Guardian, run: GuardianRun, *, wait: Callable[[float], object], is_unattended: bool = False
) -> GuardianRun | None:
    """Handle the fact of a run; returns None when the fact is withheld.

    With `is_unattended` a proposal is written at once where unattended writing is on. Raises LimitReached and
    CallFailed, and Refused for a file that nobody may touch: the fact can be handled again.
    """
    run.state, run.prompt_version, run.llm_model = State.RUNNING, prompts.VERSION, guardian.model
    if consent.find_withheld_keys(agent.db, [run.turn_id]):
        return _withhold(agent.db, run)
    if _is_refused_by_rule(agent.db, run):
        run.llm_model = run.prompt_version = ""
        return end_without_write(agent.db, run, State.REFUSED, Status.REFUSED, by=BY_GUARDIAN)
    memory = Memory(agent)
    if memory.is_hidden(run.target_file):
        return _withhold(agent.db, run)
    run.save(using=agent.db)
    result, failure = None, None
    try:
        content = memory.read_file(run.target_file)
        result = _ask_model(agent, guardian, run, memory, content, wait)
    except (Refused, CallFailed) as failed:
        failure = failed
        raise
    finally:
        if result is None:
            _stop(agent.db, run, failure)
    return _store_result(agent, run, content, result, is_unattended)


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
    run.state, run.reason = State.STOPPED, failure.sentence if failure else ""
    run.save(using=db, force_update=True)


def _withhold(db, run):
    sentence = _("Withheld: this conversation or this file holds, or may hold, words of somebody who has opted out.")
    GuardianRun.objects.using(db).filter(id=run.id).update(state=State.STOPPED, reason=sentence)


def _ask_model(agent, guardian, run, memory, content, wait) -> FactResult:
    if content is not None and why_unreadable(content):
        raise Refused(_("%(file)s is too large, or no plain text: it is not sent.") % {"file": run.target_file})
    tools = Tools(run.target_file, content, memory.read_file, memory.is_hidden)
    return tool_loop.run_tool_loop(agent.db, guardian, run, tools, wait=wait)


def _store_result(agent, run, old_content, result: FactResult, is_unattended):
    run.reason = result.reason
    if result.end == End.REFUSE:
        return end_without_write(agent.db, run, State.REFUSED, Status.REFUSED, by=BY_GUARDIAN)
    if result.end == End.NOTHING:
        run.reason = _("The model neither wrote nor refused.")
        return end_without_write(agent.db, run, State.FAILED, Status.FAILED, by=BY_GUARDIAN)
    if result.content == old_content:
        run.reason = _("The file would not have changed.")
        return end_without_write(agent.db, run, State.SKIPPED, Status.SKIPPED, by=BY_GUARDIAN)
    _propose(agent.db, run, old_content, result.content)
    if is_unattended:
        unattended_writes.write_or_note(agent, run)
    proposal_counts.store_count(agent)
    return run


def _propose(db, run, old_content, content):
    change = compute_change(old_content, content, run.target_file)
    run.lines_added, run.lines_removed = change.added, change.removed
    run.before_hash = hash_content(old_content) or None
    run.before_zstd = None if old_content is None else packing.pack(old_content)
    run.after_zstd, run.state = packing.pack(content), State.PROPOSED
    run.save(using=db, force_update=True)
