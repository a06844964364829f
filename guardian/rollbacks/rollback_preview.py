"""A rollback before it is done, as pages, the API and commands show it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from agents.models import Agent
from openclaw_web.diffs import line_diff, unified_format
from openclaw_web.errors import Refused
from openclaw_web.pages import glyphs

from ..handover import offers
from ..handover.offers import Offer
from ..services import bytes_to_text, read_version_bytes
from ..standing import effects
from ..standing.effects import EffectNotice
from . import workspace, workspace_access
from .merge import Conflict
from .rollback_plan import RollbackPlan, hash_content

MOST_EDITED = 200_000  # characters of a file that a person may edit on a page


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two contents of a file beside each other.

    `patch` is empty where the change is too long for one.
    """

    diff: line_diff.Diff
    view: line_diff.View
    patch: str


@dataclass(frozen=True, slots=True)
class RollbackPreview:
    """Preview of one rollback.

    `since` is what somebody else changed since the write, or None.
    """

    plan: RollbackPlan
    change: Comparison
    since: Comparison | None
    problem: str  # why this site does not write it; empty: it does
    effect: EffectNotice
    offer: Offer

    @property
    def conflicts(self) -> list[Conflict]:
        """The conflicts, with text that can be shown."""
        return [
            Conflict(
                conflict.hunk,
                *(tuple(map(readable, lines)) for lines in (conflict.before, conflict.after, conflict.current)),
            )
            for conflict in self.plan.conflicts
        ]

    @property
    def can_hand_over(self) -> bool:
        """Whether the change can be handed to the agent.

        A version can be put back first only where this site writes.
        """
        return self.offer.is_needed and not self.offer.problem and not (self.offer.puts_back and self.problem)

    @property
    def editable(self) -> str | None:
        """The new content for a person to edit; None where a page would change its bytes."""
        data = self.plan.new_content or b""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        is_plain = "\0" not in text and len(text) <= MOST_EDITED and ending_of(text) is not None
        return text if is_plain else None

    @property
    def has_hidden_characters(self) -> bool:
        """Whether the editable text has characters that an editor hides, or that reorder it."""
        return glyphs.HIDDEN.search(self.editable or "") is not None


def build_preview(agent: Agent, plan: RollbackPlan) -> RollbackPreview:
    after = read_version_bytes(plan.audit.after_snapshot) if plan.audit.after_snapshot else None
    since = None if hash_content(after) == hash_content(plan.now) else compare_contents(after, plan.now, plan.name)
    offer = offers.offer_rollback(agent, plan)
    if plan.is_done and offer.puts_back and (reason := find_problem(agent, [plan.name])):
        offer = replace(offer, problem=reason)
    is_change = plan.conflicts or plan.contents()
    effect = effects.build_notice({plan.name: offer.effect} if is_change else {})
    return RollbackPreview(
        plan,
        compare_contents(plan.now, plan.new_content, plan.name),
        since,
        find_problem(agent, [] if plan.is_done else [plan.name], writes=not plan.is_done),
        effect,
        offer,
    )


def compare_contents(old: bytes | None, new: bytes | None, name: str) -> Comparison:
    """Compare two contents of a file; None means no file."""
    diff = line_diff.compare(*(None if data is None else readable(bytes_to_text(data)) for data in (old, new)))
    view = line_diff.build_view(diff)
    patch = "" if view.left_out else unified_format.format_patch(view, name, is_new=old is None)
    return Comparison(diff, view, patch)


def find_problem(agent: Agent, names: Iterable[str], *, writes: bool = True) -> str:
    """Return why this site does not write these memory files; empty if it does.

    It may not write into workspaces at all. Without `writes` the rollback is only stored.
    """
    try:
        workspace_access.check_enabled()
        if not writes:
            return ""
        workspace_access.check_writes()
        with workspace.open_workspace(workspace_access.get_workspace(agent)) as folder:
            for name in names:
                folder.check(name)
    except Refused as refused:
        return refused.sentence
    return ""


def readable(text: str) -> str:
    """Return a text that can be sent to a browser, without bytes of other encodings."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def ending_of(text: str) -> str | None:
    """Return how all lines of a text end.

    None where they differ, or where a browser would change them.
    """
    windows = text.count("\r\n")
    if text.count("\r") != windows:
        return None
    if windows:
        return "\r\n" if windows == text.count("\n") else None
    return "\n"


def restore_line_endings(text: str, plan: RollbackPlan) -> bytes:
    """Encode what a person typed into a page, with the file's line endings.

    A browser sends other line endings.
    """
    ending = ending_of((plan.new_content or b"").decode("utf-8", "replace")) or "\n"
    return text.replace("\r\n", "\n").replace("\n", ending).encode()
