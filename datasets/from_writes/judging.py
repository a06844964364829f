"""Right or wrong: what people say of a write, which makes its sample or changes what is said on it."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.models import Agent
from guardian.models import WriteGuardianAudit
from openclaw_web.errors import Refused

from ..from_decisions.making import is_there, stored
from ..likeness import signatures
from ..models import DatasetSample
from ..review import verdicts
from ..review.parts import PartVerdict
from . import bodies, making, named
from .seen import STATUSES, Seen, seen_of, write_of

RIGHT, WRONG, NONE = VERDICTS = ("right", "wrong", "none")
Status = DatasetSample.Status


@dataclass(frozen=True, slots=True)
class Correction:
    """What would have been right: written or refused, and why. `content` is the whole file, where it was written."""

    status: str
    reason: str = ""
    content: str = ""


def say(
    agent: Agent,
    audit_id: str,
    said: str,
    *,
    by: str,
    correction: Correction | None = None,
    expected: str | None = None,
    filed: str = "",
) -> DatasetSample:
    """The sample of a write, with the verdict that the write is RIGHT or WRONG; with NONE, the sample alone.

    A right write, and a wrong one of which somebody says what would have been right, is approved for training by
    whoever said so: with `correction`, else with what a correction or a rollback of the write says. A wrong one of
    which nobody does needs review. Said again, it stays said once. `expected` is the id of the verdict in force as the
    person saw it, empty for none. `filed` is the id of a correction that was filed with the verdict.

    Raises NoSuchWrite; Refused for a write that cannot become a sample, a correction that cannot be, a sample that
    somebody else has open, and when another verdict than `expected` is in force.
    """
    if said not in VERDICTS:
        raise Refused(_("A write is either right or wrong."))
    if correction and said != WRONG:
        raise Refused(_("Only a wrong write takes a correction."))
    seen = seen_of(agent, write_of(agent, audit_id))
    if correction:
        _check(correction, seen)
    sample_id = named.sample_id(agent, seen.audit.id)
    with stored(agent, None if is_there(sample_id) else _new(agent, seen, said)):
        sample = DatasetSample.objects.get(id=sample_id)
        verdict = _verdict(said, correction, seen) if said != NONE else None
        status = Status.NEEDS_REVIEW if verdict and verdict.label == "incorrect" else Status.APPROVED
        is_said = verdict is not None and _says(sample, verdict, status)
        is_again = is_said and sample.annotated_by == by  # sent again by whoever said it
        if expected is not None and (sample.label_id or "") != expected and not is_again:
            raise Refused(verdicts.overtaken(sample))
        if verdict and not is_said:
            sample = verdicts.add_verdict(sample_id, status, by=by, guardian=verdict, filed=filed)
    signatures.complete(sample_id)
    return sample


def _new(agent, seen, said):
    """The sample of a write, not stored yet."""
    sample = making.sample_of(agent, seen)
    if said != NONE:  # nothing is said of it until its verdict, and undoing that leaves nothing in the queue
        sample.annotation_status = sample.guardian_label = sample.guardian_corrected_output = None
    return sample


def why_no_sample(agent: Agent, audit: WriteGuardianAudit) -> str:
    """Why a write cannot become a sample, as a sentence; empty when it can."""
    try:
        seen_of(agent, audit)
    except Refused as refused:
        return refused.sentence
    return ""


def _verdict(said, correction, seen: Seen):
    if said == RIGHT:
        return PartVerdict("correct")
    if correction:
        output = {"status": correction.status, "targetFile": seen.audit.target_file, "reason": correction.reason}
        return PartVerdict("corrected", output | ({"content": correction.content} if correction.content else {}))
    known = bodies.known_right(seen)
    return PartVerdict("corrected", known) if known else PartVerdict("incorrect")


def _check(correction: Correction, seen: Seen):
    """A correction says something else than what was done."""
    if correction.status not in STATUSES:
        raise Refused(_("A write should have been either written or refused."))
    if correction.content and correction.status != "written":
        raise Refused(_("What is refused leaves the file as it was: leave its content out."))
    if correction.status == seen.status and correction.content in ("", seen.after):
        raise Refused(_("This is what was done. Say what would have been right, or that it is right."))


def _says(sample, verdict, status):
    """Whether this very verdict is in force, and somebody gave it."""
    known = (sample.annotation_status, sample.guardian_label, sample.guardian_corrected_output)
    return known == (status, verdict.label, verdict.corrected_json)
