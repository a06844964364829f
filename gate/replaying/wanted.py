"""What somebody wants replayed: which decisions, and by which model with which prompt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from agents.models import Agent

from ..deciding import gates, prompts
from ..deciding.gates import Gate
from ..deciding.prompts import Prompt

MOST = 5_000  # decisions of one replay
USUAL = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """Decisions that fit the `filters` of their list (as `DECISIONS.fits` takes them), of more than `limit` the newest.

    With `is_approved` only those that approved samples are about, with `ids` only these. `prompt` is a text; empty: the
    prompt in force.
    """

    model: str
    prompt: str = ""
    limit: int = USUAL
    filters: Mapping[str, Any] = field(default_factory=dict)
    is_approved: bool = False
    ids: tuple[str, ...] | None = None

    @property
    def gate(self) -> Gate:
        """Who is asked; its endpoint has no host while none is configured."""
        text, in_force = self.prompt.replace("\r\n", "\n").strip(), prompts.in_force()
        is_other = text and text != in_force.text.strip()  # forms take off what stands around a text
        return gates.other(self.model, Prompt(text) if is_other else in_force)

    @property
    def chosen(self) -> dict[str, Any]:
        """Which decisions these are, as a replay keeps it."""
        named = {name: value for name, value in self.filters.items() if value not in (None, "", False)}
        found: dict[str, Any] = {"filters": named, "limit": self.limit}
        if self.is_approved:
            found["approved"] = True
        if self.ids is not None:
            found["ids"] = len(self.ids)
        return found

    def among(self, agent: Agent) -> set[str] | None:
        """The ids that the decisions are limited to; None: no limit."""
        found = None if self.ids is None else set(self.ids)
        if not self.is_approved:
            return found
        approved = set(import_string(settings.APPROVED_DECISIONS)(agent.agent_id))
        return approved if found is None else approved & found
