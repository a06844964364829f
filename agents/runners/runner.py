"""The declaration of a runner: a language model that is asked about items of an agent.

Each app declares its own runner. The questions about an item stay in that app; the code that all runners share reads
this declaration.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.llm import endpoint, prices
from people.configuration import catalogue
from people.configuration import setting_values as configuration

from ..models import Agent
from .calls import Allowance

Words = str | Promise
MODEL, PRICES = "llm.model", "llm.prices"


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model, its endpoint, and the configured prices."""

    endpoint: endpoint.Endpoint
    model: str
    prices: Mapping[str, tuple[float, float]]

    @property
    def prompt_version(self) -> str:
        """Return the version of its prompt."""
        raise NotImplementedError

    @property
    def least_tokens(self) -> int:
        """Return the least tokens that a call takes from the limit of a day."""
        raise NotImplementedError

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Return the cost in US dollars; None when the model has no configured price."""
        return prices.cost(self.prices, self.model, prompt_tokens, completion_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A kind of run over items of an agent; only one runs at a time.

    `kind` is that of its job. `enabled` and `recording_setting` are the settings without which nothing is sent,
    `is_off` and `not_kept` are the sentences that say so. `is_running` names the agent whose run blocks another one,
    `gave_up` counts the items in a row without an answer that ended a run. A call that fails leaves its item
    unanswered, and the run continues. A refusal ends the run, unless `passes_over_refused`.
    """

    kind: str
    page: str  # the route of its page for an agent
    allowance: Allowance
    enabled: str
    recording_setting: str
    is_off: Words
    not_kept: Words
    is_running: Words
    gave_up: Any  # a lazy plural by `number`
    passes_over_refused: bool = False

    def lock_name(self, agent_id: str) -> str:
        """Return the name of the lock file that a run of an agent holds."""
        return f"{self.kind.replace('_', '-')}-{agent_id}.lock"

    def problem_of(self, model: str = "") -> str:
        """Say why nothing may be sent now; empty when something may.

        `model`: the model to ask instead of the configured one.
        """
        if problem := endpoint.describe_problem():
            return problem
        values = configuration.get_many(self.enabled, MODEL, self.recording_setting)
        if not (model or values[MODEL]):
            return _("No model is chosen: llm.model is empty in the settings.")
        if not values[self.recording_setting]:
            return str(self.not_kept)
        return "" if values[self.enabled] else str(self.is_off)

    def address(self, agent: Agent) -> str:
        """Return the address of its page for an agent."""
        return reverse(self.page, args=[agent.agent_id])

    def check(self, model: str = "") -> None:
        """Raises Refused with the setting that is missing or off when nothing may be sent, to `model` if given."""
        if problem := self.problem_of(model):
            raise Refused(problem)


def build_estimate(
    runner: Runner, agent: Agent, model: LanguageModel, prompt_tokens: int, answer_tokens: int, problem: str
) -> dict[str, Any]:
    """Build the values that every plan has, from the estimated tokens of a run.

    `problem` says why nothing can be sent.
    """
    return {
        "agent": agent.agent_id,
        "host": model.endpoint.host,
        "model": model.model,
        "prompt_version": model.prompt_version,
        "tokens": prompt_tokens + answer_tokens,
        "cost_usd": model.cost(prompt_tokens, answer_tokens),
        "limit_today": runner.allowance.limit,
        "left_today": runner.allowance.remaining_tokens(agent.db),
        "problem": problem,
    }


def read_configured_model(*settings: str) -> tuple[LanguageModel, dict[str, Any]]:
    """Return the model of the settings, also while nothing may be sent.

    Its endpoint has no host then, or it has no name. The second value has the other settings, read in the same query.
    """
    values = configuration.get_many(MODEL, PRICES, *settings)
    try:
        configured_endpoint = endpoint.from_environment()
    except Refused:
        configured_endpoint = endpoint.Endpoint("", "")
    return LanguageModel(configured_endpoint, values[MODEL], catalogue.parse_prices(values[PRICES])), values
