"""Imports what belongs to the whole home: scheduled jobs, their runs, and sub-agent runs."""

import os
from collections import defaultdict

import orjson
from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils.translation import gettext as _

from agents.homes import NotReadable, describe_gone, list_names, open_regular, stat_regular
from agents.models import CollectorSource
from agents.sources import HEAD
from automation.collectors import cron, subagents
from automation.models import CronJob, CronRunLog, SubagentRun
from ledger.collectors import jsonl
from ledger.transcripts import transcript_store

Kind = CollectorSource.Kind
WHOLE_FILES = {Kind.CRON_JOBS: "cron/jobs.json", Kind.SUBAGENT_RUNS: "subagents/runs.json"}
MAX_BYTES = 64 * 1024 * 1024
MIGRATED_SUFFIX = ".jsonl.migrated"
FIRST_TIME = 10**11  # a `seq` from this value on is the start time of a run, below it a byte offset in a run log


def collect(collection) -> dict[str, int]:
    """Read changed files; returns counts of jobs, runs, sub-agent runs and rejections."""
    counts = {"cron_jobs": 0, "cron_runs": 0, "subagent_runs": 0, "rejected": 0}
    for kind, name in WHOLE_FILES.items():
        _read_whole_file(collection, name, kind, counts)
    folder = collection.home.root / "cron" / "runs"
    for name in list_names(folder, collection.home.notes):
        if name.endswith(".jsonl"):
            _read_run_log(collection, folder / name, counts)
    return counts


def _read_whole_file(collection, name, kind, counts):
    """Read a file again that OpenClaw rewrites whole, when it has changed."""
    path = collection.home.root / name
    if not os.path.lexists(path):
        return
    try:
        stat = path.lstat()
    except OSError:
        collection.home.notes.append(describe_gone(name))
        return
    if collection.book.is_known(kind, path, stat):
        return
    try:
        counts[kind] = store_whole_file(collection, kind, path)
    except (NotReadable, ValueError) as exc:
        counts["rejected"] += 1
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": name, "reason": exc})
        return
    collection.book.save(kind, path, stat, agent_id="", offset=stat.st_size)


def store_whole_file(collection, kind, path):
    """Store what a file of this kind has now; returns how many. Raises NotReadable and ValueError."""
    with open_regular(collection.home.root, path) as file:
        data = file.read(MAX_BYTES)
    is_jobs = kind == Kind.CRON_JOBS
    items = cron.read_jobs(data) if is_jobs else subagents.read_runs(data)
    with transaction.atomic(using=collection.db):
        (store_jobs if is_jobs else store_runs)(collection, items)
    return len(items)


def store_jobs(collection, jobs):
    """Store the current scheduled jobs."""
    for job in jobs:
        CronJob.objects.using(collection.db).update_or_create(
            id=job.id,
            defaults={
                "agent_id": get_agent_id(collection, job.agent),
                "name": job.name,
                "enabled": job.enabled,
                "prompt": job.prompt,
                "schedule": job.schedule,
                "created_at": job.created_at,
                "updated_at": job.updated_at,
                "next_run_at": job.next_run_at,
                "definition": job.raw,
            },
        )


def store_runs(collection, runs):
    """Store the current sub-agent runs."""
    for run in runs:
        parts = run.requester_session_key.split(":")
        SubagentRun.objects.using(collection.db).update_or_create(
            run_id=run.run_id,
            defaults={
                "child_session_key": run.child_session_key,
                "requester_session_key": run.requester_session_key,
                "controller_session_key": run.controller_session_key,
                "created_at": run.created_at,
                "ended_at": run.ended_at,
                "cleanup_handled": run.cleanup_handled,
                "payload": run.payload,
                "agent_id": get_agent_id(collection, parts[1] if len(parts) > 1 else "main"),
            },
        )


