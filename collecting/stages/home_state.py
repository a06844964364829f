"""Imports the state database of a home: schedules, sub-agent runs and background work."""

from pathlib import Path
from typing import Any

from django.db import models, transaction
from django.utils.translation import gettext as _

from agents.homes import STATE_DATABASE, NotReadable, list_names, stat_regular
from agents.models import CollectorSource
from automation.collectors import state_database
from automation.models import CronRunLog, DeliveryQueueEntry, FlowRun, TaskRun
from guardian.collectors import provenance
from guardian.collectors.provenance import Record
from guardian.standing import provenance as records_of_files
from ledger.collectors import database_schemas
from ledger.collectors.database import DamagedDatabase, Database
from ledger.collectors.database_tables import PROVENANCE, STATE
from ledger.collectors.trajectories import Step
from ledger.models import Session
from ledger.transcripts import extras_store
from openclaw_web.clock import now_ms

from . import schedules, source_databases
from .source_databases import UnreadableDatabase

Kind = CollectorSource.Kind
ROWS = 500


def collect(collection: Any, counts: dict[str, int]) -> None:
    """Read a changed state database and the run logs behind it; adds to `counts`."""
    counts.update(tasks=0, flows=0, deliveries=0, provenance=0)
    if count_bytes_to_read(collection):
        _import_database(collection, collection.home.root / STATE_DATABASE, counts)
    folder = collection.home.root / "cron" / "runs"
    for name in list_names(folder, collection.home.notes):
        if name.endswith(schedules.MIGRATED_SUFFIX):
            _import_migrated_log(collection, folder / name, counts)


def count_bytes_to_read(collection: Any) -> int:
    """The size of the state database; 0 when it is unchanged or missing."""
    source = collection.home.root / STATE_DATABASE
    if stat_regular(source) is None or (
        source_databases.is_known(collection, source) and is_provenance_known(collection, source)
    ):
        return 0
    return source_databases.get_copy_size(source)


def _import_database(collection, source, counts):
    stats, size = source_databases.read_stats(source), source_databases.get_copy_size(source)
    try:
        with source_databases.open_copy(collection, source, STATE, extracts=(PROVENANCE,)) as database:
            source_databases.note_unread(collection, source, database, database_schemas.STATE)
            store_tables(collection, database, counts)
            counts["provenance"] += _store_provenance(collection, database)
            for agent, steps in read_tool_ends(collection, database):
                extras_store.store_steps(agent.db, steps)
    except (UnreadableDatabase, DamagedDatabase) as exc:
        counts["rejected"] += 1
        counts["unread_databases"] = 1
        words = {"file": STATE_DATABASE, "reason": source_databases.describe_failure(exc)}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return
    collection.add_bytes(size)
    source_databases.note_read(collection, source, stats, "")
    collection.book.save_read(
        source, stats[0], _format_provenance_mode(collection), agent_id="", kind=Kind.GUARDIAN_WRITES
    )


def store_tables(collection: Any, database: Database, counts: dict[str, int]) -> None:
    """Store schedules, runs and background work of an open state database; adds to `counts`."""
    jobs = list(state_database.read_jobs(database))
    runs = list(state_database.read_subagent_runs(database))
    with transaction.atomic(using=collection.db):
        schedules.store_jobs(collection, jobs)
        schedules.store_runs(collection, runs)
        counts["cron_jobs"] += len(jobs)
        counts["subagent_runs"] += len(runs)
        owners = {job.id: job.agent for job in jobs}
        counts["cron_runs"] += _store_cron_runs(collection, list(state_database.read_runs(database)), owners)
        counts["tasks"] += _store_table(collection, TaskRun, state_database.read_tasks(database))
        counts["flows"] += _store_table(collection, FlowRun, state_database.read_flows(database))
        counts["deliveries"] += _store_table(collection, DeliveryQueueEntry, state_database.read_deliveries(database))


def read_tool_ends(collection: Any, database: Database) -> list[tuple[Any, list[Step]]]:
    """The ends of tool calls by agent, of sessions with records."""
    steps_by_name: dict[str, list[Step]] = {}
    for name, step in state_database.read_tool_ends(database):
        steps_by_name.setdefault(name, []).append(step)
    pairs = []
    for name, steps in steps_by_name.items():
        agent = collection.agents.get(name)
        if agent and collection.only in (None, agent.agent_id) and agent.agent_id not in collection.lost:
            sessions = Session.objects.using(agent.db).filter(id__in={step.session_id for step in steps})
            stored_ids = set(sessions.filter(record_count__gt=0).values_list("id", flat=True))
            pairs.append((agent, [step for step in steps if step.session_id in stored_ids]))
    return pairs


