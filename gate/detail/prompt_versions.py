"""Versions of prompts: their texts, and what changed from one to another."""

from dataclasses import dataclass
from typing import Any

from agents.models import Agent
from openclaw_web.diffs import line_diff, text_excerpts
from openclaw_web.lists.list_counts import RowCount, count_rows

from ..models import GateCall, GatePrompt, MemoryGateDecision

OFFERED = 50  # versions to compare with


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """A version of a prompt. A plugin names versions whose texts it does not tell: then there is no row."""

    id: str
    row: GatePrompt | None
    decisions: RowCount


def find_prompt(agent: Agent, prompt_id: str) -> PromptVersion | None:
    """A version that has a text, or that a decision or a call names; None when nobody knows it."""
    row = GatePrompt.objects.using(agent.db).filter(id=prompt_id).first()
    made = MemoryGateDecision.objects.using(agent.db).filter(prompt_version=prompt_id)
    count = count_rows(made, column="created_at")
    if row is None and not count.count:
        calls = GateCall.objects.using(agent.db).filter(prompt_version=prompt_id)
        if not calls.exists():
            return None
    return PromptVersion(prompt_id, row, count)


def build_prompt_context(agent: Agent, prompt: PromptVersion, *, from_id: str = "", line: int = 1) -> dict[str, Any]:
    """What the page of a version shows: its text, and what changed since `from_id` or the version before it."""
    if prompt.row is None:
        return {"prompt": prompt, "piece": None, "others": [], "old": None, "diff": None, "view": None}
    others = GatePrompt.objects.using(agent.db).exclude(id=prompt.id).order_by("-created_at", "id")[:OFFERED]
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
