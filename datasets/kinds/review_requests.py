"""Puts decisions, and writes that were corrected or rolled back, into the review queue."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from gate.models import MemoryGateDecision
from guardian.models import BehaviorCorrection, Rollback
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.errors import Refused
from openclaw_web.sentences import join_sentences

from .. import services
from ..models import DatasetSample
from ..review.queues import WAITING
from ..words import EXCLUDED_WORDS
from . import decision as decisions
from . import sample_store
from . import turn as turns
from . import write as writes
from .decision import DECISION, DecisionSubject
from .sample_store import QUEUED, CreationResult
from .verdict_service import CurrentVerdict, find_verdicts
from .write import WRITE

MOST = 200  # writes of one request, the newest
MOST_REASONS = 3  # in one message
NEEDS_REVIEW = DatasetSample.Status.NEEDS_REVIEW
DECISIONS_SKIPPED = ngettext_lazy("%(count)s decision skipped", "%(count)s decisions skipped", "count")
WRITES_SKIPPED = ngettext_lazy("%(count)s write skipped", "%(count)s writes skipped", "count")


def queue_decisions(agent: Agent, decision_ids: Collection[str], *, by: str) -> CreationResult:
    """Send these decisions to review: each gets an `annotated_turn` sample that needs review.

    One without a turn gets a sample of its own. A sample that waits already stays as it is. Left out with a reason are
    decisions that cannot become samples, and those that somebody has judged: a verdict is never taken back this way.
    """
    result = CreationResult(QUEUED, DECISIONS_SKIPPED)
    rows = MemoryGateDecision.objects.using(agent.db).defer("raw_response").in_bulk(list(decision_ids))
    judgments = find_verdicts(DECISION, agent, rows.values())
    by_session: defaultdict[str, dict[str, DecisionSubject]] = defaultdict(dict)
    for decision_id in dict.fromkeys(decision_ids):
        try:
            subject = _read_subject(agent, rows.get(decision_id), judgments)
            if subject.turn is None:
                _queue_own(agent, subject, result)
            elif by_session[subject.turn.session_id].setdefault(subject.turn.id, subject) is not subject:
                raise Refused(_("Another decision of the same turn is in the queue."))
        except Refused as refused:
            result.skip(decision_id, refused.sentence)
    for session_id, by_turn in by_session.items():
        _queue_session(agent, session_id, list(by_turn.values()), by, result)
    return result


def describe_problems(result: CreationResult) -> list[str]:
    """One sentence for each reason that decisions were left out for, with their number."""
    counts = Counter({str(EXCLUDED_WORDS[reason]): count for reason, count in result.excluded.items()})
    counts.update(skipped["reason"] for skipped in result.skipped)
    return [
        ngettext("%(count)s decision: %(reason)s", "%(count)s decisions: %(reason)s", count)
        % {"count": count, "reason": reason}
        for reason, count in counts.items()
    ]


def queue_writes(agent: Agent) -> CreationResult:
    """Send corrected or rolled back writes to review: each gets a sample that needs review.

    The label of the sample is what the correction or rollback says, for a reviewer to approve. The newest come first; a
    write that has a sample already keeps it.
    """
    result = CreationResult(QUEUED, WRITES_SKIPPED)
    corrections = BehaviorCorrection.objects.using(agent.db).order_by("-corrected_at")
    rollbacks = Rollback.objects.using(agent.db).order_by("-rolled_back_at")
    corrected = corrections.values_list("corrected_at", "audit_id")[: 5 * MOST]
    rolled_back = rollbacks.values_list("rolled_back_at", "audit_id")[: 5 * MOST]
    ids = list(dict.fromkeys(audit_id for _at, audit_id in sorted([*corrected, *rolled_back], reverse=True)))
    samples = writes.find_samples(agent, ids)
    result.existing = [name for name in ids if name in samples]
    new = [name for name in ids if name not in samples]
    for audit_id in new[:MOST]:
        try:
            subject = writes.read_subject(agent, writes.find(agent, audit_id))
            sample = sample_store.build_sample(WRITE, agent, audit_id, subject, status=NEEDS_REVIEW)
            if reason := sample_store.find_exclusion(sample):  # left out by default, so not sent to review unasked
                raise Refused(f"{EXCLUDED_WORDS[reason]}.")
            sample_store.add_sample(agent, sample)
            result.made.append(sample.id)
        except Refused as refused:
            result.skip(audit_id, refused.sentence)
    for audit_id in new[MOST:]:
        result.skip(audit_id, _("Too many at once: ask again."))
    return result


def describe_queued_writes(result: CreationResult) -> str:
    """The result as a sentence, with the first reasons that writes were left out for."""
    reasons = list(dict.fromkeys(skipped["reason"] for skipped in result.skipped))[:MOST_REASONS]
    return join_sentences([result.sentence, *reasons])


def _read_subject(
    agent, decision: MemoryGateDecision | None, judgments: Mapping[str, CurrentVerdict]
) -> DecisionSubject:
    if decision is None:
        raise Refused(_("There is no such decision."))
    if decision.id in judgments:
        raise Refused(_("Somebody has judged this decision."))
    return decisions.read_subject(agent, decision)


def _queue_own(agent, subject, result):
    """Queue the own sample of a decision without a turn, unless exports exclude it by default."""
    sample = sample_store.build_sample(DECISION, agent, subject.decision.id, subject, status=NEEDS_REVIEW)
    if reason := sample_store.find_exclusion(sample):
        result.excluded[reason] += 1
        return
    sample, is_new = decisions.add_own_sample(agent, sample)
    if is_new:
        result.made.append(sample.id)
    elif sample.annotation_status in WAITING:
        result.existing.append(sample.id)
    else:
        result.skip(subject.decision.id, _("The sample of this decision has been reviewed."))


def _queue_session(agent, session_id, subjects, by, result):
    for start in range(0, len(subjects), services.MOST_TURNS):
        part = {subject.turn.turn_number: subject for subject in subjects[start : start + services.MOST_TURNS]}
        chosen = {subject.turn.id: subject.decision for subject in part.values()}
        options = {"by": by, "chosen": chosen, "status": NEEDS_REVIEW, "include_excluded": False}
        created = services.make_samples(agent, session_id, part, **options)
        result.made += created.made
        result.excluded += created.excluded
        for skipped in created.skipped:
            result.skip(part[int(skipped["id"])].decision.id, skipped["reason"])
        _note_existing(agent, part.values(), set(created.existing), result)


def _note_existing(agent, subjects, existing, result):
    samples = DatasetSample.objects.defer("content").in_bulk(list(existing))
    for subject in subjects:
        sample = samples.get(turns.compute_sample_id(agent.agent_id, subject.turn.id))
        if sample is None:
            continue
        if sample.decision_id != subject.decision.id:
            result.skip(subject.decision.id, _("The sample of its turn is about another decision."))
        elif sample.annotation_status not in WAITING:
            result.skip(subject.decision.id, _("The sample of its turn has been reviewed."))
        else:
            result.existing.append(sample.id)
