"""Versions of prompts: their texts, and the changes between two of them."""

from dataclasses import dataclass
from typing import Any

from agents.models import Agent
from openclaw_web.diffs import line_diff, text_excerpts
from openclaw_web.lists.list_counts import RowCount, count_rows

from ..models import GateCall, GatePrompt, MemoryGateDecision

MAX_OFFERED = 50  # versions to compare with


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """A version of a prompt.

    A plugin names versions without their texts: `row` is None for those.
    """

    id: str
    row: GatePrompt | None
    decisions: RowCount


def find_prompt(agent: Agent, prompt_id: str) -> PromptVersion | None:
    """Return a version that has a text, or that a decision or a call names.

    None for an unknown version.
    """
    row = GatePrompt.objects.using(agent.db).filter(id=prompt_id).first()
    version_decisions = MemoryGateDecision.objects.using(agent.db).filter(prompt_version=prompt_id)
    count = count_rows(version_decisions, column="created_at")
    if row is None and not count.count:
        calls = GateCall.objects.using(agent.db).filter(prompt_version=prompt_id)
        if not calls.exists():
            return None
    return PromptVersion(prompt_id, row, count)


def build_prompt_context(agent: Agent, prompt: PromptVersion, *, from_id: str = "", line: int = 1) -> dict[str, Any]:
    """Return the context of a version's page.

    Its text, and the changes since `from_id`, or since the version before it.
    """
    if prompt.row is None:
        return {"prompt": prompt, "piece": None, "others": [], "old": None, "diff": None, "view": None}
    others = GatePrompt.objects.using(agent.db).exclude(id=prompt.id).order_by("-created_at", "id")[:MAX_OFFERED]
    old = next((other for other in others if other.id == from_id), None)
    if old is None and not from_id:
        old = next((other for other in others if other.created_at <= prompt.row.created_at), None)
    diff = line_diff.compare(old.text, prompt.row.text) if old else None
    return {
        "prompt": prompt,
        "piece": text_excerpts.cut_excerpt(prompt.row.text, line),
        "others": others,
        "old": old,
        "diff": diff,
        "view": line_diff.build_view(diff) if diff else None,
    }
