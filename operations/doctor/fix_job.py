"""`doctor --fix`: plan, backup, repairs, import, comparison, receipt; sources go last and only when that was asked."""

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
from .sources.home_sources import LEFT, LEFTOVER, LEGACY, Source
from .store import integrity_checks, losses, own_store

Status = MigrationRun.Status
INCOMPLETE = BackupRun.Status.INCOMPLETE.value
GATEWAY_REASON = "gateway"  # why --fix was refused, in the reasons
IMPORT_PARAMS = ("source", "as", "include_deleted")


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Do what the plan says and write the receipt. `params`: `source`, `as`, `include_deleted`, `sources`
    (keep, archive, remove), `force`, `by`. Raises Refused when nothing can be done; running it again is harmless.
    """
    nothing = _("Imports finished so far are kept. Run the import again to continue.")
    with (
        exclusive_run(),
        room.refuse_when_full(settings.HOME_DIR, nothing),
        Copies() as copies,
    ):  # until all is compared
        made = plan.build_plan(params, progress, copies)
        _check(made, params)
        reconcile(str(made.root))
        todo = _todo(made, params)
        mendable = [one for one in made.store if one.repair and one.repair != losses.IMPORT_AGAIN]
        if not todo and not mendable and not recovery.is_needed(made):
            sentence = _("Nothing to do. %(state)s") % {"state": plan.describe_plan(made)}
            return _receipt(made, None, sentence, {})
        return _recorded(made, todo, mendable, params, progress)


def exclusive_run() -> AbstractContextManager[None]:
    """One doctor at a time in a home. Raises Refused while another one is at work."""
    return locks.exclusive_lock(locks.DOCTOR, _("Another check or repair is running. Wait until it has ended."))


def _check(made: Plan, params):
    for finding in made.store:
        if finding.check in ("integrity", "schema", "registry") and not finding.repair:
            raise Refused(finding.sentence)
    if made.problem and params.get("source"):
        raise Refused(made.problem)
    takes = params.get("sources", source_files.KEEP) != source_files.KEEP
    if takes and (signs := _signs_of_life(made, params)):
        reasons = [{"id": GATEWAY_REASON, "reason": sign} for sign in signs]
        sentence = _("OpenClaw seems to be running: %(why)s. Stop OpenClaw, then try again. Nothing was changed.")
        raise Refused(sentence % {"why": signs[0]}, reasons=reasons)


def _signs_of_life(made, params):
    return [] if params.get("force") else gateway.find_signs_of_life(made.root, made.sources)


def _todo(made, params):
    """Sources to import or to write down, and those that are to go."""
    known = migration_runs.find_imported(str(made.root))
    goes = params.get("sources", source_files.KEEP) != source_files.KEEP
    partly = migration_runs.find_partly_imported(str(made.root)) if goes else set()
    found = []
    for source in made.sources:
        is_noted = known.get((source.name, source.target)) == (_mtime(source), source.size)
        if source.state == LEFT:
            continue
        if source.is_to_read or not is_noted or (goes and _may_go(made, source, partly)):
            found.append(source)
    return found


def _may_go(made, source, partly):
    """Whether a file that was imported before could be taken away now: one that stayed once stays as long as it is."""
    is_movable = source.kind in LEGACY and source.kind != LEFTOVER
    return is_movable and source.name not in partly and import_verification.is_fully_imported(made.collection, source)


def _mtime(source):
    return min(source.stat.st_mtime_ns, 2**63 - 1)


def _recorded(made, todo, mendable, params, progress):
    row = migration_runs.begin_run(root=str(made.root), by=params.get("by", ""), before=_sessions())
    facts: dict[str, Any] = {"plan": plan.as_receipt(made), "run": row.id}
    sentence = _("Stopped by an unexpected error. See the server log.")
    ended = None
    try:
        ended = _work(row, made, todo, mendable, params, progress, facts)
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
        if ended is None:
            with suppress(OperationalError):  # a full disk: the next run finds the row and says that it was broken off
                facts["sessions"] = _brought_in(row, made)
                migration_runs.finish_run(row, Status.FAILED, sentence, facts)
    return _receipt(made, row.id, ended, facts)


def _work(row, made, todo, mendable, params, progress, facts):
    mode = params.get("sources", source_files.KEEP)
    # A backup looks for agents' files where the registry says; where that is can always be told from their names.
    first = [finding for finding in mendable if finding.check == "registry_row"]
    facts["repairs"] = [_mended(finding, progress) for finding in first]
    recovery.import_lost_agents(made, params, progress, facts)
    progress.log(_("Creating a backup"))
    backup = backups.create({"by": params.get("by", "")}, progress)
    facts["backup"] = {name: backup[name] for name in ("id", "path", "sha256", "bytes", "status")}
    progress.log(backup["message"])
    migration_runs.store_report(row, facts)
    hashes = _hashes(made, todo)
    going = [source for source in todo if source.kind in LEGACY and source.kind != LEFTOVER] if mode != "keep" else []
    if going:
        names = [source.name for source in going]
        packed = source_files.pack(made.root, names, backup_runs.get_backup_folder(), row.id)
        facts["source_archive"] = packed.as_json()
        facts["stayed"] = [{"path": name, "reason": reason} for name, reason in packed.left.items()]
        going = [source for source in going if source.name in packed.files]
        migration_runs.store_report(row, facts)
    # Sums come last: made from records of which some are lost, they would be wrong again, and turns get other numbers.
    last = [finding for finding in mendable if finding.repair == integrity_checks.LAST]
    facts["repairs"] += [_mended(finding, progress) for finding in mendable if finding not in (*first, *last)]
    if todo or recovery.is_needed(made):
        _import(row, made, todo, going, hashes, params, progress, facts)
    facts["repairs"] += [_mended(finding, progress) for finding in last]
    warnings = len(facts.get("warnings", [])) + sum(not one["is_done"] for one in facts["repairs"])
    warnings += facts.get("loss_count", 0)
    message = _message(facts, warnings)
    migration_runs.finish_run(row, Status.WARNING if warnings else Status.COMPLETED, message, facts)
    audit.record(params.get("by", ""), "doctor_fixed", object_type="migration_run", object_id=row.id, warnings=warnings)
    return message


def _message(facts, warnings):
    counts = {"sources": facts.get("imported", 0), "new sessions": sum(map(len, facts.get("sessions", {}).values()))}
    counts |= {"rejected lines": facts.get("collected", {}).get("rejected", 0)}
    counts |= {"repairs": sum(one["is_done"] for one in facts["repairs"]), "warnings": warnings}
    told = {name.replace(" ", "_"): amounts.format_amount(name, count) for name, count in counts.items()}
    words = _("%(sources)s imported, %(new_sessions)s, %(rejected_lines)s, %(repairs)s, %(warnings)s.")
    lacks = _(" The backup created before the import is incomplete.") if facts["backup"]["status"] == INCOMPLETE else ""
    return words % told + _losses(facts) + lacks


def _losses(facts):
    if "read_again" not in facts:
        return ""
    counts = {"again": f"{facts['read_again']['records']:,}", "lost": f"{facts['lost_records']:,}"}
    return " " + _("Lost records restored: %(again)s. Still lost: %(lost)s.") % counts


def _mended(finding, progress):
    try:
        sentence = repairs.repair_finding(finding)
    except (Refused, databases.UnusableAgent) as exc:
        return {"check": finding.check, "agent": finding.agent, "is_done": False, "sentence": str(exc)}
    progress.log(sentence)
    return {"check": finding.check, "agent": finding.agent, "is_done": True, "sentence": sentence}


def _hashes(made, todo):
    """The hash of each source before it is imported; empty for one that cannot be read."""
    hashes = {}
    for source in todo:
        folder = made.root if source.file.is_relative_to(made.root) else source.file.parent
        try:
            hashes[source.name] = import_preview.hash_source(folder, source.file)
        except NotReadable as exc:
            source.problem, hashes[source.name] = str(exc), ""
    return hashes


def _import(row, made, todo, going, hashes, params, progress, facts):
    if todo:
        collected = collect.run({name: params[name] for name in IMPORT_PARAMS if params.get(name)}, progress)
        facts["collected"] = {name: collected[name] for name in ("records", "rejected", "agents", "schedules", "notes")}
    if recovery.is_needed(made):
        recovery.import_lost_records(made, params, progress, facts)
    facts["sessions"] = _brought_in(row, made)
    progress.log(_("Comparing the store with the sources"))
    made.collection.book = SourceBook(made.root)
    apart = _kept_out(made)
    saved = [_row(made, source, row, hashes, apart) for source in todo]
    migration_runs.save_sources(saved)
    facts["imported"] = sum(one.status == MigrationSource.Status.IMPORTED for one in saved)
    facts["warnings"] = [
        {"path": one.source_path, "reason": one.report["problem"]}
        for one in saved
        if one.status == MigrationSource.Status.WARNING
    ]
    if going:
        _take_away(row, made, {one.source_path: one for one in saved}, going, params, facts)


def _kept_out(made):
    """Sessions by agent that are not in the store on purpose: undone, or removed because of their age."""
    ignored = made.collection.ignored
    agents = made.names.values()
    return {
        agent: removal.read_all_removed_ids(databases.get_alias(agent))
        | holdings.read_removed(agent).keys()
        | ignored.get(agent, frozenset())
        for agent in agents
    }


def _row(made, source: Source, run, hashes, apart):
    problem = import_verification.problem_of(made.collection, source, apart)
    digest = hashes[source.name]
    report: dict[str, Any] = {"problem": problem, "rejected": source.rejected, "version": source.version}
    if source.skipped_tables is not None:
        report["skipped_tables"] = source.skipped_tables
    size = source.size if source.file.exists() else source.stat.st_size
    root, status = str(made.root), MigrationSource.Status
    return MigrationSource(
        source_key=migration_runs.compute_source_key(root, source.name, _mtime(source), size, digest, source.target),
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
        mtime_ns=_mtime(source),
    )


def _take_away(row, made, saved, going, params, facts):
    """Move or remove what was imported whole; the rest stays where it is, with the reason in the receipt."""
    mode, signs = params["sources"], _signs_of_life(made, params)  # it may have been started since the plan
    folder = backup_runs.get_backup_folder() / f"openclaw-sources-{row.id}"
    facts["removed"] = []
    for source in going:
        one = saved[source.name]
        try:
            if signs:
                raise Refused(_("OpenClaw was started in the meantime: %(why)s.") % {"why": signs[0]})
            if one.status != MigrationSource.Status.IMPORTED:
                raise Refused(_("The file was not imported."))
            if not import_verification.is_fully_imported(made.collection, source):
                raise Refused(_("Not every line of the file is stored as a record."))
            migration_runs.note_leaving(one, mode)
            to = folder / source.name if mode == source_files.ARCHIVE else None
            source_files.remove_file(made.root, source.name, one.source_sha256, to=to)
            migration_runs.note_removed(one.source_key)
            facts["removed"].append(source.name)
        except Refused as refused:
            facts["stayed"].append({"path": source.name, "reason": str(refused.sentence)})
    if mode == source_files.ARCHIVE and facts["removed"]:
        facts["archive_folder"] = str(folder)


def reconcile(root: str) -> None:
    """Write down sources that a run took away before it was broken off."""
    leaving = MigrationSource.objects.filter(root=root, removed_source=False, report_json__contains='"leaving"')
    for one in leaving.iterator():
        if not Path(root, one.source_path).exists():
            migration_runs.note_removed(one.source_key)


def _sessions():
    """The ids of all sessions that are in the home by agent, also of files that a repair has to make usable first."""
    return {name: inspection.read_session_ids(file) for name, file in own_store.find_agent_files()}


def _brought_in(row, made):
    """Sessions by agent of this home that are there now and were not before."""
    before = MigrationRun.before.decode_strictly(MigrationRun.objects.get(id=row.id).before_json)
    now = _sessions()
    agents = set(made.names.values())
    new = {agent: sorted(set(now[agent]).difference(before.get(agent, ()))) for agent in agents & now.keys()}
    return {agent: ids for agent, ids in sorted(new.items()) if ids}


def _receipt(made, run_id, message, facts):
    done = None
    if run_id:
        done = report.EMPTY_RUN | {name: facts[name] for name in report.EMPTY_RUN if name in facts} | {"id": run_id}
        done["sessions"] = {agent: len(ids) for agent, ids in facts.get("sessions", {}).items()}
        done["records"] = facts.get("collected", {}).get("records", 0)
        done["rejected"] = facts.get("collected", {}).get("rejected", 0)
    before = facts.get("plan") or plan.as_receipt(made)
    return before | {"verb": "fix", "message": message, "run": done}


def _take_back(params):
    with suppress(Refused), exclusive_run():  # another doctor that is at work does the same
        migration_runs.end_interrupted_runs()
        backups.clean_up({})


JOB = job_kinds.Kind(
    run=run,
    label=gettext_lazy("Doctor: import and repair"),
    started=gettext_lazy("started an import and repair"),
    kept=gettext_lazy("Repairs and imports finished so far are kept; run the repair again to continue."),
    undo=_take_back,
    done=report.in_words,
    page="operations:doctor",
)
