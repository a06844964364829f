"""Creates and reads checkpoint packs with the facts of all apps, and audits it."""

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
    """Find a session by id, or the last one with a key. Raises Refused."""
    sessions = Session.objects.using(agent.db)
    session = sessions.filter(id=name).first()
    session = session or sessions.filter(session_key=name).order_by("-last_activity_at", "-id").first()
    if session is None:
        raise Refused(_("This agent has no such session."))
    return session


def build_checkpoints(
    agent: Agent, session: Session, which: str = compactions.LATEST, *, budget: int = bundle.USUAL_CHARS, by: str
) -> Iterator[pack_builder.StoredPack]:
    """Build and store the packs of `latest`, `all` or one compaction, in order.

    Building again gives the same handle. Raises Refused when there is no such compaction.
    """
    for compaction in compactions.find_compactions(session, which):
        content = pack_builder.build_pack(agent.agent_id, compaction, budget=budget, sources=SOURCES)
        built = pack_builder.store_pack(compaction, content)
        details = {"session": session.id, "compaction": compaction.record_id, "new": built.is_new}
        audit.record(
            by,
            "checkpoint_built",
            object_type="checkpoint",
            object_id=built.row.handle,
            agent_id=agent.agent_id,
            **details,
        )
        yield built


def find_latest(session: Session) -> Artifact:
    """The pack of the latest compaction with one. Raises Refused when there is none."""
    packs = pack_builder.find_packs(session)
    if not packs:
        raise Refused(_("This session has no checkpoint yet. Create one with “openclaw-web checkpoint build”."))
    return packs[0]


def read_checkpoint(agent: Agent, name: str) -> tuple[Artifact, dict[str, Any]]:
    """The row and the pack of a handle or its 64 digits. Raises like `pack.read_pack`."""
    return pack.read_pack(agent.db, handles.from_address(name))


def build_facts(agent: Agent, row: Artifact) -> dict[str, Any]:
    """Facts about a pack, for receipts and the API."""
    return {
        "handle": row.handle,
        "sha256": row.sha256,
        "session_id": row.session_id,
        "compaction_id": row.record_id,
        "compacted_at": row.created_at,
        "bytes": row.bytes,
        "fetch": handles.build_fetch_command(row.handle, agent.agent_id),
    }