def _store_provenance(collection, database):
    """Store changed records about memory files; returns how many there are."""
    assigned, is_whole = read_provenance(collection, database)
    return sum(
        records_of_files.store_records(agent, assigned.get(agent.agent_id, {}), is_whole=is_whole)
        for agent in collection.agents.values()
        if collection.only in (None, agent.agent_id) and agent.agent_id not in collection.lost
    )


def read_provenance(collection: Any, database: Database) -> tuple[dict[str, dict[str, Record]], bool]:
    """The records about memory files by agent and file name, and whether these are all that there are."""
    if not provenance.has_records(database):
        return {}, False
    records = list(provenance.read_records(database, now_ms()))
    return records_of_files.assign_records(collection.agents, records), len(records) < PROVENANCE.most_rows


def is_provenance_known(collection: Any, source: Path) -> bool:
    """Whether the records of these agents and workspaces were read at the last reading."""
    stat = stat_regular(source)
    way = _format_provenance_mode(collection)
    return stat is not None and collection.book.was_read(source, stat, way, kind=Kind.GUARDIAN_WRITES)


def _format_provenance_mode(collection):
    """The mode of reading: the owner of a record depends on agents and workspaces."""
    agents = sorted(f"{agent.agent_id} {agent.workspace}" for agent in collection.agents.values())
    return "\n".join(["1 provenance", collection.only or "", *agents])


def _store_cron_runs(collection, runs, owners):
    """Store runs by start time, except runs that a run log contains."""
    logged = find_logged_runs(collection.db, {cron_run.run.job_id for cron_run in runs})
    rows = [
        CronRunLog(
            job_id=cron_run.run.job_id,
            seq=cron_run.began_at,
            agent_id=schedules.get_agent_id(collection, cron_run.agent or owners.get(cron_run.run.job_id) or "main"),
            ts=cron_run.run.ts,
            status=cron_run.run.status,
            error=cron_run.run.error,
            summary=cron_run.run.summary,
            duration_ms=cron_run.run.duration_ms,
            session_id=cron_run.run.session_id,
            entry=cron_run.entry,
        )
        for cron_run in runs
        if (cron_run.run.job_id, cron_run.began_at) not in logged
    ]
    return _write_rows(collection.db, CronRunLog, rows, ("job_id", "seq"))


def _store_table(collection, model, items):
    """Store the current rows of a table that is read whole."""
    rows = [model(agent_id=schedules.get_agent_id(collection, item.agent), **item.values) for item in items]
    key = ("queue_name", "id") if model is DeliveryQueueEntry else (model._meta.pk.name,)
    return _write_rows(collection.db, model, rows, key)


def _write_rows(db, model: type[models.Model], rows, key):
    names = [field.name for field in model._meta.concrete_fields if field.name not in key]
    model.objects.using(db).bulk_create(  # type: ignore[attr-defined]
        rows, batch_size=ROWS, update_conflicts=True, unique_fields=list(key), update_fields=names
    )
    return len(rows)


def _import_migrated_log(collection, path: Path, counts):
    """Import the runs of a run log that OpenClaw put aside, unless they are stored."""
    kind = Kind.CRON_RUNS
    stat = stat_regular(path)
    if stat and collection.book.is_known(kind, path, stat):
        return
    job_id = path.name.removesuffix(schedules.MIGRATED_SUFFIX)
    known_starts = set(
        CronRunLog.objects.filter(job_id=job_id, seq__gte=schedules.FIRST_TIME).values_list("seq", flat=True)
    )
    owner = schedules.find_job_owner(collection, job_id)
    try:
        log_rows = schedules.read_whole_log(collection, path, job_id, owner)
    except NotReadable as exc:
        words = {"file": path.name, "reason": exc}
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % words)
        return
    rows = [row for row in log_rows if row is not None and parse_began_at(row.entry_json) not in known_starts]
    counts["cron_runs"] += schedules.store_log_runs(job_id, rows)
    counts["rejected"] += log_rows.count(None)
    collection.book.save(kind, path, stat, agent_id=owner, offset=stat.st_size)


def find_logged_runs(db: str, job_ids: set[str]) -> set[tuple[str, Any]]:
    """The (job, start time) of every run that was read from a run log."""
    rows = (
        CronRunLog.objects.using(db)
        .filter(job_id__in=job_ids, seq__lt=schedules.FIRST_TIME)
        .values_list("job_id", "entry_json")
    )
    return {(job_id, parse_began_at(entry)) for job_id, entry in rows.iterator()}


def parse_began_at(entry_json: str) -> Any:
    """The start time in a run log's line; None without one."""
    return CronRunLog.entry.decode(entry_json).get("runAtMs")