def _read_run_log(collection, path, counts):
    stat = stat_regular(path)
    if stat and collection.book.is_known(Kind.CRON_RUNS, path, stat):
        return
    job_id = path.stem
    agent_id = find_job_owner(collection, job_id)
    try:
        opened = open_regular(collection.home.root, path)
    except NotReadable as exc:
        collection.home.notes.append(_("%(file)s was not read: %(reason)s.") % {"file": path.name, "reason": exc})
        return
    with opened:
        stat = os.fstat(opened.fileno())  # before reading: later lines are found the next time
        reading = collection.book.find_position(Kind.CRON_RUNS, path, opened)
        opened.seek(0)
        head = opened.read(HEAD)
        rows, bad = [], []
        for line in jsonl.read_lines(opened, reading.offset, take=reading.tail.take):
            row = parse_run_row(line, job_id, agent_id)
            rows.append(row) if row else bad.append(line)
    counts["cron_runs"] += store_log_runs(job_id, rows, goes_on=reading.goes_on)
    agent = next((agent for agent in collection.agents.values() if agent.agent_id == agent_id), None)
    if bad and agent:
        transcript_store.store_rejected_lines(agent.db, collection.book.name(path), bad)
    counts["rejected"] += len(bad)
    collection.book.save_appended(Kind.CRON_RUNS, path, stat, agent_id=agent_id, head=head, tail=reading.tail)


def store_log_runs(job_id, rows, *, goes_on=False, db=DEFAULT_DB_ALIAS):
    """Store new runs of a run log; returns how many."""
    new_rows = find_new_runs(job_id, rows, goes_on=goes_on, db=db)
    return len(CronRunLog.objects.using(db).bulk_create(new_rows, batch_size=500))


def read_whole_log(collection, path, job_id, agent_id):
    """The rows of a whole run log; None for lines that are no runs. Raises NotReadable."""
    with open_regular(collection.home.root, path) as file:
        is_closed = path.name.endswith(MIGRATED_SUFFIX)
        return [parse_run_row(line, job_id, agent_id) for line in jsonl.read_lines(file, is_closed=is_closed)]


def find_new_runs(job_id, rows, *, goes_on=False, db=DEFAULT_DB_ALIAS):
    """The runs of a run log that are not stored; `seq` is their offset.

    A truncated log that has grown again has other runs in the same places, and the same runs in other places. A log
    that is read from its start is therefore compared by text: each stored run matches one run with the same text. A log
    that is read further is compared by text and place. When another run has a place, the next place is used. A line may
    name another job than `job_id`, the job of the log.
    """
    by_job = {job_id: []}
    for row in rows:
        by_job.setdefault(row.job_id, []).append(row)
    return [row for name, own in by_job.items() for row in _find_new_job_runs(db, name, own, goes_on=goes_on)]


def _find_new_job_runs(db, job_id, rows, *, goes_on):
    stored = CronRunLog.objects.using(db).filter(job_id=job_id, seq__lt=FIRST_TIME)
    if goes_on and rows:
        stored = stored.filter(seq__gte=rows[0].seq)
    seqs_by_entry, taken = defaultdict(set), set()
    for seq, entry in stored.values_list("seq", "entry_json").iterator():
        seqs_by_entry[entry].add(seq)
        taken.add(seq)
    new = []
    for row in rows:
        seqs = seqs_by_entry.get(row.entry_json, set())
        if goes_on:
            known = {seq for seq in seqs if row.seq <= seq < row.seq + len(row.entry_json)}
        else:
            known = seqs & {row.seq} or seqs
        if known:
            seqs.remove(min(known))
            continue
        while row.seq in taken:
            row.seq += 1
        taken.add(row.seq)
        new.append(row)
    return new


def parse_run_row(line, job_id, agent_id):
    """Parse a line of a run log. Run logs need no `type`."""
    record = line.record
    if record is None and line.reason == "missing_type":
        record = orjson.loads(line.raw)
    if record is None:
        return None
    try:
        run = cron.read_run(record, job_id=job_id)
    except ValueError as exc:
        line.reason, line.detail = "bad_run", str(exc)
        return None
    return CronRunLog(
        job_id=run.job_id,
        seq=line.offset,
        agent_id=agent_id,
        ts=run.ts,
        status=run.status,
        error=run.error,
        summary=run.summary,
        duration_ms=run.duration_ms,
        session_id=run.session_id,
        entry_json=line.raw.decode(),
    )


def find_job_owner(collection, job_id):
    """The agent of a job."""
    owner = CronJob.objects.filter(id=job_id).values_list("agent_id", flat=True).first()
    return owner or get_agent_id(collection, "main")


def get_agent_id(collection, home_name):
    """The id of the home's agent here; its own name when the home lacks it."""
    agent = collection.agents.get(home_name)
    return agent.agent_id if agent else home_name
