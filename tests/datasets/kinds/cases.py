"""Decisions and writes as people judge them: one case of each kind.

A case has a row, the addresses where it is judged, and its correction.
"""

from dataclasses import dataclass, field
from typing import Any

from agents.models import Agent
from datasets.kinds import decision, verdict_service, write
from datasets.kinds.kind import JudgedKind
from datasets.models import DatasetSample
from datasets.review import parts
from tests.datasets.conversations import store_turns
from tests.datasets.kinds.gates import FACT, store_decision
from tests.guardian.write_rows import create_write

BEFORE, AFTER = b"# Memory\n", b"# Memory\nLikes tea.\n"
REASON = "Small talk."
WHY = "Wrong fact"  # what the code wrong_fact means
STATES = {
    "right": ("approved", "correct"),
    "wrong": ("needs_review", "incorrect"),
    "corrected": ("approved", "corrected"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kind and its row `name`, with the expected results of each verdict.

    A verdict is right, wrong or corrected; corrected is a wrong verdict with `correction`.

    `fields` are the correction as forms and the API take it, `output` as a sample stores it, and `corrections` the
    right decision in the content of a sample. `reason` is what a wrong verdict alone needs, `reason_fields` the same as
    forms and the API take it; `needed` is the message of a page for the fields `incomplete`, and `status` that of the
    API.
    """

    kind: JudgedKind
    name: str
    fact: str
    page: str
    give: str
    places: str
    api: str
    correction: Any
    fields: dict
    output: dict
    needed: str
    status: int
    types: dict
    incomplete: dict = field(default_factory=dict)
    corrections: dict = field(default_factory=dict)
    reason: Any = None
    reason_fields: dict = field(default_factory=dict)

    def judge(self, verdict="right", *, by="ann", correction=None, name="", **more):
        """Give a verdict and return the sample."""
        known = {"corrected": self.correction, "wrong": self.reason}
        correction = correction or known.get(verdict)
        verdict = verdict.replace("corrected", "wrong")
        ada = Agent.objects.get(agent_id="ada")
        return verdict_service.give_verdict(
            self.kind, ada, name or self.name, verdict, by=by, correction=correction, **more
        )

    def label_of(self, sample):
        """The label of the judged part of a sample."""
        return getattr(sample, f"{self.kind.part}_label")

    def check(self, verdict):
        """Assert that the only sample has this verdict."""
        sample = DatasetSample.objects.get()
        assert (sample.annotation_status, self.label_of(sample)) == STATES[verdict]
        assert sample.body["type"] == sample.sample_type == self.types[verdict]
        assert sample.body.get("correctDecision") == self.corrections.get(verdict)
        output = parts.parse_corrected(getattr(sample, f"{self.kind.part}_corrected_output"))
        wrong = {"reason": WHY} if self.reason else {}
        assert output == {"corrected": self.output, "wrong": wrong}.get(verdict, {})


NEGATIVE = "memory_gate_negative"
CASES = {
    "decision": Case(
        kind=decision.DECISION,
        name="d1",
        fact=FACT,
        page="/agents/ada/verdicts/d1/",
        give="/agents/ada/judge/d1/",
        places="/agents/ada/verdicts/",
        api="/api/v1/agents/ada/gate/decisions/d1/sample",
        correction=decision.Correction("NO_WRITE", reason=REASON),
        fields={"correct_decision": "NO_WRITE", "correct_reason": REASON},
        output={"decision": "NO_WRITE", "candidateFact": "", "reason": REASON},
        needed="Say why the decision is wrong: choose a reason, or enter one.",
        status=400,
        reason=decision.Correction("", reason="wrong_fact"),
        reason_fields={"correct_reason": "wrong_fact"},
        types={"right": "memory_gate_positive", "wrong": NEGATIVE, "corrected": NEGATIVE},
        corrections={"right": "UPDATE_USER", "corrected": "NO_WRITE"},
    ),
    "write": Case(
        kind=write.WRITE,
        name="w1",
        fact="Likes tea.",
        page="/agents/ada/write-verdicts/w1/",
        give="/agents/ada/judge-write/w1/",
        places="/agents/ada/write-verdicts/",
        api="/api/v1/agents/ada/guardian/writes/w1/sample",
        correction=write.Correction("refused", REASON),
        fields={"correct_status": "refused", "correct_reason": REASON},
        output={"status": "refused", "targetFile": "MEMORY.md", "reason": REASON},
        needed="Say whether it should have been written or refused.",
        status=409,
        incomplete={"correct_reason": "Why?"},
        types=dict.fromkeys(("right", "wrong", "corrected"), write.TYPE),
    ),
}


def make_case(name):
    """Three turns, and on the second a decision, or a write with its decision."""
    store_turns(3)
    store_decision()
    if name == "write":
        create_write("agent_ada", 1, BEFORE, AFTER, turn_id="s1:u2", decision_id="d1", reason="Stable.")
    return CASES[name]
