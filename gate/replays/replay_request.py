"""Describes the decisions of a replay for its page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from agents.models import Agent
from openclaw_web.amounts import format_plural

from ..lists.decision_list import DecisionFilters
from ..models import RegressionSet
from ..runner import config, prompts
from ..runner.config import Gate
from ..runner.prompts import Prompt

MAX_DECISIONS = 5_000  # decisions of one replay
DEFAULT_LIMIT = 100


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """A request for a replay.

    It is about decisions that fit the `filters` of their list (arguments of `DECISIONS.fits`); of more than `limit`,
    the newest. With `is_approved` only decisions of approved samples, with `ids` only these; `set_number` is the
    version of the regression set that they are of. `prompt` is a text; empty: the active prompt.
    """

    model: str
    prompt: str = ""
    limit: int = DEFAULT_LIMIT
    filters: Mapping[str, Any] = field(default_factory=dict)
    is_approved: bool = False
    ids: tuple[str, ...] | None = None
    set_number: int | None = None

    @classmethod
    def from_set(cls, regression_set: RegressionSet, model: str, prompt: str = "") -> Self:
        """Return the request for the decisions of a regression set."""
        return cls(model, prompt, MAX_DECISIONS, ids=tuple(regression_set.cases), set_number=regression_set.number)

    @property
    def gate(self) -> Gate:
        """Return the gate that is asked.

        Its endpoint has no host while none is configured.
        """
        text, active_prompt = self.prompt.replace("\r\n", "\n").strip(), prompts.get_active_prompt()
        is_other = text and text != active_prompt.text.strip()  # forms strip the text
        return config.build_gate(self.model, Prompt(text) if is_other else active_prompt)

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the choice of decisions as a replay stores it."""
        named = {name: value for name, value in self.filters.items() if value not in (None, "", False)}
        choice: dict[str, Any] = {"filters": named, "limit": self.limit}
        if self.is_approved:
            choice["approved"] = True
        if self.set_number is not None:
            choice |= {"set": f"gate-{self.set_number}", "version": self.set_number}
        if self.ids is not None:
            choice["ids"] = len(self.ids)
        return choice

    def find_allowed_ids(self, agent: Agent) -> set[str] | None:
        """Return the ids that the decisions are limited to; None: no limit."""
        ids = None if self.ids is None else set(self.ids)
        if not self.is_approved:
            return ids
        approved = set(import_string(settings.APPROVED_DECISIONS)(agent.agent_id))
        return approved if ids is None else approved & ids


def describe_filters(choice: dict[str, Any]) -> list[tuple[str, str]]:
    """Return labels and values of a replay's filters; empty for all decisions."""
    form = DecisionFilters({})
    form.is_valid()
    labels = []
    for name, value in choice.get("filters", {}).items():
        if name in ("since", "until"):
            moment = f"{datetime.fromtimestamp(value / 1000, UTC):%Y-%m-%d %H:%M} UTC"
            labels.append((pgettext("time", "From") if name == "since" else _("Before"), moment))
        elif name in form.fields:
            label = DecisionFilters.CHIPS.get(name) or form.fields[name].label
            labels.append((str(label), form.in_words(name, value)))
    if choice.get("approved"):
        labels.append((_("Only decisions in approved samples"), ""))
    if version := choice.get("version"):
        labels.append((_("Regression set"), _("version %(number)s") % {"number": version}))
    if count := choice.get("ids"):
        labels.append((format_plural("%(count)s decision by ID", "%(count)s decisions by ID", count), ""))
    return labels
