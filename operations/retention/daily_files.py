"""Exports conversations as daily JSON Lines files: `exports/conversations-YYYY-MM-DD.jsonl`.

Every day of the window is computed again from the store, and written only when it differs: late records, removals and
opt-outs are then right in all files.
"""

import filecmp
import os
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.kinds import BY_SCHEDULE, DAY_MS, Kind, Schedule, as_json
from ledger import consent
from ledger.models import ConversationTurn, Session
from openclaw_web import clock
from openclaw_web.disk import room
from openclaw_web.disk.drafts import create_draft, remove_drafts, sync_folder
from openclaw_web.errors import Refused
from openclaw_web.sqlite.json_columns import decode
from people.audit import log as audit
from people.configuration import setting_values as configuration

from . import session_selection

KEEP = "jsonlExport.retentionDays"
NAME = re.compile(r"conversations-(\d{4}-\d{2}-\d{2})\.jsonl", re.ASCII)
COLUMNS = (
    *("id", "session_id", "turn_number", "user_message_id", "user_message_content", "user_from", "user_metadata"),
    *("agent_message_id", "agent_message_content", "agent_metadata", "created_at"),
)
PAGE = 500


def run(params: dict[str, Any], progress: Any) -> dict[str, Any]:
    """Write the files of past days and remove older files; returns the counts.

    `params` may hold `by`. Raises Refused when the disk is full; every file is then the previous one or a complete new
    one.
    """
    today = clock.day_of(clock.now_ms())
    keep = configuration.get_number(KEEP)
    days = [today - timedelta(days=back) for back in range(keep, 0, -1)]
    folder = settings.HOME_DIR / "exports"
    done = {"files": 0, "written": 0, "turns": 0, "removed": 0}
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with room.refuse_when_full(folder, _("Every file is whole: either the previous version or the new one.")):
        is_complete = False
        try:
            _export(folder, days, done, progress)
            is_complete = True
        finally:
            if (
                is_complete or done["written"] or done["removed"]
            ):  # also after an interruption: files already written are kept
                audit.record(params.get("by", ""), "conversations_exported", object_type="export", **done)
    progress.update(len(days), len(days))
    texts = {name: f"{number:,}" for name, number in done.items()}
    message = _("Files: %(files)s, with turns: %(turns)s. Written: %(written)s. Old files removed: %(removed)s.")
    return {"message": message % texts, **done}


def _export(folder, days, done, progress):
    with create_draft(folder / "conversations") as draft:
        stores = session_selection.find_databases()
        for number, day in enumerate(days):
            progress.update(number, len(days), str(day))
            _write_day(folder / f"conversations-{day}.jsonl", draft / "day", stores, day, done)
        done["removed"] = _prune(folder, days[0])
        sync_folder(folder)


def _write_day(path: Path, draft: Path, stores, day: date, done):
    count = 0
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        for agent_id, db in stores.items():
            for turn in turns(agent_id, db, day):
                file.write(orjson.dumps(turn, option=orjson.OPT_APPEND_NEWLINE))
                count += 1
        file.flush()
        os.fsync(file.fileno())
    if path.is_dir() and not path.is_symlink():
        raise Refused(
            _("%(path)s is a folder where a file has to be written. Move the folder elsewhere.") % {"path": path}
        )
    if not count:  # a day without turns has no file
        path.unlink(missing_ok=True)
        return
    done["files"], done["turns"] = done["files"] + 1, done["turns"] + count
    is_same = path.is_file() and not path.is_symlink() and filecmp.cmp(path, draft, shallow=False)
    if not is_same:
        draft.replace(path)
        done["written"] += 1


def turns(agent_id: str, db: str, day: date) -> Iterator[dict[str, Any]]:
    """The turns of an agent on a UTC day as the Reflection spec's ConversationTurn.

    Turns of people who opted out are left out.
    """
    start = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
    last = (start, "")
    rows = ConversationTurn.objects.using(db).active().filter(created_at__lt=start + 86_400_000)
    while page := list(_filter_after(rows, last)[:PAGE].values(*COLUMNS)):
        last = (page[-1]["created_at"], page[-1]["id"])
        sessions = Session.objects.using(db).in_bulk({turn["session_id"] for turn in page})
        hidden = consent.find_withheld_keys(db, [turn["id"] for turn in page])
        for turn in page:
            session = sessions.get(turn["session_id"])
            if session and turn["id"] not in hidden:
                yield {
                    "id": turn["id"],
                    "agentId": agent_id,
                    "sessionId": turn["session_id"],
                    "channelId": session.channel_id,
                    "turnNumber": turn["turn_number"],
                    "userMessage": _message(turn, "user_message")
                    | {"from": turn["user_from"], **_metadata_to_json(turn["user_metadata"])},
                    "agentReply": _message(turn, "agent_message") | _metadata_to_json(turn["agent_metadata"]),
                    "createdAt": turn["created_at"],
                }


def _filter_after(rows, last):
    moment, turn_id = last
    later = rows.filter(created_at__gte=moment).order_by("created_at", "id")
    return later.exclude(created_at=moment, id__lte=turn_id) if turn_id else later


def _message(turn, name):
    return {"id": turn[f"{name}_id"], "content": turn[f"{name}_content"]}


def _metadata_to_json(text):
    return {"metadata": decode(text)} if text else {}


def _prune(folder, first):
    old = [path for path in folder.glob("conversations-*.jsonl") if _is_ours(path) and _parse_day(path) < first]
    for path in old:
        path.unlink()
    return len(old)


def _is_ours(path):
    return _parse_day(path) is not None and (path.is_symlink() or path.is_file())


def _parse_day(path):
    """The day in the name of a daily file; None for other files."""
    match = NAME.fullmatch(path.name)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def _clean_up(params):
    remove_drafts(settings.HOME_DIR / "exports" / "conversations")


JOB = Kind(
    run=run,
    label=gettext_lazy("Daily files"),
    audit_text=gettext_lazy("started to write conversations to files"),
    cancel_text=gettext_lazy("Files already written are kept, each of them whole."),
    undo=_clean_up,
    describe_result=as_json,
    schedule=Schedule(
        "jsonlExport.enabled",
        DAY_MS,
        lambda: {"by": BY_SCHEDULE},
        is_switch=True,
        time_setting="jsonlExport.schedule",
    ),
)
