"""Versions that somebody wrote while a rollback was carried out.

They are kept, are not in the file, and wait for a person.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from people.audit import log as audit_log

from ..models import FileSnapshot, RollbackIntent, WriteGuardianAudit
from ..services import bytes_to_text, read_version_bytes, text_to_bytes
from ..standing import effects
from ..standing.effects import EffectNotice
from . import intent_store, rollback_plan, service, workspace
from .apply import FileChanged
from .merge import put_in
from .rollback_preview import Comparison, compare_contents
from .service import RollbackRequest


@dataclass(frozen=True, slots=True)
class ConcurrentEdit:
    """Such a version, and the change of the file when it is put in.

    `seen` is the hash of what the file holds. `added` is the change when only what somebody wrote meanwhile is put into
    the file, and not what the file held before; None where that is the same, or where it is not clear which lines these
    are.
    """

    version: FileSnapshot
    audit_id: str
    change: Comparison | None  # None: what the file holds cannot be read now
    added: Comparison | None
    seen: str
    effect: EffectNotice | None = None  # of putting the version, or what was added, into the file


def find_unsettled(db: str):
    """Return the rollbacks with versions that wait for a person, the newest first."""
    rows = RollbackIntent.objects.using(db).filter(settled_at=None, ended_at__isnull=False)
    return rows.exclude(meanwhile_json="[]").order_by("-ended_at")


def find_unsettled_write(db: str) -> str | None:
    """Return the id of the write whose page asks about the newest such versions.

    None when nothing waits.
    """
    row = find_unsettled(db).first()
    ids = row.audits if row else []
    return WriteGuardianAudit.objects.using(db).filter(id__in=ids).values_list("id", flat=True).first()


def find_by_write(agent: Agent, audit_id: str) -> list[ConcurrentEdit]:
    """Return the waiting versions of the rollbacks of one write."""
    rows = [row for row in find_unsettled(agent.db) if audit_id in row.audits]
    return [edit for row in rows for edit in _build_edits(agent, row, audit_id)]


def _build_edits(agent, row, audit_id) -> Iterator[ConcurrentEdit]:
    for version in FileSnapshot.objects.using(agent.db).filter(id__in=_find_open_ids(row)):
        if version.size_bytes > workspace.MOST_BYTES:  # it can only be downloaded
            yield ConcurrentEdit(version, audit_id, None, None, "")
            continue
        try:
            now = rollback_plan.read_memory_file(agent, row.file_name)
            change = compare_contents(now, read_version_bytes(version), row.file_name)
            merged = _merge_version(agent.db, row, version, now)
        except Refused:
            yield ConcurrentEdit(version, audit_id, None, None, "")
        else:
            added = (
                None if merged in (None, read_version_bytes(version)) else compare_contents(now, merged, row.file_name)
            )
            notices = [
                effects.forecast_notice(agent, {row.file_name: data})
                for data in (read_version_bytes(version), merged)
                if data
            ]
            effect = max(notices, key=lambda notice: notice.is_harmful, default=None)
            yield ConcurrentEdit(version, audit_id, change, added, rollback_plan.hash_content(now), effect)


def _find_open_ids(row) -> list[str]:
    """Return the ids of versions that no person has settled."""
    return [name for name in row.meanwhile if name not in row.settled]


def _merge_version(db, row, version, now) -> bytes | None:
    """Return the file with only what somebody wrote meanwhile; None where that is unclear."""
    before = intent_store.read_content_before(db, row)
    merged = put_in(*(bytes_to_text(content or b"") for content in (before, read_version_bytes(version), now)))
    return None if merged is None else text_to_bytes(merged)


def settle(
    agent: Agent,
    audit_id: str,
    version_id: str,
    *,
    by: str,
    seen: str | None,
    is_alone: bool = False,
    write_now: bool = False,
) -> None:
    """Put such a version into the file, or leave it as a version.

    `seen` is the hash of what the file held on the page; with None the version is left. With `is_alone` only what
    somebody wrote meanwhile is put in. Raises FileChanged when nobody waits for an answer any more, or when it is not
    clear any more what was written; else as `service.put_content`.
    """
    rows = [row for row in find_unsettled(agent.db) if audit_id in row.audits]
    row = next((row for row in rows if version_id in _find_open_ids(row)), None)
    version = FileSnapshot.objects.using(agent.db).filter(id=version_id).first()
    if row is None or version is None:
        raise FileChanged(_("Somebody has settled this already."))
    if seen is not None:
        data = (
            _merge_version(agent.db, row, version, rollback_plan.read_memory_file(agent, row.file_name))
            if is_alone
            else read_version_bytes(version)
        )
        if data is None:
            raise FileChanged.since_preview(row.file_name)
        reason = _("What somebody else wrote while this site was writing is put into the file.")
        request = RollbackRequest(by, reason, accepts_effect=write_now)
        service.put_content(agent, audit_id, row.file_name, data, request, seen=seen)
    with write_queue.agent_transaction(agent.db):  # the last one that is settled ends the wait
        row = RollbackIntent.objects.using(agent.db).get(id=row.id)
        open_ids = [name for name in _find_open_ids(row) if name != version_id]
        row.settled = [*row.settled, version_id]
        row.settled_at, row.settled_by = (row.settled_at, by) if open_ids else (clock.now_ms(), by)
        row.save(update_fields=["settled_json", "settled_at", "settled_by"])
    action = "version_left" if seen is None else "version_put_back"
    audit_log.record(by, action, object_type="write", object_id=audit_id, agent_id=agent.agent_id)
