"""Captures receipts as `ops.alert` events: jobs of this site, runs of schedules, writes to memory files.

A position is the time of the newest row that was read. Rows may be stored late, so each time those of the day before
it are compared by the ids of their events, which reads no texts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agents.models import Agent
from automation.models import CronJob, CronRunLog
from guardian.models import WriteGuardianAudit
from jobs.models import JobRun
from ledger import consent
from openclaw_web.batches import in_batches
from openclaw_web.clock import DAY_MS
from openclaw_web.sqlite import write_queue

from ..append import append
from ..events import NewEvent, WrongEvent
from ..imports.source_events import select_unexpired
from ..models import RUN_ACTOR, EpisodeCapture, EpisodicEvent
from . import switches
from .transcript_events import Context, Part, build_id, finish_event, shorten
from .transcripts import Ages

TYPE = EpisodicEvent.Type.OPS_ALERT
MAIN = "main"  # the agent that gets receipts of jobs that name none
JOB_KINDS = (
    "collect",
    "backup",
    "backup_verify",
    "backup_drill",
    "doctor",
    "doctor_look",
    "doctor_undo",
    "artifact_gc",
)
SITE_SESSION = "openclaw-web"  # session of events of this site
LATE_MS = DAY_MS
BATCH_SIZE = 500
Status = WriteGuardianAudit.Status


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt: names that make its event id, time, and key of its row."""

    names: tuple[str, ...]
    at_ms: int
    key: Any

    @property
    def event_id(self) -> str:
        return build_id(*self.names)


def capture_jobs(agent: Agent, capture: EpisodeCapture) -> int:
    """Append the receipts of jobs that have ended; return how many are new.

    A job belongs to the agents that it names, else to the agent main.
    """
    rows = JobRun.objects.filter(
        kind__in=JOB_KINDS, state__in=JobRun.ENDED, created_at__gte=_find_start(capture, switches.JOBS)
    )
    receipts = [
        Receipt(("job", name), at, name)
        for name, at in rows.order_by("created_at", "id").values_list("id", "created_at")
    ]
    return _capture(agent, capture, switches.JOBS, receipts, _build_job_events)


def capture_schedules(agent: Agent, capture: EpisodeCapture) -> int:
    """Append the runs of OpenClaw's scheduled tasks of an agent; return how many are new."""
    since = _find_start(capture, switches.SCHEDULES)
    rows = CronRunLog.objects.filter(agent_id=agent.agent_id, ts__gte=since).order_by("ts")
    receipts = [
        Receipt(("schedule", job_id, str(seq)), at, (job_id, seq))
        for job_id, seq, at in rows.values_list("job_id", "seq", "ts")
    ]
    return _capture(agent, capture, switches.SCHEDULES, receipts, _build_schedule_events)


def capture_writes(agent: Agent, capture: EpisodeCapture) -> int:
    """Append writes that were carried out, linked by `memory_ids`; return how many are new."""
    since = _find_start(capture, switches.WRITES)
    rows = WriteGuardianAudit.objects.using(agent.db).filter(created_at__gte=since)
    rows = rows.filter(status__in=[Status.WRITTEN, Status.ROLLED_BACK]).order_by("created_at", "id")
    receipts = [Receipt(("write", name), at, name) for name, at in rows.values_list("id", "created_at")]
    return _capture(agent, capture, switches.WRITES, receipts, _build_write_events)


def _find_start(capture, source):
    positions = capture.positions
    start = positions.get(switches.START_MS, 0)
    return max(start, positions.get(source, start) - LATE_MS)


def _capture(agent, capture, source, receipts, build):
    """Append what is not known yet, in batches; each moves the position in its transaction."""
    known: set[str] = set()
    for ids in in_batches([receipt.event_id for receipt in receipts], BATCH_SIZE):
        known.update(EpisodicEvent.objects.using(agent.db).filter(event_id__in=ids).values_list("event_id", flat=True))
    pending = [receipt for receipt in receipts if receipt.event_id not in known]
    ages, scope, new = Ages(agent.db), switches.build_scope(agent, capture), 0
    for batch in in_batches(pending, BATCH_SIZE):
        events = [event for event in build(agent, scope, batch) if not ages.is_expired(event)]
        events = select_unexpired(agent.db, events)
        position = max(batch[-1].at_ms, capture.positions.get(source, 0))
        if events or position > capture.positions.get(source, 0):
            with write_queue.agent_transaction(agent.db):
                new += len(append(agent.db, events, is_source=True).new)
                switches.move(agent.db, source, position)
    return new


