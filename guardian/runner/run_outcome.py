"""Stores the outcome of a run that writes nothing.

It becomes a write whose status says why.
"""

from ulid import ULID

from openclaw_web import clock
from openclaw_web.sqlite import write_queue

from ..models import GuardianRun, WriteGuardianAudit
from ..recording import write_store
from ..recording.reports import Report, Source
from ..services import refresh_sums

BY_GUARDIAN = "guardian"  # the author of decisions that no person made


def end_without_write(db: str, run: GuardianRun, state: str, status: str, *, by: str) -> GuardianRun:
    """Store that a run writes nothing, in the run and as a write of its own.

    Both are stored, or neither.
    """
    moment = clock.now_ms()
    row = WriteGuardianAudit(
        id=str(ULID()),
        target_file=run.target_file,
        status=status,
        reason=run.reason or None,
        created_at=moment,
        **build_write_columns(run) | {"origin": WriteGuardianAudit.Origin.OWN},
    )
    run.state, run.audit_id, run.decided_by, run.decided_at = state, row.id, by, moment
    with write_queue.agent_transaction(db):
        write_store.store_reports(db, [Report(row, Source.OWN, reporter=by)])
        run.save(using=db)
    refresh_sums(db)
    return run


def build_write_columns(run: GuardianRun) -> dict[str, object]:
    """Return the columns that a write takes from its run."""
    names = ("decision_id", "turn_id", "session_id", "session_key", "candidate_fact", "retry_of", "rule_id")
    model_columns = {"llm_model": run.llm_model, "llm_latency_ms": run.llm_latency_ms, "agent_steps": run.step_count}
    return {name: getattr(run, name) for name in names} | (model_columns if run.llm_model else {})
