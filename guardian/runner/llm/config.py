"""Who guards the memory files: a model behind an endpoint, told what to do with one fact and three tools."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from agents.runners.calls import Allowance
from agents.runners.runner import LanguageModel, Runner, read_configured_model
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.llm import client, prices

from ...models import GuardianStep
from . import prompts

STEPS = "writeGuardian.steps"
LEAST_ANSWER = 4_000  # tokens that an answer may have beside what the file holds
SECONDS = 120.0  # for one call altogether: a whole file may have to be said

RUNNER = Runner(
    kind="guardian",
    page="guardian:own_guardian",
    enabled="writeGuardian.enabled",
    kept="writeGuardianAuditing.enabled",
    is_off=gettext_lazy("Nothing is sent: writeGuardian.enabled is off in the settings."),
    not_kept=gettext_lazy("Writes to memory files are not kept: writeGuardianAuditing.enabled is off in the settings."),
    is_running=gettext_lazy("The guardian of %(agent)s is running. Wait until that run has ended."),
    gave_up=ngettext_lazy(
        "Stopped after %(count)s fact without an answer.",
        "Stopped after %(count)s facts in a row without an answer.",
        "number",
    ),
    passes_over_refused=True,  # a file that nobody may touch is no reason to leave the others
    allowance=Allowance(
        setting="writeGuardian.tokensPerDay",
        calls=GuardianStep,
        reached=gettext_lazy(
            "The limit of %(limit)s tokens a day is reached for this agent: the next call may use more than the "
            "%(room)s that are left. Run the guardian again after midnight UTC, or raise writeGuardian.tokensPerDay in "
            "the settings."
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Guardian(LanguageModel):
    """A model that guards memory files, and how often it is asked about one fact."""

    most_steps: int

    @property
    def prompt_version(self) -> str:
        """What its prompt is called."""
        return prompts.VERSION

    @property
    def least_tokens(self) -> int:
        """What no call of it takes less of from the limit of a day."""
        return prompts.estimate_tokens(prompts.build_opening("", "")) + LEAST_ANSWER

    def ask(self, messages: list[dict[str, Any]], most_answer: int) -> client.Answer:
        """What the model says or wants used, asked once. Raises CallFailed."""
        return client.ask_model(
            self.endpoint,
            model=self.model,
            messages=messages,
            max_tokens=most_answer,
            seconds=SECONDS,
            tools=prompts.TOOLS,
        )


def compute_answer_limit(held: str) -> int:
    """The most tokens of an answer about a file that holds this."""
    return LEAST_ANSWER + prices.estimate_tokens(held)


def get_configured_guardian() -> Guardian:
    """The guardian of the settings, also while nothing may be sent: its endpoint has no host then, or it no name."""
    base, values = read_configured_model(STEPS)
    return Guardian(base.endpoint, base.model, base.prices, values[STEPS])