def _build_job_events(agent, scope, receipts) -> Iterator[NewEvent]:
    context = Context(RUN_ACTOR, scope, None, allows_tool_output=False)
    jobs = JobRun.objects.defer("log").in_bulk([receipt.key for receipt in receipts])
    for receipt in receipts:
        job = jobs.get(receipt.key)
        if job is None or agent.agent_id not in find_agents(job):
            continue
        counts = {name: value for name, value in job.result.items() if isinstance(value, int)}
        payload = {"kind": job.kind, "state": job.state, "durationMs": job.duration_ms, "counts": counts}
        summary = f"{TYPE}: {job.kind} {job.state}. {shorten(job.message)}".rstrip()
        yield from _finish(receipt, context, summary, payload, {"job": job.id}, at_ms=job.finished_at)


def find_agents(job: JobRun) -> set[str]:
    """Return the agents that a job names in its result or parameters, else main."""
    in_result = job.result.get("agents")
    names = set(in_result) if isinstance(in_result, dict | list) else set()
    names |= {job.params[name] for name in ("agent", "agent_id") if job.params.get(name)}
    return {name for name in names if isinstance(name, str)} or {MAIN}


def _build_schedule_events(agent, scope, receipts) -> Iterator[NewEvent]:
    context = Context(agent.agent_id, scope, None, allows_tool_output=False)
    runs = {
        (run.job_id, run.seq): run
        for run in CronRunLog.objects.filter(
            job_id__in={job_id for job_id, _seq in (receipt.key for receipt in receipts)},
            seq__in={seq for _job_id, seq in (receipt.key for receipt in receipts)},
        )
    }
    names = dict(CronJob.objects.filter(id__in={run.job_id for run in runs.values()}).values_list("id", "name"))
    with_texts = not consent.read_opted_out()  # nobody can tell whose words a run repeats
    for receipt in receipts:
        run = runs[receipt.key]
        texts = {"summary": run.summary, "error": run.error} if with_texts else {}
        payload = {"status": run.status, "durationMs": run.duration_ms, **texts}
        title = shorten(names.get(run.job_id) or run.job_id) if with_texts else run.job_id
        refs = {"cronJob": run.job_id}
        session_id = run.session_id or f"cron:{run.job_id}"
        summary = f"{TYPE}: scheduled task {title}: {run.status or 'ended'}"
        yield from _finish(receipt, context, summary, payload, refs, session_id=session_id)


def _build_write_events(agent, scope, receipts) -> Iterator[NewEvent]:
    context = Context(agent.agent_id, scope, None, allows_tool_output=False)
    keys = [receipt.key for receipt in receipts]
    writes = WriteGuardianAudit.objects.using(agent.db).defer("diff", "hunks_json", "candidate_fact").in_bulk(keys)
    for receipt in receipts:
        write = writes[receipt.key]
        refs = {"memory_ids": [write.id], "turn": write.turn_id, "decision": write.decision_id}
        payload = {"file": write.target_file, "origin": write.origin, "added": write.lines_added}
        payload["removed"] = write.lines_removed
        summary = f"{TYPE}: write to {shorten(write.target_file or '') or 'a memory file'}"
        yield from _finish(receipt, context, summary, payload, refs, session_id=write.session_id)


def _finish(receipt, context, summary, payload, refs, *, session_id=None, at_ms=None) -> Iterator[NewEvent]:
    texts = tuple(text for text in (summary, *payload.values()) if isinstance(text, str))
    part = Part(receipt.names[0], TYPE, summary, texts, payload)
    try:
        yield finish_event(
            part,
            event_id=receipt.event_id,
            ts_ms=at_ms or receipt.at_ms,
            session_id=session_id or SITE_SESSION,
            context=context,
            refs=refs,
        )
    except WrongEvent:  # a row without a time, for example, can be no event
        return
