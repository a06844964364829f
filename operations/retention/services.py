"""The jobs: removing what is old, and archiving it first. Each is done session by session, so it can end anywhere."""

from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents import databases, holdings
from agents.models import Agent
from artifacts.errors import DamagedArtifact, NoSuchArtifact
from collecting import collect
from jobs.kinds import BY_SCHEDULE, DAY_MS, Kind, Schedule
from ledger.models import RemovedSession, Session
from ledger.transcripts import removal, session_rows
from openclaw_web import amounts, clock, reasons
from openclaw_web.disk import publication, reserve, room
from openclaw_web.disk.drafts import create_draft, remove_drafts
from openclaw_web.errors import Refused
from openclaw_web.sqlite import connection_tuning
from overview import summaries
from people.audit import log as audit
from people.configuration import setting_values as configuration

from . import archive_files, report, session_selection
from .session_selection import OldSessionCounts

SETTING, KINDS = "retentionDays", ("retention", "archive")
CANNOT_GO = (removal.NotRemoved, NoSuchArtifact, DamagedArtifact, archive_files.WrongArchive, session_rows.WrongRow)
NOTHING_LOST = gettext_lazy("Sessions without an archive are kept.")
NAMED = 100  # sessions that a receipt names


@dataclass(slots=True)
class Work:
    """A run under way. `into` is None when nothing is archived."""

    before: int  # milliseconds: what was active then or later is not old
    progress: Any
    total: int = 0
    into: Path | None = None
    found: dict[str, OldSessionCounts] = field(default_factory=dict)
    failed: list[dict[str, str]] = field(default_factory=list)
    bytes: int = 0
    is_short: bool = False  # the disk is nearly full

    def sums(self) -> dict[str, int]:
        """What the agents add up to."""
        names = ("sessions", "records", "turns")
        return {name: sum(getattr(found, name) for found in self.found.values()) for name in names}


def get_archive_folder() -> Path:
    """Where archives go when nobody says so."""
    return settings.HOME_DIR / "archive"


def remove_sessions(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Remove sessions without activity for `params["days"]` (default: the setting) days; the receipt.

    With `dry_run` it only counts. `agent` names one (default: all), `by` who asked. Raises Refused when nobody said how
    many days.
    """
    days = params.get("days") or configuration.get_number(SETTING)
    if not days:
        raise Refused(_("Set an age with --days N, or with the setting retentionDays."))
    work = Work(before=session_selection.days_ago(days), progress=progress)
    return {"days": days, "out": None} | _run(work, params)


def archive_sessions(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Write sessions without activity since `params["before"]` (milliseconds) into archives, then remove them.

    `out` is the folder (default: `archive` in the home), `agent`, `by` and `dry_run` as for `remove`. A session that
    cannot be read in full stays. Raises Refused when the disk is full; what is in no archive is still here then.
    """
    out = _out(params)
    if out.resolve().is_relative_to(settings.STATE_DIR.resolve()):
        raise Refused(
            _("%(path)s is in the OpenClaw folder, which is never changed. Choose another folder.") % {"path": out}
        )
    if params["before"] > clock.now_ms() - session_selection.DAY_MS:
        raise Refused(_("Only sessions older than a day can be archived."))
    work = Work(before=params["before"], progress=progress, into=out)
    return {"days": None, "out": str(out)} | _run(work, params)


def _out(params):
    return Path(params["out"]) if params.get("out") else get_archive_folder()


def _run(work, params):
    stores = session_selection.find_databases(params.get("agent"))
    is_dry_run = bool(params.get("dry_run"))
    full = room.refuse_when_full(settings.HOME_DIR, _("Sessions not yet removed are kept."))
    with full, nullcontext() if is_dry_run else collect.exclusive_run(work.progress):
        if not is_dry_run:
            reserve.release(settings.HOME_DIR)
        work.found = {agent_id: _counted(work, agent_id, db) for agent_id, db in stores.items()}
        work.total = work.sums()["sessions"]
        if not is_dry_run:
            work.progress.log(_in_words(work, is_dry_run=True))  # the dry run comes first, whoever started it
            work.found = {agent_id: OldSessionCounts(kept=found.kept) for agent_id, found in work.found.items()}
            _go(work, stores, params.get("by", ""))
    return _receipt(work, is_dry_run)


def _counted(work, agent_id, db):
    work.progress.update(0, None, _("Counting old sessions of %(agent)s") % {"agent": agent_id})
    return session_selection.count_old_sessions(agent_id, db, work.before)


def _go(work, stores, by):
    try:
        with _drafts(work.into) as draft:
            for agent_id, db in stores.items():
                _agent(work, agent_id, db, draft)
    finally:
        if work.sums()["sessions"]:
            action = "sessions_archived" if work.into else "sessions_removed"
            audit.record(by, action, object_type="session", before=str(_day(work.before)), **work.sums())


@contextmanager
def _drafts(out):
    """A folder for what is being written; one that a killed run left is removed. None when nothing is archived."""
    if out is None:
        yield None
        return
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        told = {"path": out, "reason": reasons.describe_os_error(exc)}
        raise Refused(_("Archives cannot be written to %(path)s: %(reason)s.") % told) from exc
    with room.refuse_when_full(out, str(NOTHING_LOST)), create_draft(out / "archive") as draft:
        publication.restrict(draft, 0o700)
        yield draft


def _agent(work, agent_id, db, draft):
    full = room.refuse_when_full(databases.get_path(agent_id).parent, _("Sessions not yet removed are kept."))
    work.is_short = reserve.is_short(settings.HOME_DIR)
    connection_tuning.expect_little_room(db) if work.is_short else connection_tuning.expect_many_writes(db)
    try:
        with full:
            _sessions(work, agent_id, db, draft)
            removal.clean_up(db, little_room=work.is_short)
    finally:
        connection_tuning.expect_few_writes(db)
        summaries.refresh(Agent.objects.get(agent_id=agent_id))


def _sessions(work, agent_id, db, draft):
    found = work.found[agent_id]
    for session, needed in session_selection.find_old_sessions(agent_id, db, work.before):
        if needed:
            continue
        try:
            _session(work, agent_id, db, session, draft)
        except CANNOT_GO as refused:
            work.failed.append({"id": f"{agent_id}/{session.id}", "reason": str(refused.sentence)})
            continue
        found.add(session)
        if work.is_short:
            connection_tuning.shorten_log(db)
        done = work.sums()["sessions"]
        work.progress.update(done, max(done, work.total), _("Removing sessions of %(agent)s") % {"agent": agent_id})


def _session(work, agent_id, db, session, draft):
    told: dict[str, Any] = {"why": RemovedSession.Why.RETENTION}
    if draft is not None:
        path, digest = _archived(work, db, session, draft)
        told = {"why": RemovedSession.Why.ARCHIVE, "archive": _name(path), "digest": digest}

    def needed_by(session_id):
        needed = session_selection.find_evidence(agent_id, db, session_id)
        return str(session_selection.REASON_WORDS[needed]) if needed else ""

    removal.remove_session(db, session.id, before=work.before, needed_by=needed_by, **told)
    holdings.note_removed(agent_id, [session.id], told["why"])


def _archived(work, db, session: Session, draft):
    """Write and read back the archive of a session; where it is, and the digest of its rows."""
    path, moment = draft / "session", session.last_activity_at
    with room.refuse_when_full(work.into, str(NOTHING_LOST)):
        path.unlink(missing_ok=True)
        written = archive_files.write_archive(path, db, session.id)
        if archive_files.verify_archive(path) != written:
            raise Refused(_("The archive read back differs from what was written. The session was not removed."))
        work.bytes += path.stat().st_size
        target = archive_files.publish_archive(
            path, work.into, written, last_activity_at=moment, month=_day(moment).strftime("%Y-%m")
        )
    return target, written.rows_sha256


def _name(path):
    home = settings.HOME_DIR
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)


