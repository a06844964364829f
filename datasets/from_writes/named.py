"""Which sample is that of a write: whatever ids the write was known by, its sample keeps the one it was made by."""

from collections.abc import Collection

from django.db.models import F

from agents.models import Agent
from guardian.models import GuardianReceipt

from ..models import DatasetSample
from . import making


def sample_ids(agent: Agent, audit_ids: Collection[str]) -> dict[str, str]:
    """The ids that samples of these writes may have, each with the id of its write."""
    rows = GuardianReceipt.objects.using(agent.db).filter(audit_id__in=list(audit_ids)).exclude(id=F("audit_id"))
    earlier = rows.values_list("id", "audit_id") if audit_ids else ()
    names = [*((name, name) for name in audit_ids), *earlier]
    return {making.sample_id(agent.agent_id, told): name for told, name in names}


def sample_id(agent: Agent, audit_id: str) -> str:
    """The id of the sample of a write: of the one that is there, else of the one that would be made."""
    ids = sample_ids(agent, [audit_id])
    there = DatasetSample.objects.filter(id__in=list(ids)).values_list("id", flat=True).order_by("created_at").first()
    return there or making.sample_id(agent.agent_id, audit_id)
