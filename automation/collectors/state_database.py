"""Reads the state database of an OpenClaw home.

It has scheduled jobs and their runs, sub-agent runs, and other background work.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from ledger.collectors.agent_database import decode_text
from ledger.collectors.database import Database
from ledger.collectors.jsonl import load_object
from ledger.collectors.records import parse_moment_ms
from ledger.collectors.trajectories import MAX_FACT, TOOL_ENDED, Step

from . import cron, subagents

MAX_TEXT = 20_000  # characters of one column
TASK = (
    *("task_id", "runtime", "task_kind", "source_id", "requester_session_key", "child_session_key"),
    *("parent_flow_id", "parent_task_id", "run_id", "label", "task", "status", "delivery_status"),
    *("last_tool_name", "error", "progress_summary", "terminal_summary", "terminal_outcome"),
    *("tool_use_count", "created_at", "started_at", "ended_at"),
)
FLOW = (
    *("flow_id", "shape", "owner_key", "status", "goal", "current_step", "blocked_summary"),
    *("created_at", "updated_at", "ended_at"),
)
DELIVERY = (
    *("queue_name", "id", "status", "entry_kind", "session_key", "channel", "last_error"),
    *("retry_count", "last_attempt_at", "enqueued_at", "updated_at", "failed_at"),
)
AUDIT = (
    *("sequence", "occurred_at", "action", "status", "error_code", "agent_id", "session_id", "run_id"),
    *("tool_call_id", "tool_name", "duration_ms"),
)
AUDITED = 20_000  # audit events that are read, the newest
ORDERS = ("created_at", "enqueued_at")  # what lists are ordered by is never empty
RECEIPT_STATUSES = {"running": "", "interrupted": "error", "superseded": "skipped"}


@dataclass(slots=True)
class TimedRun:
    """A run of a scheduled job, with the moment when it began (ms).

    This moment identifies the run: every table has the same.
    """

    run: cron.Run
    began_at: int
    agent: str
    entry: dict[str, Any]


@dataclass(slots=True)
class Item:
    """A row of one of the other tables: its columns by name, and its agent."""

    agent: str
    values: dict[str, Any] = field(default_factory=dict)


def read_jobs(database: Database) -> Iterator[cron.Job]:
    """Read the scheduled jobs.

    A job whose definition is no JSON object is read from its columns.
    """
    columns = ("job_id", "name", "enabled", "agent_id", "updated_at", "job_json", "state_json")
    for job_id, name, enabled, agent, updated, job_json, state_json in database.rows("cron_jobs", *columns):
        if not decode_text(job_id):
            continue
        raw = {
            "name": decode_text(name),
            "enabled": enabled != 0,
            "agentId": decode_text(agent),
            "updatedAtMs": updated,
        }
        raw |= _parse_object(job_json) | {"id": decode_text(job_id)}
        if state := _parse_object(state_json):
            raw["state"] = state
        raw.setdefault("updatedAtMs", updated)
        yield cron.parse_job(raw)


def read_runs(database: Database) -> Iterator[TimedRun]:
    """Read the runs of scheduled jobs, each once.

    A run is read from its task, else from the run log, else from a receipt.
    """
    seen: set[tuple[str, int]] = set()
    for timed_run in (*_read_task_runs(database), *_read_run_logs(database), *_read_receipts(database)):
        key = (timed_run.run.job_id, timed_run.began_at)
        if key not in seen:
            seen.add(key)
            yield timed_run


def read_subagent_runs(database: Database) -> Iterator[subagents.SubagentRun]:
    """Read the sub-agent runs.

    The columns complete the payload, which some versions do not have.
    """
    columns = ("run_id", "child_session_key", "requester_session_key", "controller_session_key", "created_at")
    more = ("started_at", "ended_at", "task", "label", "model", "outcome_json", "ended_reason", "cleanup_handled")
    for row in database.rows("subagent_runs", *columns, *more, "payload_json"):
        values = dict(zip((*columns, *more), row, strict=False))
        run_id, outcome = decode_text(values.pop("run_id")), _parse_object(values.pop("outcome_json"))
        handled = values.pop("cleanup_handled")
        run: dict[str, Any] = {_camel(name): _decode(value) for name, value in values.items() if value is not None}
        if outcome:
            run["outcome"] = outcome
        if handled is not None:
            run["cleanupHandled"] = bool(handled)
        if run_id:
            yield subagents.parse_run(run_id, _parse_object(row[-1]) | run)


def read_tool_ends(database: Database) -> Iterator[tuple[str, Step]]:
    """Read the ends of tool calls among the newest audit events, each with the agent's name in the home.

    A call has the hash of its id (`sha256:…`). Its duration is the distance from its start.
    """
    starts: dict[tuple[str, str], int] = {}
    newest = f"kind = 'tool_action' AND sequence > (SELECT max(sequence) FROM audit_events) - {AUDITED}"  # noqa: S608
    rows = database.rows("audit_events", *AUDIT, where=newest, order="sequence")
    for sequence, occurred_at, *raw_texts, duration in rows:
        texts = [decode_text(text)[:MAX_FACT] for text in raw_texts]
        action, status, error, agent, session_id, run_id, call_id, tool = texts
        moment = parse_moment_ms(occurred_at)
        if moment and action == "tool.action.started":
            starts[run_id, call_id] = moment
        elif moment and action == TOOL_ENDED and call_id and isinstance(sequence, int):
            about: dict[str, Any] = {"toolCallId": call_id, "name": tool, "status": status}
            about |= {"errorCode": error} if error else {}
            duration = moment - starts.pop((run_id, call_id)) if (run_id, call_id) in starts else duration
            if isinstance(duration, int) and duration >= 0:
                about["durationMs"] = duration
            yield agent, Step(session_id, sequence, run_id, TOOL_ENDED, moment, about, str(moment))


def read_tasks(database: Database) -> Iterator[Item]:
    """Read the tasks that are no runs of scheduled jobs."""
    for row in database.rows("task_runs", *TASK, "agent_id", "owner_key", order="created_at"):
        item = _build_item(TASK, row)
        item.agent = decode_text(row[-2]) or _parse_agent(item.values["requester_session_key"] or decode_text(row[-1]))
        if item.values["runtime"] != "cron" and item.values["task_id"]:
            yield item


def read_flows(database: Database) -> Iterator[Item]:
    """Read the flows, which are tasks that belong together."""
    for row in database.rows("flow_runs", *FLOW, order="created_at"):
        item = _build_item(FLOW, row)
        item.agent = _parse_agent(item.values["owner_key"])
        if item.values["flow_id"]:
            yield item


def read_deliveries(database: Database) -> Iterator[Item]:
    """Read the messages that wait to be delivered, or could not be.

    Only where and since when they wait is read, never their text or recipient.
    """
    for row in database.rows("delivery_queue_entries", *DELIVERY, order="enqueued_at"):
        item = _build_item(DELIVERY, row)
        item.agent = _parse_agent(item.values["session_key"])
        if item.values["queue_name"] and item.values["id"]:
            yield item


def _read_task_runs(database):
    columns = ("source_id", "agent_id", "status", "error", "terminal_summary", "started_at", "ended_at", "created_at")
    for row in database.rows("task_runs", *columns, "detail_json", where="runtime = 'cron'", order="created_at"):
        job, agent, status, error, summary, started, ended, created, detail = row
        entry = _parse_object(detail)
        entry.setdefault("status", decode_text(status))
        entry.setdefault("error", decode_text(error))
        entry.setdefault("summary", decode_text(summary))
        entry.setdefault("runAtMs", started or created)
        entry.setdefault("ts", ended or started or created)
        yield from _build_timed_run(entry, decode_text(job), decode_text(agent))


def _read_run_logs(database):
    columns = ("job_id", "ts", "status", "error", "summary", "session_id", "run_at_ms", "duration_ms")
    for row in database.rows("cron_run_logs", *columns, "entry_json", order="ts"):
        job, ts, status, error, summary, session, run_at, duration = row[:-1]
        entry = {"ts": ts, "status": decode_text(status), "error": decode_text(error), "summary": decode_text(summary)}
        entry |= {"sessionId": decode_text(session), "runAtMs": run_at or ts, "durationMs": duration}
        entry |= _parse_object(row[-1])
        yield from _build_timed_run(entry, decode_text(job), "")


def _read_receipts(database):
    columns = ("job_id", "agent_id", "status", "started_at_ms", "finished_at_ms", "error_text")
    for job, agent, status, started, finished, error in database.rows("cron_run_receipts", *columns):
        word = decode_text(status)
        entry = {"ts": finished or started, "runAtMs": started, "status": RECEIPT_STATUSES.get(word, word)}
        entry |= {"error": decode_text(error), "receiptStatus": word}
        if isinstance(started, int) and isinstance(finished, int):
            entry["durationMs"] = finished - started
        yield from _build_timed_run(entry, decode_text(job), decode_text(agent))


def _build_timed_run(entry, job_id, agent):
    began_at = parse_moment_ms(entry.get("runAtMs"))
    if began_at is None or not job_id:
        return
    entry = {name: value for name, value in entry.items() if value not in (None, "")} | {"jobId": job_id}
    try:
        yield TimedRun(cron.read_run({"ts": began_at, **entry}, job_id=job_id), began_at, agent, entry)
    except ValueError:
        return


def _build_item(columns, row):
    return Item("", {name: _convert(name, value) for name, value in zip(columns, row, strict=False)})


def _convert(name, value):
    if name.endswith("_at"):
        return parse_moment_ms(value) or (0 if name in ORDERS else None)
    if name.endswith("_count"):
        return value if isinstance(value, int) and 0 <= value < 2**31 else 0
    return decode_text(value)[:MAX_TEXT].replace("\x00", "\ufffd")


def _decode(value):
    return decode_text(value) if isinstance(value, bytes) else value


def _camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _parse_agent(key):
    parts = key.split(":")
    return parts[1] if len(parts) > 1 and parts[0] == "agent" else "main"


def _parse_object(value):
    try:
        return load_object(value) if isinstance(value, bytes) else {}
    except (ValueError, orjson.JSONDecodeError):
        return {}
