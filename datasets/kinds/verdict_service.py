"""Right or wrong: what people say of a decision or a write, which makes its sample or changes what that says."""

from typing import Any

from agents.models import Agent
from openclaw_web.errors import Refused

from ..dedup import signatures
from ..models import DatasetSample
from ..review import verdicts
from . import sample_store
from .kind import NONE, VERDICTS, WRONG, JudgedKind

Status = DatasetSample.Status


def give_verdict(
    kind: JudgedKind,
    agent: Agent,
    name: str,
    verdict: str,
    *,
    by: str,
    correction: Any = None,
    expected: str | None = None,
    filed: str = "",
) -> DatasetSample:
    """The sample of the decision or write `name`, with one of VERDICTS; NONE makes the sample alone.

    A right one, and a wrong one of which is known what would be right, is approved for training by whoever said so. A
    wrong one of which nobody knows needs review. Said again, it stays said once; said otherwise, the same sample says
    it. `expected` is the id of the verdict in force as the person saw it, empty for none. `filed` is the id of a
    correction of the write that was filed with the verdict.

    Raises Refused: for an id that there is not (404), for what cannot become a sample, a correction that cannot be, a
    sample that somebody else has open, and when another verdict than `expected` is in force.
    """
    if verdict not in VERDICTS:
        raise Refused(str(kind.words.neither))
    if correction and verdict != WRONG:
        raise Refused(str(kind.words.only_wrong))
    row = kind.find(agent, name)
    if verdict == NONE and kind.create:
        return kind.create(agent, row, by)
    sample_id = kind.find_sample_id(agent, row.id)
    is_there = sample_store.is_stored(sample_id)
    seen = kind.see(agent, row) if kind.sees_again or not is_there else None
    part = kind.verdict(row, seen, verdict, correction) if verdict != NONE else None
    with sample_store.sample_transaction(
        agent, None if is_there else sample_store.build_sample(kind, agent, row.id, seen, verdict=verdict)
    ):
        sample = _give(kind, sample_id, part, by=by, expected=expected, filed=filed)
    signatures.ensure_signature(sample_id)
    return sample


def _give(kind, sample_id, part, *, by, expected, filed):
    """Inside the caller's transaction: the sample, with the verdict unless it is in force already."""
    sample = DatasetSample.objects.get(id=sample_id)
    status = Status.NEEDS_REVIEW if part and part.label == "incorrect" else Status.APPROVED
    is_said = part is not None and _is_in_force(sample, kind, part, status)
    is_again = is_said and sample.annotated_by == by  # sent again by whoever said it
    if expected is not None and (sample.label_id or "") != expected and not is_again:
        raise Refused(verdicts.describe_overtaken(sample))
    if part is None or is_said:
        return sample
    return verdicts.add_verdict(sample_id, status, by=by, filed=filed, **{kind.part: part})


def find_problem(kind: JudgedKind, agent: Agent, row: Any) -> str:
    """Why a decision or write cannot become a sample, as a sentence; empty when it can."""
    try:
        kind.see(agent, row)
    except Refused as refused:
        return refused.sentence
    return ""


def _is_in_force(sample, kind: JudgedKind, part, status):
    """Whether this very verdict is in force, whoever gave it."""
    known = (getattr(sample, f"{kind.part}_label"), getattr(sample, f"{kind.part}_corrected_output"))
    return (sample.annotation_status, *known) == (status, part.label, part.corrected_json)
