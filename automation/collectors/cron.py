"""Reads scheduled jobs and their run logs.

They are as OpenClaw writes them, or as the data format specification spells them.
"""

from dataclasses import dataclass, field
from typing import Any

from ledger.collectors.jsonl import load_object
from ledger.collectors.records import parse_moment_ms


@dataclass(slots=True)
class Job:
    """One scheduled job."""

    id: str
    agent: str
    name: str
    enabled: bool
    prompt: str
    schedule: dict[str, Any]
    created_at: int | None
    updated_at: int | None
    next_run_at: int | None
    raw: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Run:
    """One finished run of a job."""

    job_id: str
    ts: int
    status: str
    error: str
    summary: str
    duration_ms: int | None
    session_id: str | None


def read_jobs(data: bytes) -> list[Job]:
    """Read the jobs of `cron/jobs.json`.

    Raises ValueError when there is no list of jobs.
    """
    jobs = load_object(data).get("jobs")
    if not isinstance(jobs, list):
        raise ValueError("there is no list of jobs")
    return [parse_job(job) for job in jobs if isinstance(job, dict) and isinstance(job.get("id"), str)]


def read_run(record: dict[str, Any], *, job_id: str) -> Run:
    """Read a line of `cron/runs/<job>.jsonl`.

    Raises ValueError without a usable time.
    """
    ts = parse_moment_ms(record.get("ts")) or parse_moment_ms(record.get("timestamp"))
    if ts is None:
        raise ValueError("there is no time in it")
    duration = record.get("durationMs")
    return Run(
        job_id=_text(record, "jobId") or job_id,
        ts=ts,
        status=_text(record, "status"),
        error=_text(record, "error"),
        summary=_text(record, "summary"),
        duration_ms=int(duration) if isinstance(duration, int | float) and 0 <= duration < 10**12 else None,
        session_id=_text(record, "sessionId") or None,
    )


def parse_job(job: dict[str, Any]) -> Job:
    """Parse one job, whose `id` is a text."""
    payload, state = _object(job, "payload"), _object(job, "state")
    schedule = job.get("schedule")
    return Job(
        id=job["id"],
        agent=_text(job, "agentId") or "main",
        name=_text(job, "name"),
        enabled=job.get("enabled") is not False,
        prompt=_text(payload, "message") or _text(payload, "text") or _text(job, "prompt"),
        schedule=schedule if isinstance(schedule, dict) else {},
        created_at=parse_moment_ms(job.get("createdAtMs")) or parse_moment_ms(job.get("createdAt")),
        updated_at=parse_moment_ms(job.get("updatedAtMs")) or parse_moment_ms(job.get("updatedAt")),
        next_run_at=parse_moment_ms(state.get("nextRunAtMs")) or parse_moment_ms(job.get("nextRunAt")),
        raw=job,
    )


def _object(entry, name):
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def _text(entry, name):
    value = entry.get(name)
    return value if isinstance(value, str) else ""
