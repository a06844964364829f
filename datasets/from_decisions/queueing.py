"""Decisions that people are to look at, put into the review queue."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from gate.models import MemoryGateDecision
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import listed

from .. import annotated_turns, services, turn_facts
from ..models import DatasetSample
from ..review.queues import WAITING
from ..words import EXCLUDED_WORDS
from . import making, said, window_words
from .seen import Seen, seen_of


@dataclass(slots=True)
class Queued(services.Made):
    """What `queue` did: ids of new samples and of those that wait already; decisions left out and why."""

    @property
    def sentence(self) -> str:
        """The result in words."""
        count = len(self.made)
        parts = [
            ngettext("%(count)s sample added to the queue", "%(count)s samples added to the queue", count)
            % {"count": count}
        ]
        if count := len(self.existing):
            parts.append(ngettext("%(count)s already existed", "%(count)s already existed", count) % {"count": count})
        if count := len(self.skipped) + self.excluded.total():
            parts.append(
                ngettext("%(count)s decision skipped", "%(count)s decisions skipped", count) % {"count": count}
            )
        return _("%(parts)s.") % {"parts": listed(parts)}

    @property
    def problems(self) -> list[str]:
        """One sentence for each reason that decisions were left out for, with how many."""
        counts: defaultdict[str, int] = defaultdict(int)
        for reason, count in self.excluded.items():
            counts[str(EXCLUDED_WORDS[reason])] += count
        for skipped in self.skipped:
            counts[skipped["reason"]] += 1
        return [
            ngettext("%(count)s decision: %(reason)s", "%(count)s decisions: %(reason)s", count)
            % {"count": count, "reason": reason}
            for reason, count in counts.items()
        ]


def queue(agent: Agent, decision_ids: Collection[str], *, by: str) -> Queued:
    """Have people look at these decisions: each gets an `annotated_turn` sample that needs review.

    One without a turn gets a sample of its own. A sample that waits already stays as it is. Left out with a reason are
    decisions that cannot become samples, and those that somebody has judged: a verdict is never taken back this way.
    """
    result = Queued()
    rows = MemoryGateDecision.objects.using(agent.db).defer("raw_response").in_bulk(list(decision_ids))
    known = said.of(agent.agent_id, rows.values())
    by_session: defaultdict[str, dict[str, Seen]] = defaultdict(dict)
    for decision_id in dict.fromkeys(decision_ids):
        reason, seen = _why_not(agent, rows.get(decision_id), known, by_session)
        if reason:
            result.skip(decision_id, reason)
        elif seen and seen.turn is None:
            _queue_own(agent, seen, result)
    for session_id, seen in by_session.items():
        _queue_session(agent, session_id, list(seen.values()), by, result)
    return result


def _why_not(agent, decision, known, by_session):
    """Why a decision is left out, and what it is made of; one with a turn is added to its session, once for a turn."""
    if decision is None:
        return _("There is no such decision."), None
    if decision.id in known:
        return _("Somebody has judged this decision."), None
    try:
        seen = seen_of(agent, decision)
    except Refused as refused:
        return refused.sentence, None
    if seen.turn is None:
        return "", seen
    others = by_session[seen.turn.session_id]
    if seen.turn.id in others:
        return _("Another decision of the same turn is in the queue."), None
    others[seen.turn.id] = seen
    return "", seen


def _queue_own(agent, seen, result):
    """The sample of a decision without a turn, unless exports leave it out by default: nobody is asked unasked."""
    facts = window_words.read_facts(seen.window)
    reason = turn_facts.exclusion(facts["prompted_by"], facts["reply_stop"], facts["turn_traits"])
    if reason:
        result.excluded[reason] += 1
        return
    sample, is_new = making.add_own(agent, seen, status=DatasetSample.Status.NEEDS_REVIEW)
    if is_new:
        result.made.append(sample.id)
    elif sample.annotation_status in WAITING:
        result.existing.append(sample.id)
    else:
        result.skip(seen.decision.id, _("The sample of this decision has been reviewed."))


def _queue_session(agent, session_id, seen, by, result):
    for start in range(0, len(seen), services.MOST_TURNS):
        part = {one.turn.turn_number: one for one in seen[start : start + services.MOST_TURNS]}
        chosen = {one.turn.id: one.decision for one in part.values()}
        status = DatasetSample.Status.NEEDS_REVIEW
        made = services.make_samples(
            agent, session_id, part, by=by, chosen=chosen, status=status, include_excluded=False
        )
        result.made += made.made
        result.excluded += made.excluded
        for skipped in made.skipped:
            result.skip(part[int(skipped["id"])].decision.id, skipped["reason"])
        _note_existing(agent, part.values(), set(made.existing), result)


def _note_existing(agent, seen, existing, result):
    samples = DatasetSample.objects.defer("content").in_bulk(list(existing))
    for one in seen:
        sample = samples.get(annotated_turns.sample_id(agent.agent_id, one.turn.id))
        if sample is None:
            continue
        if sample.decision_id != one.decision.id:
            result.skip(one.decision.id, _("The sample of its turn is about another decision."))
        elif sample.annotation_status not in WAITING:
            result.skip(one.decision.id, _("The sample of its turn has been reviewed."))
        else:
            result.existing.append(sample.id)
