"""Who guards the memory files: a model behind an endpoint, told what to do with one fact and three tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.llm import client, endpoint, prices
from people.configuration import keys as configuration
from people.configuration import reflection_keys

from . import prompts

ENABLED, STEPS, KEPT = "writeGuardian.enabled", "writeGuardian.steps", "writeGuardianAuditing.enabled"
MODEL, PRICES = "llm.model", "llm.prices"
LEAST_ANSWER = 4_000  # tokens that an answer may have beside what the file holds
SECONDS = 120.0  # for one call altogether: a whole file may have to be said


@dataclass(frozen=True, slots=True)
class Guardian:
    """A model, where it is asked, and how often about one fact."""

    endpoint: endpoint.Endpoint
    model: str
    most_steps: int
    prices: Mapping[str, tuple[float, float]]

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """US dollars by the price that is set for the model; None when none is."""
        return prices.cost(self.prices, self.model, prompt_tokens, completion_tokens)

    def ask(self, messages: list[dict[str, Any]], most_answer: int) -> client.Answer:
        """What the model says or wants used, asked once. Raises CallFailed."""
        return client.ask(
            self.endpoint,
            model=self.model,
            messages=messages,
            max_tokens=most_answer,
            seconds=SECONDS,
            tools=prompts.TOOLS,
        )


def most_answer(held: str) -> int:
    """The most tokens of an answer about a file that holds this."""
    return LEAST_ANSWER + prices.estimate_tokens(held)


def in_force() -> Guardian:
    """The guardian as the settings and the environment have it now. Raises Refused with what is missing."""
    if problem := problem_of():
        raise Refused(problem)
    return as_set()


def as_set() -> Guardian:
    """The same, also while nothing may be sent: its endpoint then has no host, or its model no name."""
    values = configuration.several(MODEL, PRICES, STEPS)
    try:
        place = endpoint.from_environment()
    except Refused:
        place = endpoint.Endpoint("", "")
    return Guardian(place, values[MODEL], values[STEPS], reflection_keys.prices(values[PRICES]))


def problem_of() -> str:
    """Why nothing may be sent now, in a sentence; empty when something may be."""
    if problem := endpoint.missing():
        return problem
    values = configuration.several(ENABLED, MODEL, KEPT)
    if not values[MODEL]:
        return _("No model is chosen: llm.model is empty in the settings.")
    if not values[KEPT]:
        return _("Writes to memory files are not kept: writeGuardianAuditing.enabled is off in the settings.")
    if not values[ENABLED]:
        return _("Nothing is sent: writeGuardian.enabled is off in the settings.")
    return ""
