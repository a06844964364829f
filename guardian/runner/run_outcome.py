"""What becomes of a run that writes nothing: a write with the status that says why."""

from ulid import ULID

from openclaw_web import clock
from openclaw_web.sqlite import write_queue

from ..models import GuardianRun, WriteGuardianAudit
from ..recording import write_store
from ..recording.reports import Report, Source
from ..services import refresh_sums

BY_GUARDIAN = "guardian"  # who says what no person said


def end_without_write(db: str, run: GuardianRun, state: str, status: str, *, by: str) -> GuardianRun:
    """Store that nothing is written for a run, and that as a write of its own: both or neither."""
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
        write_store.store_reports(db, [Report(row, Source.OWN, told_by=by)])
        run.save(using=db)
    refresh_sums(db)
    return run


def build_write_columns(run: GuardianRun) -> dict[str, object]:
    """What a write has of the run that it comes from."""
    names = ("decision_id", "turn_id", "session_id", "session_key", "candidate_fact", "retry_of", "rule_id")
    asked = {"llm_model": run.llm_model, "llm_latency_ms": run.llm_latency_ms, "agent_steps": run.step_count}
    return {name: getattr(run, name) for name in names} | (asked if run.llm_model else {})
