"""Versions that somebody wrote while a rollback was carried out: kept, not in the file, and waiting for a person."""

from collections.abc import Iterator
from dataclasses import dataclass

import orjson
from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.errors import Refused
from people.audit import log as audit_log

from ..exact import data_of
from ..models import FileSnapshot, RollbackIntent
from . import performing, planning
from .exchanging import Changed
from .performing import Wish
from .shown import Comparison, compared


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """One such version: what putting it in place would change. `seen` as for a rollback."""

    version: FileSnapshot
    audit_id: str
    change: Comparison | None  # None: what the file holds cannot be read now
    seen: str


def waiting(db: str):
    """The rollbacks of which somebody has to say what becomes of such versions, the newest first."""
    rows = RollbackIntent.objects.using(db).filter(settled_at=None, ended_at__isnull=False)
    return rows.exclude(meanwhile_json="[]").order_by("-ended_at")


def question(db: str) -> str | None:
    """The write whose page asks about the newest such versions; None when nothing waits."""
    row = waiting(db).first()
    return orjson.loads(row.audits_json)[0] if row else None


def of_audit(agent: Agent, audit_id: str) -> list[Meanwhile]:
    """Those of rollbacks of one write."""
    rows = [row for row in waiting(agent.db) if audit_id in orjson.loads(row.audits_json)]
    return [one for row in rows for one in _shown(agent, row, audit_id)]


def _shown(agent, row, audit_id) -> Iterator[Meanwhile]:
    for version in FileSnapshot.objects.using(agent.db).filter(id__in=orjson.loads(row.meanwhile_json)):
        try:
            now = planning.current(agent, row.file_name)
            change = compared(now, data_of(version), row.file_name)
        except Refused:
            yield Meanwhile(version, audit_id, None, "")
        else:
            yield Meanwhile(version, audit_id, change, planning.hash_of(now))


def settle(agent: Agent, audit_id: str, version_id: str, *, by: str, seen: str | None) -> None:
    """Put such a version into the file (`seen`: what the file held on the page), or with None leave it as a version.

    Raises Changed when nobody waits for an answer any more, else as `performing.put`.
    """
    rows = [row for row in waiting(agent.db) if audit_id in orjson.loads(row.audits_json)]
    row = next((row for row in rows if version_id in orjson.loads(row.meanwhile_json)), None)
    if row is None:
        raise Changed(_("Somebody has settled this already."))
    if seen is not None:
        version = FileSnapshot.objects.using(agent.db).get(id=version_id)
        wish = Wish(by, _("What was written during a rollback is put into the file."))
        performing.put(agent, audit_id, row.file_name, data_of(version), wish, seen=seen)
    settled = {"settled_at": clock.now_ms(), "settled_by": by}
    RollbackIntent.objects.using(agent.db).filter(id=row.id, settled_at=None).update(**settled)
    action = "version_left" if seen is None else "version_put_back"
    audit_log.record(by, action, object_type="write", object_id=audit_id, agent_id=agent.agent_id)
