"""Changes that another agent of the same workspace made; they are not unattributed."""

from collections import defaultdict
from collections.abc import Iterable

from agents import databases
from agents.models import Agent

from .. import services
from ..models import WriteGuardianAudit
from .reports import Origin
from .snapshot_pairs import QUIET_MS, SnapshotPair

PREFIX = "agent_"  # of the aliases of agents' files


def mark_shared_changes(db: str, name: str, pairs: Iterable[SnapshotPair]) -> None:
    """Mark the snapshot pairs that a write of another agent of the workspace explains."""
    open_pairs = [pair for pair in pairs if pair.is_unattributed]
    others = _find_other_agents(db) if open_pairs else []
    if not others:
        return
    rows = services.find_versions(db, name).filter(id__in=[pair.after for pair in open_pairs])
    hashes = dict(rows.values_list("id", "content_hash"))
    moments = _find_moments(others, name, set(hashes.values()))
    for pair in open_pairs:
        pair.is_of_another = _is_explained(moments, hashes.get(pair.after, ""), pair.at)


def find_explained_since(db: str, name: str) -> int | None:
    """Return the first moment of stored unattributed changes that another agent reported since.

    None without such changes.
    """
    others = _find_other_agents(db)
    if not others:
        return None
    rows = WriteGuardianAudit.objects.using(db).filter(target_file=name, origin=Origin.UNATTRIBUTED)
    changes = list(rows.values_list("created_at", "after_snapshot__content_hash"))
    moments = _find_moments(others, name, {digest for _at, digest in changes if digest})
    return min((at for at, digest in changes if _is_explained(moments, digest, at)), default=None)


def _is_explained(moments, digest, at):
    return any(abs(at - moment) <= QUIET_MS for moment in moments.get(digest, ()))


def _find_other_agents(db) -> list[str]:
    """Return the aliases of the other agents with the same workspace."""
    agent_id = db.removeprefix(PREFIX)
    workspace = Agent.objects.filter(agent_id=agent_id).exclude(workspace="").values("workspace")
    rows = Agent.objects.filter(workspace__in=workspace).exclude(agent_id=agent_id)
    return list(filter(None, map(databases.find_alias, rows.values_list("agent_id", flat=True))))


def _find_moments(others, name, hashes) -> dict[str, list[int]]:
    """Return by hash when known writes of other agents led to this content."""
    moments: dict[str, list[int]] = defaultdict(list)
    for other in others:
        rows = WriteGuardianAudit.objects.using(other).filter(target_file=name, after_snapshot__content_hash__in=hashes)
        rows = rows.exclude(origin=Origin.UNATTRIBUTED)
        for digest, at in rows.values_list("after_snapshot__content_hash", "created_at"):
            moments[digest].append(at)
    return moments
