"""Decisions of memory_gate that people judged by themselves: what they said counts for the samples of turns too."""

from collections.abc import Mapping
from typing import Any

from ...exporters.samples import GATE_TYPES
from ...models import DatasetSample
from ..options import Options

CORRECT = "correct"


class DecisionVerdicts:
    """What people said of decisions, for an export of decisions; of nothing for any other."""

    def __init__(self, options: Options):
        self.labels: dict[tuple[str, str | None], str | None] = {}
        if options.task == "gate":
            judged = DatasetSample.objects.filter(sample_type__in=GATE_TYPES, gate_label__isnull=False)
            if options.agent is not None:
                judged = judged.filter(agent_id=options.agent)
            rows = judged.values_list("agent_id", "decision_id", "gate_label")
            self.labels = {(agent_id, name): label for agent_id, name, label in rows.iterator(chunk_size=2_000)}

    def overrules(self, row: Mapping[str, Any]) -> bool:
        """Whether the sample of a turn teaches another decision than the one that people called right.

        It does unless both say that the decision is right, or this one says nothing: whatever has become of the
        decision's own sample, what somebody called wrong is not taught here.
        """
        if row["sample_type"] in GATE_TYPES or row["decision_id"] is None:
            return False
        label = self.labels.get((row["agent_id"], row["decision_id"]))
        return label is not None and (label != CORRECT or row["gate_label"] not in (None, CORRECT))
