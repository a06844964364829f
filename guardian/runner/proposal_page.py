"""Proposals as pages and the API read them."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from agents.models import Agent
from openclaw_web.diffs import unified_format
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import Page, page_of

from ..handover import offers
from ..handover.offers import Offer
from ..models import GuardianRun
from ..rollbacks import workspace_access
from ..standing import effects
from ..standing.effects import EffectNotice
from . import proposals
from .proposals import ProposalPreview

SIZE = 50


@dataclass(frozen=True, slots=True)
class ProposalContext:
    """A proposal with what approving it would do (None: nothing can be done), and why it cannot be written now."""

    run: GuardianRun
    made: ProposalPreview | None
    problem: str
    effect: EffectNotice | None = None
    offer: Offer | None = None

    @property
    def can_hand_over(self) -> bool:
        """Whether the change can be handed to the agent; a version can be put back only where this site writes."""
        offer = self.offer
        return bool(offer and offer.is_needed and not offer.problem and not (offer.puts_back and self.problem))

    @property
    def texts(self) -> tuple[str | None, str]:
        """What the file holds and would hold; for what waits no more, what it held when the model was asked."""
        if self.made:
            now, wanted = self.made.now, self.made.wanted
        else:
            now, after = proposals.read_contents(self.run)
            wanted = after or b""
        old = None if now is None else now.decode("utf-8", "replace")
        return old, wanted.decode("utf-8", "replace")

    @property
    def patch(self) -> str:
        """The change as `patch` takes it."""
        old, new = self.texts
        return unified_format.format_text_patch(old, new, self.run.target_file)

    @property
    def is_held(self) -> bool:
        """Whether the file holds by now what approving would write."""
        return self.made is not None and self.made.wanted == self.made.now

    @property
    def is_awaited(self) -> bool:
        """Whether the model has still to answer."""
        return self.run.state in (GuardianRun.State.QUEUED, GuardianRun.State.RUNNING)

    @property
    def has_change(self) -> bool:
        """Whether there is a change to be shown."""
        return self.run.after_zstd is not None


def read_proposal_page(agent: Agent, *, is_waiting: bool = True, **place: Any) -> Page:
    """The proposals that wait, or all runs, the newest first."""
    rows = GuardianRun.objects.using(agent.db).defer("before_zstd", "after_zstd")
    rows = rows.filter(state=GuardianRun.State.PROPOSED) if is_waiting else rows
    return page_of(rows, order=("-created_at", "-id"), **place)


def build_proposal_context(agent: Agent, run: GuardianRun) -> ProposalContext:
    """One proposal as the file is now."""
    if run.state != GuardianRun.State.PROPOSED:
        return ProposalContext(run, None, "")
    try:
        made = proposals.preview(agent, run)
    except Refused as refused:
        return ProposalContext(run, None, refused.sentence)
    if made.conflicts:
        return ProposalContext(run, None, proposals.conflict_sentence())
    offer = offers.offer_proposal(agent, made)
    effect = effects.build_notice({} if made.wanted == made.now else {run.target_file: offer.effect})
    return ProposalContext(run, made, "" if settings.WORKSPACE_WRITES else _no_writes(), effect, offer)


def _no_writes():
    try:
        workspace_access.check_writes()
    except workspace_access.MayNotWrite as refused:
        return refused.sentence
    return ""
