"""Jobs of retention: remove old sessions, or archive them first.

Each session is handled separately, so a job can stop at any time.
"""

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
from ledger.models import RemovedSession
from ledger.transcripts import removal, session_rows
from openclaw_web import amounts, clock, reasons
from openclaw_web.amounts import format_plural
from openclaw_web.disk import publication, reserve, room
from openclaw_web.disk.drafts import create_draft, remove_drafts
from openclaw_web.errors import Refused
from openclaw_web.sqlite import connection_tuning
from overview import summaries
from people.audit import log as audit
from people.configuration import setting_values as configuration

from . import archive_files, report, session_selection
from .session_selection import OldSessionCounts

DAYS_SETTING, JOB_KINDS = "retentionDays", ("retention", "archive")
CANNOT_GO = (removal.NotRemoved, NoSuchArtifact, DamagedArtifact, archive_files.WrongArchive, session_rows.WrongRow)
NOTHING_LOST = gettext_lazy("Sessions without an archive are kept.")
NAMED = 100  # sessions that a receipt names


@dataclass(slots=True)
class Work:
    """A run in progress. `into` is None when nothing is archived."""

    before: int  # milliseconds: sessions with activity at that time or later are not old
    progress: Any
    total: int = 0
    into: Path | None = None
    counts_by_agent: dict[str, OldSessionCounts] = field(default_factory=dict)
    failed: list[dict[str, str]] = field(default_factory=list)
    bytes: int = 0
    is_short: bool = False  # the disk is nearly full

    def sums(self) -> dict[str, int]:
        """The sums over all agents."""
        names = ("sessions", "records", "turns")
        return {name: sum(getattr(counts, name) for counts in self.counts_by_agent.values()) for name in names}


def get_archive_folder() -> Path:
    """The default folder of archives."""
    return settings.HOME_DIR / "archive"


def remove_sessions(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Remove sessions without activity for `params["days"]` days (default: the setting); returns the receipt.

    With `dry_run` sessions are only counted. `agent` names one agent (default: all), `by` is the user. Raises Refused
    without a number of days.
    """
    days = params.get("days") or configuration.get_number(DAYS_SETTING)
    if not days:
        raise Refused(_("Set an age with --days N, or with the setting retentionDays."))
    work = Work(before=session_selection.days_ago(days), progress=progress)
    return {"days": days, "out": None} | _run(work, params)


def archive_sessions(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Archive sessions without activity since `params["before"]` (milliseconds), then remove them.

    `out` is the folder (default: `archive` in the home); `agent`, `by` and `dry_run` are as for `remove_sessions`. A
    session that cannot be read completely is kept. Raises Refused when the disk is full; sessions without an archive
    are then kept.
    """
    out = _get_target_folder(params)
    if out.resolve().is_relative_to(settings.STATE_DIR.resolve()):
        raise Refused(
            _("%(path)s is in the OpenClaw folder, which is never changed. Choose another folder.") % {"path": out}
        )
    if params["before"] > clock.now_ms() - session_selection.DAY_MS:
        raise Refused(_("Only sessions older than a day can be archived."))
    work = Work(before=params["before"], progress=progress, into=out)
    return {"days": None, "out": str(out)} | _run(work, params)


def _get_target_folder(params):
    return Path(params["out"]) if params.get("out") else get_archive_folder()


def _run(work, params):
    stores = session_selection.find_databases(params.get("agent"))
    is_dry_run = bool(params.get("dry_run"))
    full = room.refuse_when_full(settings.HOME_DIR, _("Sessions not yet removed are kept."))
    with full, nullcontext() if is_dry_run else collect.exclusive_run(work.progress):
        if not is_dry_run:
            reserve.release(settings.HOME_DIR)
        work.counts_by_agent = {agent_id: _count_agent(work, agent_id, db) for agent_id, db in stores.items()}
        work.total = work.sums()["sessions"]
        if not is_dry_run:
            work.progress.log(_build_message(work, is_dry_run=True))  # every run logs the preview first
            work.counts_by_agent = {
                agent_id: OldSessionCounts(kept_counts=counts.kept_counts)
                for agent_id, counts in work.counts_by_agent.items()
            }
            _remove_all(work, stores, params.get("by", ""))
    return _build_receipt(work, is_dry_run)


def _count_agent(work, agent_id, db):
    work.progress.update(0, None, _("Counting old sessions of %(agent)s") % {"agent": agent_id})
    return session_selection.count_old_sessions(agent_id, db, work.before)


def _remove_all(work, stores, by):
    try:
        with _create_draft_folder(work.into) as draft:
            for agent_id, db in stores.items():
                _remove_from_agent(work, agent_id, db, draft)
    finally:
        if work.sums()["sessions"]:
            action = "sessions_archived" if work.into else "sessions_removed"
            audit.record(by, action, object_type="session", before=str(_to_day(work.before)), **work.sums())


@contextmanager
def _create_draft_folder(out):
    """Create a folder for unfinished archives, or None without archiving.

    The folder of a killed run is removed.
    """
    if out is None:
        yield None
        return
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        words = {"path": out, "reason": reasons.describe_os_error(exc)}
        raise Refused(_("Archives cannot be written to %(path)s: %(reason)s.") % words) from exc
    with room.refuse_when_full(out, str(NOTHING_LOST)), create_draft(out / "archive") as draft:
        publication.restrict(draft, 0o700)
        yield draft


def _remove_from_agent(work, agent_id, db, draft):
    full = room.refuse_when_full(databases.get_path(agent_id).parent, _("Sessions not yet removed are kept."))
    work.is_short = reserve.is_short(settings.HOME_DIR)
    connection_tuning.expect_little_room(db) if work.is_short else connection_tuning.expect_many_writes(db)
    try:
        with full:
            _remove_agent_sessions(work, agent_id, db, draft)
            removal.clean_up(db, little_room=work.is_short)
    finally:
        connection_tuning.expect_few_writes(db)
        summaries.refresh(Agent.objects.get(agent_id=agent_id))


def _remove_agent_sessions(work, agent_id, db, draft):
    counts = work.counts_by_agent[agent_id]
    for session, needed in session_selection.find_old_sessions(agent_id, db, work.before):
        if needed:
            continue
        try:
            _remove_session(work, agent_id, db, session, draft)
        except CANNOT_GO as refused:
            work.failed.append({"id": f"{agent_id}/{session.id}", "reason": str(refused.sentence)})
            continue
        counts.add(session)
        if work.is_short:
            connection_tuning.shorten_log(db)
        done = work.sums()["sessions"]
        work.progress.update(done, max(done, work.total), _("Removing sessions of %(agent)s") % {"agent": agent_id})


def _remove_session(work, agent_id, db, session, draft):
    facts: dict[str, Any] = {"why": RemovedSession.Why.RETENTION}
    if draft is not None:
        path, moment = draft / "session", session.last_activity_at
        with room.refuse_when_full(work.into, str(NOTHING_LOST)):
            path.unlink(missing_ok=True)
            written = archive_files.write_archive(path, db, session.id)
            if archive_files.verify_archive(path) != written:
                raise Refused(_("The archive read back differs from what was written. The session was not removed."))
            work.bytes += path.stat().st_size
            target = archive_files.publish_archive(
                path, work.into, written, last_activity_at=moment, month=_to_day(moment).strftime("%Y-%m")
            )
        home = settings.HOME_DIR
        facts = {
            "why": RemovedSession.Why.ARCHIVE,
            "archive": target.relative_to(home).as_posix() if target.is_relative_to(home) else str(target),
            "digest": written.rows_sha256,
        }

    def needed_by(session_id):
        needed = session_selection.find_evidence(agent_id, db, session_id)
        return str(session_selection.REASON_WORDS[needed]) if needed else ""

    removal.remove_session(db, session.id, before=work.before, needed_by=needed_by, **facts)
    holdings.note_removed(agent_id, [session.id], facts["why"])


def _to_day(moment):
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).date()
    except (OverflowError, ValueError, OSError):  # a time beyond the range of datetime
        return datetime(1970, 1, 1, tzinfo=UTC).date()


