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
    """A proposal with its preview, and why it cannot be written now.

    `preview` is None when nothing can be written.
    """

    run: GuardianRun
    preview: ProposalPreview | None
    problem: str
    effect: EffectNotice | None = None
    offer: Offer | None = None

    @property
    def can_hand_over(self) -> bool:
        """Whether the change can be handed to the agent.

        A version can be put back first only where this site writes.
        """
        offer = self.offer
        return bool(offer and offer.is_needed and not offer.problem and not (offer.puts_back and self.problem))

    @property
    def texts(self) -> tuple[str | None, str]:
        """The old and the new text of the file.

        While a proposal waits, these are what the file holds and would hold. Afterwards the old text is what the file
        held when the model was asked.
        """
        if self.preview:
            now, new_content = self.preview.now, self.preview.new_content
        else:
            now, after = proposals.read_contents(self.run)
            new_content = after or b""
        old = None if now is None else now.decode("utf-8", "replace")
        return old, new_content.decode("utf-8", "replace")

    @property
    def patch(self) -> str:
        """The change in the format of `patch`."""
        old, new = self.texts
        return unified_format.format_text_patch(old, new, self.run.target_file)

    @property
    def is_held(self) -> bool:
        """Whether the file already holds what approving would write."""
        return self.preview is not None and self.preview.new_content == self.preview.now

    @property
    def is_awaited(self) -> bool:
        """Whether the model has not answered yet."""
        return self.run.state in (GuardianRun.State.QUEUED, GuardianRun.State.RUNNING)

    @property
    def has_change(self) -> bool:
        return self.run.after_zstd is not None


def read_proposal_page(agent: Agent, *, is_waiting: bool = True, **place: Any) -> Page:
    """Return one page of waiting proposals, or of all runs, the newest first."""
    rows = GuardianRun.objects.using(agent.db).defer("before_zstd", "after_zstd")
    rows = rows.filter(state=GuardianRun.State.PROPOSED) if is_waiting else rows
    return page_of(rows, order=("-created_at", "-id"), **place)


def build_proposal_context(agent: Agent, run: GuardianRun) -> ProposalContext:
    """Return a proposal with its preview against the file as it is now."""
    if run.state != GuardianRun.State.PROPOSED:
        return ProposalContext(run, None, "")
    try:
        preview = proposals.preview(agent, run)
    except Refused as refused:
        return ProposalContext(run, None, refused.sentence)
    if preview.conflicts:
        return ProposalContext(run, None, proposals.conflict_sentence())
    offer = offers.offer_proposal(agent, preview)
    effect = effects.build_notice({} if preview.new_content == preview.now else {run.target_file: offer.effect})
    return ProposalContext(run, preview, "" if settings.WORKSPACE_WRITES else _find_write_problem(), effect, offer)


def _find_write_problem():
    try:
        workspace_access.check_writes()
    except workspace_access.MayNotWrite as refused:
        return refused.sentence
    return ""
