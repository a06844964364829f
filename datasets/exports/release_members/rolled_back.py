"""Finds the samples of writes that were rolled back, and of the turns of these writes."""

from collections.abc import Container, Iterable, Iterator
from itertools import islice
from typing import Any

from django.db.models import Q, QuerySet

from agents import databases
from agents.models import Agent
from guardian.models import WriteGuardianAudit

from ...kinds.write import WRITE
from ...models import DatasetSample

ROLLED_BACK = "rolled_back"  # the reason for leaving a sample out
BATCH = 400  # writes


def find_rolled_back_samples(samples: QuerySet[DatasetSample], agent_ids: Iterable[str]) -> frozenset[str]:
    """The ids of those of some samples that teach a write that was rolled back.

    They are the sample of the write itself, and the samples of its turn that are about no other write.
    """
    sample_ids: set[str] = set()
    for agent in Agent.objects.filter(agent_id__in=list(agent_ids)):
        if db := databases.find_alias(agent.agent_id):
            for writes in _read_batches(db):
                sample_ids.update(_find_samples_of(samples, agent, writes))
    return frozenset(sample_ids)


def is_rolled_back(
    audit_id: str | None, turn_id: str | None, audit_ids: Container[str], turn_ids: Container[str]
) -> bool:
    """Whether a sample teaches one of these rolled-back writes, or the turn of one."""
    return audit_id in audit_ids or (not audit_id and turn_id in turn_ids)


def _read_batches(db) -> Iterator[list[tuple[str, str | None, str | None]]]:
    """The id, turn and session of each rolled-back write of an agent, in batches."""
    writes = WriteGuardianAudit.objects.using(db).filter(status=WriteGuardianAudit.Status.ROLLED_BACK).order_by()
    rows = writes.values_list("id", "turn_id", "session_id").iterator(chunk_size=2_000)
    while batch := list(islice(rows, BATCH)):
        yield batch


def _find_samples_of(samples, agent, writes: list[tuple[Any, ...]]) -> Iterator[str]:
    audit_ids = {audit_id for audit_id, _turn_id, _session_id in writes}
    turn_ids = {turn_id for _audit_id, turn_id, session_id in writes if turn_id and session_id}
    sessions = {session_id for _audit_id, turn_id, session_id in writes if turn_id and session_id}
    # By ids and sessions, which have an index: turns and writes have none.
    own = [WRITE.find_sample_id(agent, audit_id) for audit_id in audit_ids]
    rows = samples.filter(Q(id__in=own) | Q(session_id__in=sessions), agent_id=agent.agent_id).order_by()
    for sample_id, turn_id, audit_id in rows.values_list("id", "turn_id", "audit_id").iterator(chunk_size=2_000):
        if is_rolled_back(audit_id, turn_id, audit_ids, turn_ids):
            yield sample_id
