"""What `openclaw-web backup` prints: receipts, and the same in words."""

from typing import Any

from django.utils.translation import gettext as _

from jobs.models import JobRun
from openclaw_web import amounts
from openclaw_web.pages.formatting import size, to_datetime

from .home_restore import RestoreResult

SCHEMA = "openclaw-web.backup.v1"
MAX_LISTED = 1_000
NO_FACTS = {
    "backup": None,
    "backups": [],
    "message": "",
    "damaged": [],
    "missing": [],
    "removed": [],
    "home": None,
    "kept": None,
}


def build_job_receipt(verb: str, job: JobRun) -> tuple[dict[str, Any], str]:
    """The receipt of a backup that was made, verified or drilled, and its words."""
    result = job.result
    backup = {name: result[name] for name in ("id", "status", "path", "bytes", "sha256", "created_at")}
    backup |= {name: result[name] for name in ("verified_at", "proven_at", "proven_ms", "made_by", "sentence")}
    facts = NO_FACTS | {"verb": verb, "backup": backup, "message": result["message"]}
    facts |= {name: result[name] for name in ("damaged", "missing", "removed") if name in result}
    lines = [result["message"], *(_("Removed %(path)s") % {"path": path} for path in facts["removed"])]
    return facts, "\n".join(lines)


def build_list_receipt(backups: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """The receipt of the list, the newest first, and its words."""
    lines = [_line(backup) for backup in backups] or [_("No backups yet. Create a backup: openclaw-web backup create")]
    return NO_FACTS | {"verb": "list", "backups": backups}, "\n".join(lines)


def build_restore_receipt(done: RestoreResult) -> tuple[dict[str, Any], str]:
    """The receipt of a home that was put back, and its words."""
    words = {
        "home": done.home,
        "agents": amounts.format_amount("agents", len(done.facts["agents"])),
        "users": amounts.format_amount("users", done.facts["users"]),
        "version": done.manifest.app_version,
        "made": str(to_datetime(done.manifest.created_at))[:19],
    }
    sentence = _("%(home)s is restored to its state of %(made)s UTC: %(agents)s, %(users)s (version %(version)s).")
    message = sentence % words
    lines = [message, _("Everybody has to sign in again. Tokens remain valid.")]
    if done.lacks:
        lines.append(_("The backup was incomplete, and so is the restored home.") + f" {done.lacks}")
    if done.kept:
        lines.append(_("The previous home is kept: %(path)s") % {"path": done.kept})
    backup = {"id": done.manifest.id, "created_at": done.manifest.created_at, "path": str(done.path)}
    places = {"home": str(done.home), "kept": str(done.kept) if done.kept else None}
    return NO_FACTS | {"verb": "restore", "backup": backup, "message": message} | places, "\n".join(lines)


def _line(backup):
    when = str(to_datetime(backup["created_at"]))[:19]
    proven = str(to_datetime(backup["proven_at"]))[:10] if backup["proven_at"] else _("never restored")
    columns = (when, f"{backup['status']:<9} {size(backup['bytes']):>10}", f"{proven:<14}")
    return "  ".join((*columns, backup["path"] or backup["sentence"]))