def _build_receipt(work, is_dry_run):
    kept_counts = sum((counts.kept_counts for counts in work.counts_by_agent.values()), Counter())
    return {
        "message": _build_message(work, is_dry_run=is_dry_run),
        "dry_run": is_dry_run,
        "before": str(_to_day(work.before)),
        **work.sums(),
        "kept": dict(sorted(kept_counts.items())),
        "bytes": work.bytes,
        "failed": work.failed[:NAMED],
        "failed_count": len(work.failed),
        "agents": {
            agent_id: {
                "sessions": counts.sessions,
                "records": counts.records,
                "turns": counts.turns,
                "oldest": str(_to_day(counts.oldest)) if counts.oldest else None,
                "kept": dict(sorted(counts.kept_counts.items())),
            }
            for agent_id, counts in work.counts_by_agent.items()
        },
    }


def _build_message(work, *, is_dry_run):
    kept_count = sum(counts.kept_counts.total() for counts in work.counts_by_agent.values()) + len(work.failed) * (
        not is_dry_run
    )
    sums = work.sums()
    texts = {name: amounts.format_amount(name, sums[name]) for name in ("sessions", "records")}
    texts["kept"] = format_plural("%(count)s is kept", "%(count)s are kept", kept_count)
    texts["day"] = str(_to_day(work.before))
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
    return words % texts


def _clean_up(params):
    remove_drafts(_get_target_folder(params) / "archive")


ARCHIVE_JOB = Kind(
    run=archive_sessions,
    label=gettext_lazy("Archive"),
    audit_text=gettext_lazy("started to archive old sessions"),
    cancel_text=gettext_lazy("Sessions already archived are in their archives; the others are kept."),
    undo=_clean_up,
    describe_result=report.in_words,
    page="operations:retention",
)
REMOVE_JOB = Kind(
    run=remove_sessions,
    label=gettext_lazy("Retention"),
    audit_text=gettext_lazy("started the removal of old sessions, or a preview"),
    cancel_text=gettext_lazy("Sessions already removed are not restored; the others are kept."),
    describe_result=report.in_words,
    page="operations:retention",
    schedule=Schedule(DAYS_SETTING, DAY_MS, lambda: {"by": BY_SCHEDULE}, is_switch=True),
)
