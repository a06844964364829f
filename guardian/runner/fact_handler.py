"""One fact, from the rule that may speak about it to what became of it: a proposal, or a write that was none."""

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
    """The run for the fact of a decision, not stored yet."""
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
    """Have our guardian handle a fact; None when it is withheld. `is_unattended`: where that is on, write at once.

    Raises LimitReached and CallFailed, and Refused for a file that nobody may touch: the fact can be asked about again.
    """
    run.state, run.prompt_version, run.llm_model = State.RUNNING, prompts.VERSION, guardian.model
    if consent.find_withheld_keys(agent.db, [run.turn_id]):
        return _withheld(agent.db, run)
    if _is_refused_by_rule(agent.db, run):
        run.llm_model = run.prompt_version = ""
        return end_without_write(agent.db, run, State.REFUSED, Status.REFUSED, by=BY_GUARDIAN)
    memory = Memory(agent)
    if memory.is_hidden(run.target_file):
        return _withheld(agent.db, run)
    run.save(using=agent.db)
    ended, why = None, None
    try:
        held = memory.read_file(run.target_file)
        ended = _ended(agent, guardian, run, memory, held, wait)
    except (Refused, CallFailed) as failed:
        why = failed
        raise
    finally:
        if ended is None:
            _stop(agent.db, run, why)
    return _settled(agent, run, held, ended, is_unattended)


def stop_interrupted(db: str, under_way: Collection[str] = ()) -> int:
    """Say of runs whose process died, or whose job is gone, that they stopped: their facts are asked about again.

    `under_way` are the queued runs that jobs are still going to begin.
    """
    count = stop_running(db)
    lost = GuardianRun.objects.using(db).filter(state=State.QUEUED).exclude(id__in=under_way)
    return count + lost.update(state=State.STOPPED, reason=_("The job ended before the model was asked."))


def stop_running(db: str) -> int:
    """Say of runs that they stopped with their process; the caller holds off other runs."""
    running = GuardianRun.objects.using(db).filter(state=State.RUNNING)
    return running.update(state=State.STOPPED, reason=_("The process ended before the model had answered."))


def stop_queued(db: str, run_id: str, why: str) -> None:
    """Say of a queued run that its job ended without it."""
    GuardianRun.objects.using(db).filter(id=run_id, state=State.QUEUED).update(state=State.STOPPED, reason=why)


def _is_refused_by_rule(db, run):
    """Have the rules speak about a fact: they may change it, or its file."""
    said = rules.find_ruling(db, fact=run.candidate_fact, target_file=run.target_file)
    if said is None or not said.differs(fact=run.candidate_fact, target_file=run.target_file):
        return False
    run.rule_id = said.rule_id
    if said.status == Status.REFUSED:
        run.reason = said.reason
        return True
    run.candidate_fact, run.target_file = said.fact, said.target_file
    return False


def _stop(db, run, why: Refused | CallFailed | None):
    """Keep that a run came to no end; one for which nobody was asked because of the limit was none."""
    if isinstance(why, LimitReached) and not run.step_count and not run.retry_of:
        run.delete(using=db)
        return
    run.state, run.reason = State.STOPPED, why.sentence if why else ""
    run.save(using=db, force_update=True)


def _withheld(db, run):
    sentence = _("Withheld: this conversation or this file holds, or may hold, words of somebody who has opted out.")
    GuardianRun.objects.using(db).filter(id=run.id).update(state=State.STOPPED, reason=sentence)


def _ended(agent, guardian, run, memory, held, wait) -> FactResult:
    if held is not None and why_unreadable(held):
        raise Refused(_("%(file)s is too large, or no plain text: it is not sent.") % {"file": run.target_file})
    tools = Tools(run.target_file, held, memory.reads, memory.is_hidden)
    return tool_loop.run_tool_loop(agent.db, guardian, run, tools, wait=wait)


def _settled(agent, run, held, ended: FactResult, is_unattended):
    run.reason = ended.reason
    if ended.end == End.REFUSE:
        return end_without_write(agent.db, run, State.REFUSED, Status.REFUSED, by=BY_GUARDIAN)
    if ended.end == End.NOTHING:
        run.reason = _("The model neither wrote nor refused.")
        return end_without_write(agent.db, run, State.FAILED, Status.FAILED, by=BY_GUARDIAN)
    if ended.content == held:
        run.reason = _("The file would not have changed.")
        return end_without_write(agent.db, run, State.SKIPPED, Status.SKIPPED, by=BY_GUARDIAN)
    _propose(agent.db, run, held, ended.content)
    if is_unattended:
        unattended_writes.write_or_note(agent, run)
    proposal_counts.store_count(agent)
    return run


def _propose(db, run, held, content):
    change = compute_change(held, content, run.target_file)
    run.lines_added, run.lines_removed = change.added, change.removed
    run.before_hash = hash_content(held) or None
    run.before_zstd = None if held is None else packing.pack(held)
    run.after_zstd, run.state = packing.pack(content), State.PROPOSED
    run.save(using=db, force_update=True)
