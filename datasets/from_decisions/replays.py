"""Replays of decisions beside what people said: how good both gates are, and disagreements for the review queue."""

from collections.abc import Iterator

from ..models import DatasetSample


def approved(agent_id: str) -> Iterator[str]:
    """Ids of the decisions of an agent that approved samples are about."""
    rows = DatasetSample.objects.approved().filter(agent_id=agent_id, decision_id__isnull=False)
    yield from rows.values_list("decision_id", flat=True).iterator(chunk_size=500)
