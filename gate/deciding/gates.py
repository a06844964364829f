"""Who decides: a model behind an endpoint, with a prompt. What it is sent is two messages and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused
from openclaw_web.llm import client, endpoint, prices
from people.configuration import keys as configuration
from people.configuration import reflection_keys

from ..recording import recorded
from ..recording.windows import Window
from . import prompts

ENABLED, MODEL, PRICES = "memoryGate.enabled", "llm.model", "llm.prices"
MOST_ANSWER = 2_000  # tokens that an answer may have, thoughts included
SECONDS = 60.0  # for one call altogether


@dataclass(frozen=True, slots=True)
class Gate:
    """A model, where it is asked, and what it is told."""

    endpoint: endpoint.Endpoint
    model: str
    prompt: prompts.Prompt
    prices: Mapping[str, tuple[float, float]]

    def prompt_tokens(self, window: Window) -> int:
        """About how many tokens asking about a window has."""
        return prices.estimate_tokens(self.prompt.text) + prices.estimate_tokens(window.text.decode())

    @property
    def least_tokens(self) -> int:
        """What no call of this gate takes less of from the limit of a day."""
        return prices.estimate_tokens(self.prompt.text) + MOST_ANSWER

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """US dollars by the price that is set for the model; None when none is."""
        return prices.cost(self.prices, self.model, prompt_tokens, completion_tokens)

    def ask(self, window: Window) -> client.Answer:
        """What the model says of a window, asked once. Raises CallFailed."""
        messages = [
            {"role": "system", "content": self.prompt.text},
            {"role": "user", "content": window.text.decode()},
        ]
        return client.ask(self.endpoint, model=self.model, messages=messages, max_tokens=MOST_ANSWER, seconds=SECONDS)


def in_force() -> Gate:
    """The gate as the settings and the environment have it now. Raises Refused with what is missing."""
    if problem := problem_of():
        raise Refused(problem)
    return as_set()


def other(model: str, prompt: prompts.Prompt) -> Gate:
    """Another model or prompt at the same endpoint, also while nothing may be sent."""
    return replace(as_set(), model=model, prompt=prompt)


def as_set() -> Gate:
    """The same, also while nothing may be sent: its endpoint then has no host, or its model no name."""
    values = configuration.several(MODEL, PRICES)
    known = reflection_keys.prices(values[PRICES])
    try:
        place = endpoint.from_environment()
    except Refused:
        place = endpoint.Endpoint("", "")
    return Gate(place, values[MODEL], prompts.in_force(), known)


def problem_of(model: str = "") -> str:
    """Why nothing may be sent now, in a sentence; empty when something may be. `model`: another one than in force."""
    try:
        endpoint.from_environment()
    except Refused as refused:
        return refused.sentence
    values = configuration.several(ENABLED, MODEL, recorded.SETTING)
    if not (model or values[MODEL]):
        return _("No model is chosen: llm.model is empty in the settings.")
    if not values[recorded.SETTING]:
        return _("Decisions of memory_gate are not kept: memoryGateAuditing.enabled is off in the settings.")
    if not values[ENABLED]:
        return _("Nothing is sent: memoryGate.enabled is off in the settings.")
    return ""
