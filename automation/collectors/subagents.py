"""Reads the sub-agent runs of `subagents/runs.json`."""

from dataclasses import dataclass, field
from typing import Any

from ledger.collectors.jsonl import load_object
from ledger.collectors.records import parse_moment_ms


@dataclass(slots=True)
class SubagentRun:
    """One run of a sub-agent."""

    run_id: str
    child_session_key: str
    requester_session_key: str
    controller_session_key: str | None
    created_at: int
    ended_at: int | None
    cleanup_handled: bool
    payload: dict[str, Any] = field(default_factory=dict)


def read_runs(data: bytes) -> list[SubagentRun]:
    """Read the runs of the file. Raises ValueError when there are none."""
    runs = load_object(data).get("runs")
    if isinstance(runs, list):
        runs = {run["runId"]: run for run in runs if isinstance(run, dict) and isinstance(run.get("runId"), str)}
    if not isinstance(runs, dict):
        raise ValueError("there are no runs")
    return [parse_run(run_id, run) for run_id, run in runs.items() if isinstance(run, dict)]


def parse_run(run_id: str, run: dict[str, Any]) -> SubagentRun:
    """Parse one run from its object."""

    def text(name):
        value = run.get(name)
        return value if isinstance(value, str) else None

    return SubagentRun(
        run_id=run_id,
        child_session_key=text("childSessionKey") or "",
        requester_session_key=text("requesterSessionKey") or "",
        controller_session_key=text("controllerSessionKey"),
        created_at=parse_moment_ms(run.get("createdAt")) or parse_moment_ms(run.get("startedAt")) or 0,
        ended_at=parse_moment_ms(run.get("endedAt")),
        cleanup_handled=run.get("cleanupHandled") is True,
        payload=run,
    )
