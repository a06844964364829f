"""Runs `doctor --fix`: plan, backup, repairs, import, comparison and receipt.

Source files are removed last, and only on request.
"""

from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents import databases, holdings
from agents.database_copies import Copies
from agents.homes import NotReadable
from agents.sources import SourceBook
from collecting import collect, migration_runs
from collecting.models import MigrationRun, MigrationSource
from jobs import kinds as job_kinds
from jobs.progress import CancelledJob
from ledger.transcripts import removal
from openclaw_web import amounts, clock, reasons
from openclaw_web.disk import locks, room
from openclaw_web.errors import Refused
from openclaw_web.sqlite import inspection
from people.audit import log as audit

from ..backups import runs as backup_runs
from ..backups import services as backups
from ..models import BackupRun
from . import plan, recovery, repairs, report
from .plan import Plan
from .sources import gateway, import_preview, import_verification, source_files
from .sources.home_sources import LEFT, LEGACY, Source
from .store import integrity_checks, losses, own_store

Status = MigrationRun.Status
INCOMPLETE = BackupRun.Status.INCOMPLETE.value
GATEWAY_REASON = "gateway"  # the id of a reason for which --fix was refused


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Carry out the plan and write the receipt.

    `params`: `source`, `as`, `include_deleted`, `sources` (keep, archive, remove), `force`, `by`. Raises Refused when
    nothing can be done. It may be run again.
    """
    advice = _("Imports finished so far are kept. Run the import again to continue.")
    with (
        exclusive_run(),
        room.refuse_when_full(settings.HOME_DIR, advice),
        Copies() as copies,
    ):  # the copies are needed until the comparison
        repair_plan = plan.build_plan(params, progress, copies)
        _check_plan(repair_plan, params)
        reconcile(str(repair_plan.root))
        # Sources to import or to record, and those that are to be removed.
        imported = migration_runs.find_imported(str(repair_plan.root))
        removes_sources = params.get("sources", source_files.KEEP) != source_files.KEEP
        partly_imported = migration_runs.find_partly_imported(str(repair_plan.root)) if removes_sources else set()
        todo = []
        for source in repair_plan.sources:
            is_noted = imported.get((source.name, source.target)) == (_get_mtime(source), source.size)
            if source.state == LEFT:
                continue
            if (
                source.is_to_read
                or not is_noted
                or (removes_sources and _is_removable(repair_plan, source, partly_imported))
            ):
                todo.append(source)
        repairable = [
            finding for finding in repair_plan.store if finding.repair and finding.repair != losses.IMPORT_AGAIN
        ]
        if not todo and not repairable and not recovery.is_needed(repair_plan):
            sentence = _("Nothing to do. %(state)s") % {"state": plan.describe_plan(repair_plan)}
            return _build_receipt(repair_plan, None, sentence, {})
        return _run_recorded(repair_plan, todo, repairable, params, progress)


def exclusive_run() -> AbstractContextManager[None]:
    """Run one doctor at a time in a home. Raises Refused while another one runs."""
    return locks.exclusive_lock(locks.DOCTOR, _("Another check or repair is running. Wait until it has ended."))


def _check_plan(repair_plan: Plan, params):
    for finding in repair_plan.store:
        if finding.check in ("integrity", "schema", "registry") and not finding.repair:
            raise Refused(finding.sentence)
    if repair_plan.problem and params.get("source"):
        raise Refused(repair_plan.problem)
    removes_sources = params.get("sources", source_files.KEEP) != source_files.KEEP
    if removes_sources and (signs := _find_signs_of_life(repair_plan, params)):
        reasons = [{"id": GATEWAY_REASON, "reason": sign} for sign in signs]
        sentence = _("OpenClaw seems to be running: %(why)s. Stop OpenClaw, then try again. Nothing was changed.")
        raise Refused(sentence % {"why": signs[0]}, reasons=reasons)


def _find_signs_of_life(repair_plan, params):
    return [] if params.get("force") else gateway.find_signs_of_life(repair_plan.root, repair_plan.sources)


def _is_removable(repair_plan, source, partly_imported):
    """Whether a file of an earlier import could be removed now.

    A file that was kept once is kept as long as it does not change.
    """
    is_movable = source.kind in LEGACY and source.name not in partly_imported
    return is_movable and import_verification.is_fully_imported(repair_plan.collection, source)


def _get_mtime(source):
    return min(source.stat.st_mtime_ns, 2**63 - 1)


def _run_recorded(repair_plan, todo, repairable, params, progress):
    row = migration_runs.begin_run(root=str(repair_plan.root), by=params.get("by", ""), before=_read_session_ids())
    facts: dict[str, Any] = {"plan": plan.as_receipt(repair_plan), "run": row.id}
    sentence = _("Stopped by an unexpected error. See the server log.")
    message = None
    try:
        message = _run_steps(row, repair_plan, todo, repairable, params, progress, facts)
    except Refused as refused:
        sentence = str(refused.sentence)
        raise
    except CancelledJob:
        sentence = str(migration_runs.CANCELLED)
        raise
    except OperationalError as exc:
        sentence = _("The store is not writable: %(why)s.") % {"why": reasons.describe_error(exc)}
        raise
    finally:
        if message is None:
            with suppress(OperationalError):  # a full disk: the next run finds the row and marks it as interrupted
                facts["sessions"] = _find_new_sessions(row, repair_plan)
                migration_runs.finish_run(row, Status.FAILED, sentence, facts)
    return _build_receipt(repair_plan, row.id, message, facts)


def _run_steps(row, repair_plan, todo, repairable, params, progress, facts):
    mode = params.get("sources", source_files.KEEP)
    # A backup reads agents' files at the paths of the registry, which can always be derived from their names.
    first = [finding for finding in repairable if finding.check == "registry_row"]
    facts["repairs"] = [_run_repair(finding, progress) for finding in first]
    recovery.import_lost_agents(repair_plan, params, progress, facts)
    progress.log(_("Creating a backup"))
    backup = backups.create({"by": params.get("by", "")}, progress)
    facts["backup"] = {name: backup[name] for name in ("id", "path", "sha256", "bytes", "status")}
    progress.log(backup["message"])
    migration_runs.store_report(row, facts)
    hashes = _hash_sources(repair_plan, todo)
    removable = [source for source in todo if source.kind in LEGACY] if mode != "keep" else []
    if removable:
        names = [source.name for source in removable]
        archive = source_files.pack(repair_plan.root, names, backup_runs.get_backup_folder(), row.id)
        facts["source_archive"] = archive.as_json()
        facts["stayed"] = [{"path": name, "reason": reason} for name, reason in archive.skipped.items()]
        removable = [source for source in removable if source.name in archive.files]
        migration_runs.store_report(row, facts)
    # Sums come last: computed while records are missing, they would be wrong again, and turns get other numbers.
    last = [finding for finding in repairable if finding.repair == integrity_checks.LAST_REPAIR]
    facts["repairs"] += [_run_repair(finding, progress) for finding in repairable if finding not in (*first, *last)]
    if todo or recovery.is_needed(repair_plan):
        _import_sources(row, repair_plan, todo, removable, hashes, params, progress, facts)
    facts["repairs"] += [_run_repair(finding, progress) for finding in last]
    warnings = len(facts.get("warnings", [])) + sum(not repair["is_done"] for repair in facts["repairs"])
    warnings += facts.get("loss_count", 0) + bool(facts.get("row_count"))
    message = _build_message(facts, warnings)
    migration_runs.finish_run(row, Status.WARNING if warnings else Status.COMPLETED, message, facts)
    audit.record(params.get("by", ""), "doctor_fixed", object_type="migration_run", object_id=row.id, warnings=warnings)
    return message


def _build_message(facts, warnings):
    counts = {"sources": facts.get("imported", 0), "new sessions": sum(map(len, facts.get("sessions", {}).values()))}
    counts |= {"rejected lines": facts.get("collected", {}).get("rejected", 0)}
    counts |= {"repairs": sum(repair["is_done"] for repair in facts["repairs"]), "warnings": warnings}
    texts = {name.replace(" ", "_"): amounts.format_amount(name, count) for name, count in counts.items()}
    words = _("%(sources)s imported, %(new_sessions)s, %(rejected_lines)s, %(repairs)s, %(warnings)s.")
    lacks = _(" The backup created before the import is incomplete.") if facts["backup"]["status"] == INCOMPLETE else ""
    return words % texts + _describe_losses(facts) + lacks


def _describe_losses(facts):
    if "read_again" not in facts:
        return ""
    counts = {"again": f"{facts['read_again']['records']:,}", "lost": f"{facts['lost_records']:,}"}
    return " " + _("Lost records restored: %(again)s. Still lost: %(lost)s.") % counts


def _run_repair(finding, progress):
    try:
        sentence = repairs.REPAIRS[finding.repair](finding)
    except (Refused, databases.UnusableAgent) as exc:
        return {"check": finding.check, "agent": finding.agent, "is_done": False, "sentence": str(exc)}
    progress.log(sentence)
    return {"check": finding.check, "agent": finding.agent, "is_done": True, "sentence": sentence}


def _hash_sources(repair_plan, todo):
    """The hash of each source before it is imported; empty for one that cannot be read."""
    hashes = {}
    for source in todo:
        folder = repair_plan.root if source.file.is_relative_to(repair_plan.root) else source.file.parent
        try:
            hashes[source.name] = import_preview.hash_source(folder, source.file)
        except NotReadable as exc:
            source.problem, hashes[source.name] = str(exc), ""
    return hashes


def _import_sources(row, repair_plan, todo, removable, hashes, params, progress, facts):
    if todo:
        collected = collect.run(recovery.choose_import_params(params), progress)
        facts["collected"] = {name: collected[name] for name in ("records", "rejected", "agents", "schedules", "notes")}
    if recovery.is_needed(repair_plan):
        recovery.import_lost_records(repair_plan, params, progress, facts)
    facts["sessions"] = _find_new_sessions(row, repair_plan)
    progress.log(_("Comparing the store with the sources"))
    repair_plan.collection.book = SourceBook(repair_plan.root)
    # Sessions by agent that are not in the store on purpose: undone, or removed by age.
    ignored = repair_plan.collection.ignored
    agents = repair_plan.names.values()
    excluded = {
        agent: removal.read_all_removed_ids(databases.get_alias(agent))
        | holdings.read_removed(agent).keys()
        | ignored.get(agent, frozenset())
        for agent in agents
    }
    saved = [_build_source_row(repair_plan, source, row, hashes, excluded) for source in todo]
    migration_runs.save_sources(saved)
    facts["imported"] = sum(source_row.status == MigrationSource.Status.IMPORTED for source_row in saved)
    facts["warnings"] = [
        {"path": source_row.source_path, "reason": source_row.report["problem"]}
        for source_row in saved
        if source_row.status == MigrationSource.Status.WARNING
    ]
    if removable:
        _remove_sources(
            row, repair_plan, {source_row.source_path: source_row for source_row in saved}, removable, params, facts
        )


def _build_source_row(repair_plan, source: Source, run, hashes, excluded):
    problem = import_verification.problem_of(repair_plan.collection, source, excluded)
    digest = hashes[source.name]
    report: dict[str, Any] = {"problem": problem, "rejected": source.rejected, "version": source.version}
    if source.skipped_tables is not None:
        report["skipped_tables"] = source.skipped_tables
    size = source.size if source.file.exists() else source.stat.st_size
    root, status = str(repair_plan.root), MigrationSource.Status
    return MigrationSource(
        source_key=migration_runs.compute_source_key(
            root, source.name, _get_mtime(source), size, digest, source.target
        ),
        migration_kind=source.kind,
        source_path=source.name,
        target_table=source.target,
        source_sha256=digest,
        source_size_bytes=size,
        source_record_count=source.records,
        last_run=run,
        status=status.WARNING if problem else status.IMPORTED,
        imported_at=None if problem else clock.now_ms(),
        report=report,
        root=root,
        agent_id=source.agent,
        mtime_ns=_get_mtime(source),
    )


def _remove_sources(row, repair_plan, saved, removable, params, facts):
    """Move or remove fully imported files; the receipt names the reason for the others."""
    mode, signs = (
        params["sources"],
        _find_signs_of_life(repair_plan, params),
    )  # OpenClaw may have been started since the plan
    folder = backup_runs.get_backup_folder() / f"openclaw-sources-{row.id}"
    facts["removed"] = []
    for source in removable:
        source_row = saved[source.name]
        try:
            if signs:
                raise Refused(_("OpenClaw was started in the meantime: %(why)s.") % {"why": signs[0]})
            if source_row.status != MigrationSource.Status.IMPORTED:
                raise Refused(_("The file was not imported."))
            if not import_verification.is_fully_imported(repair_plan.collection, source):
                raise Refused(_("Not every line of the file is stored as a record."))
            migration_runs.note_leaving(source_row, mode)
            target = folder / source.name if mode == source_files.ARCHIVE else None
            source_files.remove_file(repair_plan.root, source.name, source_row.source_sha256, target=target)
            migration_runs.note_removed(source_row.source_key)
            facts["removed"].append(source.name)
        except Refused as refused:
            facts["stayed"].append({"path": source.name, "reason": str(refused.sentence)})
    if mode == source_files.ARCHIVE and facts["removed"]:
        facts["archive_folder"] = str(folder)


def reconcile(root: str) -> None:
    """Record sources that an interrupted run removed."""
    leaving = MigrationSource.objects.filter(root=root, removed_source=False, report_json__contains='"leaving"')
    for source_row in leaving.iterator():
        if not Path(root, source_row.source_path).exists():
            migration_runs.note_removed(source_row.source_key)


def _read_session_ids():
    """The ids of all sessions in the home by agent.

    Files that a repair has to make usable first are included.
    """
    return {name: inspection.read_session_ids(file) for name, file in own_store.find_agent_files()}


def _find_new_sessions(row, repair_plan):
    """Sessions by agent of this home that were not there before the run."""
    before = MigrationRun.before.decode_strictly(MigrationRun.objects.get(id=row.id).before_json)
    now = _read_session_ids()
    agents = set(repair_plan.names.values())
    new = {agent: sorted(set(now[agent]).difference(before.get(agent, ()))) for agent in agents & now.keys()}
    return {agent: ids for agent, ids in sorted(new.items()) if ids}


def _build_receipt(repair_plan, run_id, message, facts):
    run_facts = None
    if run_id:
        run_facts = (
            report.EMPTY_RUN | {name: facts[name] for name in report.EMPTY_RUN if name in facts} | {"id": run_id}
        )
        run_facts["sessions"] = {agent: len(ids) for agent, ids in facts.get("sessions", {}).items()}
        run_facts["records"] = facts.get("collected", {}).get("records", 0)
        run_facts["rejected"] = facts.get("collected", {}).get("rejected", 0)
    before = facts.get("plan") or plan.as_receipt(repair_plan)
    return before | {"verb": "fix", "message": message, "run": run_facts}


def _clean_up(params):
    with suppress(Refused), exclusive_run():  # a doctor that is running does the same
        migration_runs.end_interrupted_runs()
        backups.clean_up({})


JOB = job_kinds.Kind(
    run=run,
    label=gettext_lazy("Doctor: import and repair"),
    audit_text=gettext_lazy("started an import and repair"),
    cancel_text=gettext_lazy("Repairs and imports finished so far are kept; run the repair again to continue."),
    undo=_clean_up,
    describe_result=report.in_words,
    page="operations:doctor",
)
