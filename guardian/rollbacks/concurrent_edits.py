"""Versions that somebody wrote while a rollback was carried out: kept, not in the file, and waiting for a person."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import write_queue
from people.audit import log as audit_log

from ..file_bytes import bytes_to_text, read_version_bytes, text_to_bytes
from ..models import FileSnapshot, RollbackIntent, WriteGuardianAudit
from ..standing import effects
from ..standing.effects import EffectNotice
from . import intent_store, rollback_plan, service, workspace
from .apply import FileChanged
from .merge import put_in
from .rollback_preview import Comparison, compare_contents
from .service import RollbackRequest


@dataclass(frozen=True, slots=True)
class ConcurrentEdit:
    """One such version: what putting it in place would change. `seen` as for a rollback.

    `added` is the change when only what somebody wrote meanwhile is put into the file, and not what the file held
    before; None where that is the same, or where it is not clear which lines these are.
    """

    version: FileSnapshot
    audit_id: str
    change: Comparison | None  # None: what the file holds cannot be read now
    added: Comparison | None
    seen: str
    effect: EffectNotice | None = None  # of putting the version, or what was added, into the file


def find_unsettled(db: str):
    """The rollbacks of which somebody has to say what becomes of such versions, the newest first."""
    rows = RollbackIntent.objects.using(db).filter(settled_at=None, ended_at__isnull=False)
    return rows.exclude(meanwhile_json="[]").order_by("-ended_at")


def find_unsettled_write(db: str) -> str | None:
    """The write whose page asks about the newest such versions; None when nothing waits."""
    row = find_unsettled(db).first()
    ids = row.audits if row else []
    return WriteGuardianAudit.objects.using(db).filter(id__in=ids).values_list("id", flat=True).first()


def find_by_write(agent: Agent, audit_id: str) -> list[ConcurrentEdit]:
    """Those of rollbacks of one write."""
    rows = [row for row in find_unsettled(agent.db) if audit_id in row.audits]
    return [one for row in rows for one in _shown(agent, row, audit_id)]


def _shown(agent, row, audit_id) -> Iterator[ConcurrentEdit]:
    for version in FileSnapshot.objects.using(agent.db).filter(id__in=_open(row)):
        if version.size_bytes > workspace.MOST_BYTES:  # it can only be downloaded
            yield ConcurrentEdit(version, audit_id, None, None, "")
            continue
        try:
            now = rollback_plan.read_memory_file(agent, row.file_name)
            change = compare_contents(now, read_version_bytes(version), row.file_name)
            alone = _alone(agent.db, row, version, now)
        except Refused:
            yield ConcurrentEdit(version, audit_id, None, None, "")
        else:
            added = (
                None if alone in (None, read_version_bytes(version)) else compare_contents(now, alone, row.file_name)
            )
            notices = [
                effects.forecast_notice(agent, {row.file_name: data})
                for data in (read_version_bytes(version), alone)
                if data
            ]
            effect = max(notices, key=lambda notice: notice.is_harmful, default=None)
            yield ConcurrentEdit(version, audit_id, change, added, rollback_plan.hash_content(now), effect)


def _open(row) -> list[str]:
    """The versions of which nobody has said what becomes of them."""
    return [name for name in row.meanwhile if name not in row.settled]


def _alone(db, row, version, now) -> bytes | None:
    """The file with what somebody wrote meanwhile, and nothing else of such a version; None where that is not clear."""
    before = intent_store.read_content_before(db, row)
    merged = put_in(*(bytes_to_text(one or b"") for one in (before, read_version_bytes(version), now)))
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
    """Put such a version into the file (`seen`: what the file held on the page), or with None leave it as a version.

    `is_alone`: only what somebody wrote meanwhile. Raises Changed when nobody waits for an answer any more, or when it
    is not clear any more what that is; else as `performing.put`.
    """
    rows = [row for row in find_unsettled(agent.db) if audit_id in row.audits]
    row = next((row for row in rows if version_id in _open(row)), None)
    version = FileSnapshot.objects.using(agent.db).filter(id=version_id).first()
    if row is None or version is None:
        raise FileChanged(_("Somebody has settled this already."))
    if seen is not None:
        data = (
            _alone(agent.db, row, version, rollback_plan.read_memory_file(agent, row.file_name))
            if is_alone
            else read_version_bytes(version)
        )
        if data is None:
            raise FileChanged(
                _("%(file)s has changed since the preview. Check the new preview.") % {"file": row.file_name}
            )
        reason = _("What somebody else wrote while this site was writing is put into the file.")
        wish = RollbackRequest(by, reason, accepts_effect=write_now)
        service.put_content(agent, audit_id, row.file_name, data, wish, seen=seen)
    _note(agent.db, row.id, version_id, by)
    action = "version_left" if seen is None else "version_put_back"
    audit_log.record(by, action, object_type="write", object_id=audit_id, agent_id=agent.agent_id)


def _note(db, intent_id, version_id, by):
    """Say of one version that it is settled; with the last one nobody waits any more."""
    with write_queue.agent_transaction(db):
        row = RollbackIntent.objects.using(db).get(id=intent_id)
        left = [name for name in _open(row) if name != version_id]
        row.settled = [*row.settled, version_id]
        row.settled_at, row.settled_by = (row.settled_at, by) if left else (clock.now_ms(), by)
        row.save(update_fields=["settled_json", "settled_at", "settled_by"])
