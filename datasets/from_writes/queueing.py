"""Writes that people corrected or took back, put into the review queue."""

from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from guardian.models import BehaviorCorrection, Rollback
from openclaw_web.errors import Refused
from openclaw_web.pages.formatting import joined, listed

from .. import turn_facts
from ..from_decisions.making import stored
from ..likeness import signatures
from ..models import DatasetSample
from ..words import EXCLUDED_WORDS
from . import making, said
from .seen import seen_of, write_of

MOST = 200  # of one request, the newest
MOST_REASONS = 3  # that are said
Status = DatasetSample.Status


@dataclass(slots=True)
class Queued:
    """Ids of new samples and of writes that had one; writes left out and why (`{"id", "reason"}`)."""

    made: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The result in words."""
        counts = (
            (self.made, ngettext("%(count)s sample added to the queue", "%(count)s samples added to the queue",
                                 len(self.made))),
            (self.existing, ngettext("%(count)s already existed", "%(count)s already existed", len(self.existing))),
            (self.skipped, ngettext("%(count)s write skipped", "%(count)s writes skipped", len(self.skipped))),
        )  # fmt: skip
        parts = [words % {"count": len(some)} for some, words in counts if some or some is self.made]
        reasons = list(dict.fromkeys(one["reason"] for one in self.skipped))[:MOST_REASONS]
        return joined([_("%(parts)s.") % {"parts": listed(parts)}, *reasons])


def queue(agent: Agent) -> Queued:
    """Have people look at writes that were corrected or rolled back: each gets a sample that needs review.

    It comes with what was said or done about the write as its label, for a reviewer to approve. The newest come first;
    a write that has a sample already keeps it.
    """
    result = Queued()
    ids = _judged(agent.db)
    known = said.samples_of(agent, ids)
    result.existing = [name for name in ids if name in known]
    left = [name for name in ids if name not in known]
    for audit_id in left[:MOST]:
        try:
            sample = making.sample_of(agent, seen_of(agent, write_of(agent, audit_id)), status=Status.NEEDS_REVIEW)
            _refuse_excluded(sample)
            with stored(agent, sample):
                result.made.append(sample.id)
        except Refused as refused:
            result.skipped.append({"id": audit_id, "reason": refused.sentence})
            continue
        signatures.complete(sample.id)
    if len(left) > MOST:
        result.skipped += [{"id": name, "reason": _("Too many at once: ask again.")} for name in left[MOST:]]
    return result


def _refuse_excluded(sample):
    """Raises Refused for a write of a turn that exports leave out by default: nobody is asked about it unasked."""
    facts = (sample.prompted_by, sample.reply_stop, sample.turn_traits)
    if reason := turn_facts.exclusion(*facts):
        raise Refused(f"{EXCLUDED_WORDS[reason]}.")


def _judged(db):
    """Ids of the newest writes that were corrected or rolled back, the last said about first."""
    corrected = BehaviorCorrection.objects.using(db).order_by("-corrected_at").values_list("corrected_at", "audit_id")
    rolled_back = Rollback.objects.using(db).order_by("-rolled_back_at").values_list("rolled_back_at", "audit_id")
    found = sorted([*corrected[: 5 * MOST], *rolled_back[: 5 * MOST]], reverse=True)
    return list(dict.fromkeys(audit_id for _at, audit_id in found))
