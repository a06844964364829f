"""Right or wrong: what people say of a decision, which makes its sample or changes what the sample says."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.models import Agent
from openclaw_web.errors import Refused

from .. import services
from ..likeness import signatures
from ..models import DatasetSample
from ..review import parts, verdicts
from ..review.parts import PartVerdict
from . import making
from .seen import decision_of, seen_of

RIGHT, WRONG, NONE = VERDICTS = ("right", "wrong", "none")
Status = DatasetSample.Status


@dataclass(frozen=True, slots=True)
class Correction:
    """What would have been right. A fact is needed unless the decision is NO_WRITE."""

    decision: str
    fact: str = ""
    reason: str = ""

    @property
    def as_output(self) -> dict[str, str]:
        """As verdicts store it."""
        return {"decision": self.decision, "candidateFact": self.fact, "reason": self.reason}


def say(
    agent: Agent,
    decision_id: str,
    said: str,
    *,
    by: str,
    correction: Correction | None = None,
    expected: str | None = None,
) -> DatasetSample:
    """The sample of a decision of which somebody says one of VERDICTS: as `judge`, or with NONE as `create`."""
    if correction and said != WRONG:
        raise Refused(_("Only a wrong decision takes a correction."))
    if said == NONE:
        return create(agent, decision_id, by=by)
    return judge(agent, decision_id, said, by=by, correction=correction, expected=expected)


def judge(
    agent: Agent,
    decision_id: str,
    said: str,
    *,
    by: str,
    correction: Correction | None = None,
    expected: str | None = None,
) -> DatasetSample:
    """The sample of a decision, with the verdict that the decision is RIGHT or WRONG.

    A right decision, and a wrong one with its `correction`, is approved for training by whoever said so. A wrong one
    without needs review: nobody knows what would have been right. Said again, it stays said once; said otherwise, the
    same sample says it. `expected` is the id of the verdict in force as the person saw it, empty for none.

    Raises NoSuchDecision; Refused for a decision that cannot become a sample, a correction that cannot be, a sample
    that somebody else has open, and when another verdict than `expected` is in force.
    """
    decision = decision_of(agent, decision_id)
    verdict = _verdict(said, correction)
    _check(verdict, decision)
    sample_id = making.sample_id(agent.agent_id, decision.id)
    # Without a status until its verdict: undoing that leaves nothing in the queue.
    is_there, how = making.is_there(sample_id), {"is_right": said == RIGHT, "status": None}
    new = None if is_there else making.sample_of(agent, seen_of(agent, decision), **how)
    status = Status.NEEDS_REVIEW if verdict.label == "incorrect" else Status.APPROVED
    with making.stored(agent, new):
        sample = DatasetSample.objects.get(id=sample_id)
        is_said = _says(sample, verdict, status)
        is_again = is_said and sample.annotated_by == by  # sent again by whoever said it
        if expected is not None and (sample.label_id or "") != expected and not is_again:
            raise Refused(verdicts.overtaken(sample))
        if not is_said:
            sample = verdicts.add_verdict(sample_id, status, by=by, gate=verdict)
    signatures.complete(sample_id)
    return sample


def create(agent: Agent, decision_id: str, *, by: str) -> DatasetSample:
    """The `annotated_turn` sample of a decision's turn; a new one says nothing yet of the decision. Raises as `judge`.

    A turn has one such sample, whichever of its decisions it was created from. A decision without a turn gets its own
    sample, which nobody has judged.
    """
    seen = seen_of(agent, decision_of(agent, decision_id))
    if seen.turn is None:
        return making.add_own(agent, seen)[0]
    chosen = {seen.turn.id: seen.decision}
    made = services.make_samples(agent, seen.turn.session_id, [seen.turn.turn_number], by=by, chosen=chosen)
    if made.skipped:
        raise Refused(made.skipped[0]["reason"])
    return DatasetSample.objects.get(id=(made.made + made.existing)[0])


def _verdict(said, correction):
    if said not in (RIGHT, WRONG):
        raise Refused(_("A decision is either right or wrong."))
    if correction:
        return PartVerdict("corrected", correction.as_output)
    return PartVerdict("correct" if said == RIGHT else "incorrect")


def _check(verdict, decision):
    """Before anything is made: a correction says something else than the decision."""
    made = {"decision": decision.decision, "fact": decision.candidate_fact or "", "reason": decision.reason}
    parts.check("gate", verdict, made)
    if verdict.corrected:
        right = verdict.corrected
        is_same = (right["decision"], right["candidateFact"]) == (made["decision"], made["fact"])
        if is_same and right["reason"] in ("", made["reason"]):
            raise Refused(_("This is what the gate decided. Say what would have been right, or that it is right."))


def _says(sample, verdict, status):
    """Whether this very verdict is in force, whoever gave it."""
    known = (sample.annotation_status, sample.gate_label, sample.gate_corrected_output)
    return known == (status, verdict.label, verdict.corrected_json)
