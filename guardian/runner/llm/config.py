"""Configuration of the built-in guardian: its model, its limits and its messages."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from agents.runners.calls import Allowance
from agents.runners.runner import LanguageModel, Runner, read_configured_model
from gate.runner.prompts import compute_version
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.llm import client, prices

from ...models import GuardianStep
from . import prompts

STEPS = "writeGuardian.steps"
LEAST_ANSWER = 4_000  # tokens that an answer may have beside what the file holds
SECONDS = 120.0  # for one whole call: the answer may be a whole file

RUNNER = Runner(
    kind="guardian",
    page="guardian:own_guardian",
    enabled="writeGuardian.enabled",
    recording_setting="writeGuardianAuditing.enabled",
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
    prompt: str = prompts.TEXT

    @property
    def prompt_version(self) -> str:
        return compute_version(self.prompt)

    @property
    def least_tokens(self) -> int:
        """The fewest tokens that one call takes from the daily limit."""
        return prompts.estimate_tokens(prompts.build_opening("", "")) + LEAST_ANSWER

    def ask(self, messages: list[dict[str, Any]], most_answer: int) -> client.Answer:
        """Ask the model once and return its text or tool calls. Raises CallFailed."""
        return client.ask_model(
            self.endpoint,
            model=self.model,
            messages=messages,
            max_tokens=most_answer,
            seconds=SECONDS,
            tools=prompts.TOOLS,
        )


def compute_answer_limit(content: str) -> int:
    """Return the most tokens of an answer about a file with this content."""
    return LEAST_ANSWER + prices.estimate_tokens(content)


def get_configured_guardian() -> Guardian:
    """Return the guardian of the settings.

    It exists also while nothing may be sent: then its endpoint has no host, or the model no name.
    """
    base, values = read_configured_model(STEPS)
    return Guardian(base.endpoint, base.model, base.prices, values[STEPS])
