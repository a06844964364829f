"""What a runner is: a language model that is asked about many things of one agent, one after the other.

Each app declares its own beside whom it asks. What is asked about and how stays in that app; what all of them do
around it reads this declaration.
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
    """A model, where it is asked, and the prices that are set."""

    endpoint: endpoint.Endpoint
    model: str
    prices: Mapping[str, tuple[float, float]]

    @property
    def prompt_version(self) -> str:
        """What its prompt is called."""
        raise NotImplementedError

    @property
    def least_tokens(self) -> int:
        """What no call of it takes less of from the limit of a day."""
        raise NotImplementedError

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """US dollars by the price that is set for the model; None when none is."""
        return prices.cost(self.prices, self.model, prompt_tokens, completion_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A kind of run over things of one agent, of which there is one at a time.

    `kind` is that of its job. `enabled` and `kept` are the settings without which nothing is sent, `is_off` and
    `not_kept` say so. `is_running` names the agent whose run holds up another one, `gave_up` counts the things in a row
    without an answer that ended a run. A call that fails leaves its thing unanswered, and the run goes on. A refusal
    ends the run, unless `passes_over_refused`.
    """

    kind: str
    page: str  # the route of its page of an agent
    allowance: Allowance
    enabled: str
    kept: str
    is_off: Words
    not_kept: Words
    is_running: Words
    gave_up: Any  # a lazy plural by `number`
    passes_over_refused: bool = False

    def lock_name(self, agent_id: str) -> str:
        """The file that a run of an agent holds."""
        return f"{self.kind.replace('_', '-')}-{agent_id}.lock"

    def problem_of(self, model: str = "") -> str:
        """Why nothing may be sent now, in a sentence; empty when something may be. `model`: another than is set."""
        if problem := endpoint.describe_problem():
            return problem
        values = configuration.get_many(self.enabled, MODEL, self.kept)
        if not (model or values[MODEL]):
            return _("No model is chosen: llm.model is empty in the settings.")
        if not values[self.kept]:
            return str(self.not_kept)
        return "" if values[self.enabled] else str(self.is_off)

    def address(self, agent: Agent) -> str:
        """Where its page of an agent is."""
        return reverse(self.page, args=[agent.agent_id])

    def check(self) -> None:
        """Raises Refused with what is missing when nothing may be sent now."""
        if problem := self.problem_of():
            raise Refused(problem)


def build_estimate(
    runner: Runner, agent: Agent, model: LanguageModel, asked: int, answered: int, problem: str
) -> dict[str, Any]:
    """What every plan says of a run that asks and answers so many tokens, and why nothing can be sent."""
    return {
        "agent": agent.agent_id,
        "host": model.endpoint.host,
        "model": model.model,
        "prompt_version": model.prompt_version,
        "tokens": asked + answered,
        "cost_usd": model.cost(asked, answered),
        "limit_today": runner.allowance.limit,
        "left_today": runner.allowance.left(agent.db),
        "problem": problem,
    }


def read_configured_model(*settings: str) -> tuple[LanguageModel, dict[str, Any]]:
    """The model of the settings, also while nothing may be sent: its endpoint has no host then, or it no name.

    With it what other settings say, read at once.
    """
    values = configuration.get_many(MODEL, PRICES, *settings)
    try:
        place = endpoint.from_environment()
    except Refused:
        place = endpoint.Endpoint("", "")
    return LanguageModel(place, values[MODEL], catalogue.parse_prices(values[PRICES])), values
