"""What somebody wants replayed: which decisions, and by which model with which prompt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from agents.models import Agent

from ..lists.decision_list import DecisionFilters
from ..runner import config, prompts
from ..runner.config import Gate
from ..runner.prompts import Prompt

MAX_DECISIONS = 5_000  # decisions of one replay
DEFAULT_LIMIT = 100


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Decisions that fit the `filters` of their list (as `DECISIONS.fits` takes them), of more than `limit` the newest.

    With `is_approved` only those that approved samples are about, with `ids` only these. `prompt` is a text; empty: the
    prompt in force.
    """

    model: str
    prompt: str = ""
    limit: int = DEFAULT_LIMIT
    filters: Mapping[str, Any] = field(default_factory=dict)
    is_approved: bool = False
    ids: tuple[str, ...] | None = None

    @property
    def gate(self) -> Gate:
        """Who is asked; its endpoint has no host while none is configured."""
        text, in_force = self.prompt.replace("\r\n", "\n").strip(), prompts.get_active_prompt()
        is_other = text and text != in_force.text.strip()  # forms take off what stands around a text
        return config.build_gate(self.model, Prompt(text) if is_other else in_force)

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

    def find_allowed_ids(self, agent: Agent) -> set[str] | None:
        """The ids that the decisions are limited to; None: no limit."""
        found = None if self.ids is None else set(self.ids)
        if not self.is_approved:
            return found
        approved = set(import_string(settings.APPROVED_DECISIONS)(agent.agent_id))
        return approved if found is None else approved & found


def describe_filters(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Labels and values of what a replay was limited to; nothing when it was about all decisions."""
    form = DecisionFilters({})
    form.is_valid()
    said = []
    for name, value in found.get("filters", {}).items():
        if name in ("since", "until"):
            said.append((pgettext("time", "From") if name == "since" else _("Before"), _moment(value)))
        elif name in form.fields:
            label = DecisionFilters.CHIPS.get(name) or form.fields[name].label
            said.append((str(label), form.in_words(name, value)))
    if found.get("approved"):
        said.append((_("Only decisions in approved samples"), ""))
    if count := found.get("ids"):
        words = ngettext("%(count)s decision by ID", "%(count)s decisions by ID", count)
        said.append((words % {"count": f"{count:,}"}, ""))
    return said


def _moment(value: Any) -> str:
    return f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M} UTC"
