"""Actions of people and programs on artifacts, with entries in the operator audit log."""

from agents.models import Agent
from people.audit import log as audit

from . import services
from .models import Artifact
from .store import verification
from .store.content_writer import StoredContent


def stash(agent: Agent, content: bytes | str, *, by: str, **options) -> tuple[Artifact, StoredContent]:
    """Stash a content as used by an agent.

    `options` are those of `services.stash`. Raises Refused.
    """
    row, stored = services.stash(agent.db, content, **options)
    _record(by, "stashed", agent, row.handle, bytes=row.bytes)
    return row, stored


def remove(agent: Agent, handle: str, *, by: str) -> int:
    """Remove every reference of an agent to a content.

    Returns how many there were. Raises NoSuchArtifact.
    """
    count = services.remove(agent.db, handle)
    _record(by, "artifact_removed", agent, handle, references=count)
    return count


def verify(agent: Agent, handle: str, *, by: str) -> verification.VerifyResult:
    """Read a content in full and compare it with its name."""
    result = verification.verify([handle[-64:]])
    _record(by, "verified", agent, handle, sound=result.sound)
    return result


def _record(by, action, agent, handle, **detail):
    audit.record(by, action, object_type="artifact", object_id=handle, agent_id=agent.agent_id, **detail)
