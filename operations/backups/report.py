"""Output of `openclaw-web backup`: receipts and their text."""

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
    """The receipt and the text of a backup that was created, verified or tested."""
    result = job.result
    backup = {name: result[name] for name in ("id", "status", "path", "bytes", "sha256", "created_at")}
    backup |= {name: result[name] for name in ("verified_at", "proven_at", "proven_ms", "made_by", "sentence")}
    facts = NO_FACTS | {"verb": verb, "backup": backup, "message": result["message"]}
    facts |= {name: result[name] for name in ("damaged", "missing", "removed") if name in result}
    lines = [result["message"], *(_("Removed %(path)s") % {"path": path} for path in facts["removed"])]
    return facts, "\n".join(lines)


def build_list_receipt(backups: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """The receipt and the text of the list of backups, newest first."""
    lines = [_format_line(backup) for backup in backups] or [
        _("No backups yet. Create a backup: openclaw-web backup create")
    ]
    return NO_FACTS | {"verb": "list", "backups": backups}, "\n".join(lines)


def build_restore_receipt(result: RestoreResult) -> tuple[dict[str, Any], str]:
    """The receipt and the text of a restored home."""
    words = {
        "home": result.home,
        "agents": amounts.format_amount("agents", len(result.facts["agents"])),
        "users": amounts.format_amount("users", result.facts["users"]),
        "version": result.manifest.app_version,
        "made": str(to_datetime(result.manifest.created_at))[:19],
    }
    sentence = _("%(home)s is restored to its state of %(made)s UTC: %(agents)s, %(users)s (version %(version)s).")
    message = sentence % words
    lines = [message, _("Everybody has to sign in again. Tokens remain valid.")]
    if result.lacks:
        lines.append(_("The backup was incomplete, and so is the restored home.") + f" {result.lacks}")
    if result.old_home:
        lines.append(_("The previous home is kept: %(path)s") % {"path": result.old_home})
    backup = {"id": result.manifest.id, "created_at": result.manifest.created_at, "path": str(result.path)}
    places = {"home": str(result.home), "kept": str(result.old_home) if result.old_home else None}
    return NO_FACTS | {"verb": "restore", "backup": backup, "message": message} | places, "\n".join(lines)


def _format_line(backup):
    when = str(to_datetime(backup["created_at"]))[:19]
    proven = str(to_datetime(backup["proven_at"]))[:10] if backup["proven_at"] else _("never restored")
    columns = (when, f"{backup['status']:<9} {size(backup['bytes']):>10}", f"{proven:<14}")
    return "  ".join((*columns, backup["path"] or backup["sentence"]))
