"""Verdicts that people gave on decisions of memory_gate themselves.

They count for the samples of turns too.
"""

from collections.abc import Mapping
from typing import Any

from ...exporters.samples import GATE_TYPES
from ...models import DatasetSample
from ..options import Options

CORRECT = "correct"


class DecisionVerdicts:
    """The verdicts on decisions, for an export of decisions; none for any other."""

    def __init__(self, options: Options):
        self.labels: dict[tuple[str, str | None], str | None] = {}
        if options.task == "gate":
            judged = DatasetSample.objects.filter(sample_type__in=GATE_TYPES, gate_label__isnull=False)
            if options.agent is not None:
                judged = judged.filter(agent_id=options.agent)
            rows = judged.values_list("agent_id", "decision_id", "gate_label")
            self.labels = {(agent_id, name): label for agent_id, name, label in rows.iterator(chunk_size=2_000)}

    def overrules(self, row: Mapping[str, Any]) -> bool:
        """Whether a turn's sample teaches another decision than the one judged to be right.

        It does when the decision itself was judged to be wrong, or when it was judged to be right and the turn's sample
        says otherwise. A decision that somebody called wrong is not taught, even if its own sample is gone.
        """
        if row["sample_type"] in GATE_TYPES or row["decision_id"] is None:
            return False
        label = self.labels.get((row["agent_id"], row["decision_id"]))
        return label is not None and (label != CORRECT or row["gate_label"] not in (None, CORRECT))