def _day(moment):
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).date()
    except (OverflowError, ValueError, OSError):  # a time where no calendar of ours goes
        return datetime(1970, 1, 1, tzinfo=UTC).date()


def _receipt(work, is_dry_run):
    kept = sum((found.kept for found in work.found.values()), Counter())
    return {
        "message": _in_words(work, is_dry_run=is_dry_run),
        "dry_run": is_dry_run,
        "before": str(_day(work.before)),
        **work.sums(),
        "kept": dict(sorted(kept.items())),
        "bytes": work.bytes,
        "failed": work.failed[:NAMED],
        "failed_count": len(work.failed),
        "agents": {
            agent_id: {
                "sessions": found.sessions,
                "records": found.records,
                "turns": found.turns,
                "oldest": str(_day(found.oldest)) if found.oldest else None,
                "kept": dict(sorted(found.kept.items())),
            }
            for agent_id, found in work.found.items()
        },
    }


def _in_words(work, *, is_dry_run):
    kept = sum(found.kept.total() for found in work.found.values()) + len(work.failed) * (not is_dry_run)
    sums = work.sums()
    told = {name: amounts.format_amount(name, sums[name]) for name in ("sessions", "records")}
    told["kept"] = ngettext("%(count)s is kept", "%(count)s are kept", kept) % {"count": f"{kept:,}"}
    told["day"] = str(_day(work.before))
    if is_dry_run:
        words = _("%(sessions)s (%(records)s) last active before %(day)s can be removed, %(kept)s.")
    elif work.into:
        words = ngettext(
            "%(sessions)s (%(records)s) last active before %(day)s was archived and removed, %(kept)s.",
            "%(sessions)s (%(records)s) last active before %(day)s were archived and removed, %(kept)s.",
            sums["sessions"],
        )
    else:
        words = ngettext(
            "%(sessions)s (%(records)s) last active before %(day)s was removed, %(kept)s.",
            "%(sessions)s (%(records)s) last active before %(day)s were removed, %(kept)s.",
            sums["sessions"],
        )
    return words % told


def _take_back(params):
    remove_drafts(_out(params) / "archive")


ARCHIVE_JOB = Kind(
    run=archive_sessions,
    label=gettext_lazy("Archive"),
    started=gettext_lazy("started to archive old sessions"),
    kept=gettext_lazy("Sessions already archived are in their archives; the others are kept."),
    undo=_take_back,
    done=report.in_words,
    page="operations:retention",
)
REMOVE_JOB = Kind(
    run=remove_sessions,
    label=gettext_lazy("Retention"),
    started=gettext_lazy("started the removal of old sessions, or a preview"),
    kept=gettext_lazy("Sessions already removed are not restored; the others are kept."),
    done=report.in_words,
    page="operations:retention",
    every=Schedule(SETTING, DAY_MS, lambda: {"by": BY_SCHEDULE}, is_switch=True),
)
