"""Output of `openclaw-web doctor`: one receipt for all its verbs, and its text."""

from collections import Counter
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web import amounts
from openclaw_web.amounts import format_plural
from openclaw_web.pages.formatting import listed, size

SCHEMA = "openclaw-web.doctor.v1"
SHOWN = 20
# The results of a run of --fix or --undo.
EMPTY_RUN: dict[str, Any] = {
    "id": "",
    "backup": None,
    "source_archive": None,
    "archive_folder": None,
    "repairs": [],
    "imported": 0,
    "records": 0,
    "rejected": 0,
    "sessions": {},
    "warnings": [],
    "removed": [],
    "stayed": [],
    "ignored": 0,
    "let_in": 0,
    "refilled": [],
    "read_again": None,
    "losses": [],
    "loss_count": 0,
    "lost_records": 0,
    "backups": [],
    "rows": [],
    "row_count": 0,
}
# The parts of a receipt besides `verb`, `message` and `run`.
EMPTY_PLAN: dict[str, Any] = {
    "source": None,
    "agents": [],
    "sources": [],
    "source_count": 0,
    "to_read": 0,
    "rejected": [],
    "rejected_count": 0,
    "files": None,
    "skipped": [],
    "skipped_count": 0,
    "store": [],
    "compared": None,
    "losses": [],
    "loss_count": 0,
    "lost_records": 0,
    "ignored": [],
    "ignored_count": 0,
    "rows": [],
    "row_count": 0,
    "findings": 0,
}


def is_incomplete(run: dict[str, Any]) -> bool:
    """Whether a run did not complete everything."""
    is_undone = any(not repair["is_done"] for repair in run["repairs"])
    return bool(run["warnings"] or run["losses"] or run.get("rows") or is_undone)


def in_words(result: dict[str, Any]) -> str:
    """The receipt as text for a terminal."""
    lines = [
        *_format_source(result),
        *_format_rejected(result),
        *_format_skipped(result),
        *_format_excluded(result),
        *_format_findings(result),
        *_format_run(result),
    ]
    return "\n".join([*lines, result["message"]])


def _format_source(result):
    source = result["source"]
    if source is None:
        return
    if source["problem"]:
        yield source["problem"]
        return
    words = {"root": source["root"], "layout": source["layout"], "size": size(source["bytes"])}
    yield _("%(root)s (%(layout)s), %(size)s") % words
    for agent in result["agents"]:
        states = listed(f"{count} {state}" for state, count in agent["sources"].items() if count)
        words = {"agent": agent["agent"], "layout": agent["layout"], "states": states or "0"}
        words["records"] = amounts.format_amount("new records", agent["records"])
        sentence = _("  %(agent)s (%(layout)s): sources %(states)s; %(records)s") % words
        yield "; ".join(filter(None, [sentence, listed(agent["versions"])]))
    for note in source["notes"]:
        yield f"  {note}"


def _format_rejected(result):
    for line in result["rejected"][:SHOWN]:
        yield _("  will be rejected: %(file)s at %(offset)s, %(reason)s %(detail)s") % line
    if result["rejected_count"] > SHOWN:
        yield _("  and %(count)s more in the JSON output") % {"count": result["rejected_count"] - SHOWN}


def _format_skipped(result):
    why = Counter((item["why"], bool(item["table"])) for item in result["skipped"])
    for (reason, is_table), count in sorted(why.items()):
        noun = _("tables") if is_table else _("files and folders")
        yield _("  skipped: %(count)s %(what)s (%(reason)s)") % {"count": count, "what": noun, "reason": reason}


def _format_excluded(result):
    if result["ignored_count"]:
        count = result["ignored_count"]
        yield format_plural(
            "  excluded: %(count)s session of an undone import, named in the JSON output",
            "  excluded: %(count)s sessions of undone imports, named in the JSON output",
            count,
        )


def _format_findings(result):
    for finding in result["store"]:
        mark = "!" if finding["level"] == "finding" else "-"
        yield f"  {mark} {finding['sentence']}" + (_(" This can be repaired.") if finding["is_repairable"] else "")


def _format_run(result):
    run = result["run"]
    if run is None:
        return
    if run["backup"]:
        yield _("Backup: %(path)s") % run["backup"]
    if run["source_archive"]:
        yield _("Archive of source files: %(path)s") % run["source_archive"]
    for entry in run["repairs"]:
        yield ("  " if entry["is_done"] else "  ! ") + entry["sentence"]
    for entry in run["warnings"][:SHOWN]:
        yield f"  ! {entry['path']}: {entry['reason']}"
    yield from _format_losses(run)
    for entry in run["stayed"][:SHOWN]:
        yield _("  kept: %(path)s: %(reason)s") % entry
    if run["removed"]:
        count = len(run["removed"])
        yield format_plural(
            "  %(count)s source file was moved or removed.", "  %(count)s source files were moved or removed.", count
        )
    if result["verb"] == "fix" and run["id"]:
        yield _("Receipt: %(id)s. To undo this run: openclaw-web doctor --undo %(id)s") % run
    if result["verb"] == "undo" and run["ignored"]:
        yield _("To allow these sessions again: openclaw-web doctor --unignore %(id)s") % run


def _format_losses(run):
    if run["read_again"]:
        words = {"records": f"{run['read_again']['records']:,}"}
        words["sessions"] = amounts.format_amount("sessions", run["read_again"]["sessions"])
        yield _("  imported again: %(sessions)s; records restored: %(records)s") % words
    for entry in run["losses"][:SHOWN]:
        yield _("  ! still lost: %(what)s") % {"what": loss_words(entry)}
    if run["loss_count"] > SHOWN:
        yield _("  and %(count)s more in the JSON output") % {"count": run["loss_count"] - SHOWN}
    for entry in run["backups"]:
        words = entry | {"records": f"{entry['records']:,}", "agents": listed(entry["agents"])}
        yield (
            _(
                "  A backup contains %(records)s of them (%(agents)s): %(command)s\n    This command restores the"
                " whole home to the time of the backup and keeps the current home beside it."
            )
            % words
        )


def loss_words(loss: dict[str, Any]) -> str:
    """One loss of a receipt in words, with the place where it can be recovered."""
    words = loss | {
        "missing": f"{loss['missing']:,}",
        "different": f"{loss['different']:,}",
        "noted": f"{loss['noted']:,}",
    }
    place = _("%(agent)s/%(session_id)s: ") % words
    if loss["missing"]:
        place += _("%(kind)s: %(missing)s of %(noted)s missing") % words
    if loss["different"]:
        place += (", " if loss["missing"] else "") + _(
            "%(kind)s: %(different)s of %(noted)s different from the source"
        ) % words
    where = (
        _("in the backup %(where)s") % words if loss["where"] else _("in no source and in none of the latest backups")
    )
    return f"{place} ({where})" if loss["missing"] else place
