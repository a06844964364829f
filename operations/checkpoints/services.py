"""Checkpoint packs as people ask for them: with what every app knows, and with an entry in the audit log."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from agents.models import Agent
from artifacts import handles
from artifacts.models import Artifact
from gate import decisions
from ledger.checkpoints import bundle, compactions, pack, pack_builder
from ledger.models import Session
from openclaw_web.errors import Refused
from people.audit import log as audit

SOURCES = (decisions.read_for_checkpoints,)


def find_session(agent: Agent, name: str) -> Session:
    """The session with an id, or the last one with a key. Raises Refused when there is none."""
    sessions = Session.objects.using(agent.db)
    found = sessions.filter(id=name).first()
    found = found or sessions.filter(session_key=name).order_by("-last_activity_at", "-id").first()
    if found is None:
        raise Refused(_("This agent has no such session."))
    return found


def build_checkpoints(
    agent: Agent, session: Session, which: str = compactions.LATEST, *, budget: int = bundle.USUAL_CHARS, by: str
) -> Iterator[pack_builder.StoredPack]:
    """Build and seal the packs of `latest`, `all` or one compaction, one after the other.

    Building again gives the same handle. Raises Refused when there is no such compaction.
    """
    for compaction in compactions.find_compactions(session, which):
        made = pack_builder.build_pack(agent.agent_id, compaction, budget=budget, sources=SOURCES)
        built = pack_builder.store_pack(compaction, made)
        about = {"session": session.id, "compaction": compaction.record_id, "new": built.is_new}
        audit.record(
            by,
            "checkpoint_built",
            object_type="checkpoint",
            object_id=built.row.handle,
            agent_id=agent.agent_id,
            **about,
        )
        yield built


def find_latest(session: Session) -> Artifact:
    """The pack of the latest compaction that has one. Raises Refused when none was made."""
    found = pack_builder.find_packs(session)
    if not found:
        raise Refused(_("This session has no checkpoint yet. Create one with “openclaw-web checkpoint build”."))
    return found[0]


def read_checkpoint(agent: Agent, name: str) -> tuple[Artifact, dict[str, Any]]:
    """The row and the pack behind a handle, or behind its 64 digits. Raises like `pack.opened`."""
    return pack.read_pack(agent.db, handles.from_address(name))


def build_facts(agent: Agent, row: Artifact) -> dict[str, Any]:
    """What receipts and the API say of a pack beside what it holds."""
    return {
        "handle": row.handle,
        "sha256": row.sha256,
        "session_id": row.session_id,
        "compaction_id": row.record_id,
        "compacted_at": row.created_at,
        "bytes": row.bytes,
        "fetch": handles.build_fetch_command(row.handle, agent.agent_id),
    }
