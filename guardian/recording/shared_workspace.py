"""Changes that another agent of the same workspace is known to have made: they are no unreported ones of this agent."""

from collections import defaultdict
from collections.abc import Iterable

from agents import databases
from agents.models import Agent

from .. import services
from ..models import WriteGuardianAudit
from .reports import Origin
from .snapshot_pairs import QUIET_MS, SnapshotPair

PREFIX = "agent_"  # what an alias of an agent's file begins with


def mark_shared_changes(db: str, name: str, gaps: Iterable[SnapshotPair]) -> None:
    """Mark the gaps of a file that a write of another agent of the workspace explains."""
    open_gaps = [gap for gap in gaps if gap.is_unannounced]
    others = _others(db) if open_gaps else []
    if not others:
        return
    rows = services.find_versions(db, name).filter(id__in=[gap.after for gap in open_gaps])
    hashes = dict(rows.values_list("id", "content_hash"))
    moments = _moments(others, name, set(hashes.values()))
    for gap in open_gaps:
        gap.is_of_another = _is_explained(moments, hashes.get(gap.after, ""), gap.at)


def find_explained_since(db: str, name: str) -> int | None:
    """From when on unreported changes of a file are stored that another agent told of since; None: there are none."""
    others = _others(db)
    if not others:
        return None
    rows = WriteGuardianAudit.objects.using(db).filter(target_file=name, origin=Origin.UNATTRIBUTED)
    changes = list(rows.values_list("created_at", "after_snapshot__content_hash"))
    moments = _moments(others, name, {digest for _at, digest in changes if digest})
    return min((at for at, digest in changes if _is_explained(moments, digest, at)), default=None)


def _is_explained(moments, digest, at):
    return any(abs(at - moment) <= QUIET_MS for moment in moments.get(digest, ()))


def _others(db) -> list[str]:
    """The aliases of the other agents that have this one's workspace."""
    agent_id = db.removeprefix(PREFIX)
    workspace = Agent.objects.filter(agent_id=agent_id).exclude(workspace="").values("workspace")
    rows = Agent.objects.filter(workspace__in=workspace).exclude(agent_id=agent_id)
    return list(filter(None, map(databases.find_alias, rows.values_list("agent_id", flat=True))))


def _moments(others, name, hashes) -> dict[str, list[int]]:
    """Hash -> when known writes of other agents led to this content."""
    moments: dict[str, list[int]] = defaultdict(list)
    for other in others:
        rows = WriteGuardianAudit.objects.using(other).filter(target_file=name, after_snapshot__content_hash__in=hashes)
        rows = rows.exclude(origin=Origin.UNATTRIBUTED)
        for digest, at in rows.values_list("after_snapshot__content_hash", "created_at"):
            moments[digest].append(at)
    return moments
