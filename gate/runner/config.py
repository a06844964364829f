"""Our own gate: a model at an endpoint, with a prompt.

It is sent two messages and nothing else.
"""

from dataclasses import dataclass, replace

from django.utils.translation import gettext_lazy

from agents.runners.calls import Allowance
from agents.runners.runner import LanguageModel, Runner, read_configured_model
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.llm import client, prices

from ..models import GateCall
from ..recording import api_import
from ..recording.windows import Window
from . import prompts

MOST_ANSWER = 2_000  # maximum tokens of an answer, thoughts included
SECONDS = 60.0  # maximum duration of a call

RUNNER = Runner(
    kind="gate",
    page="gate:own_gate",
    enabled="memoryGate.enabled",
    recording_setting=api_import.ENABLED_SETTING,
    is_off=gettext_lazy("Nothing is sent: memoryGate.enabled is off in the settings."),
    not_kept=gettext_lazy("Decisions of memory_gate are not kept: memoryGateAuditing.enabled is off in the settings."),
    is_running=gettext_lazy("The gate of %(agent)s is running. Wait until that run has ended."),
    gave_up=ngettext_lazy(
        "Stopped after %(count)s turn without an answer.",
        "Stopped after %(count)s turns in a row without an answer.",
        "number",
    ),
    allowance=Allowance(
        setting="memoryGate.tokensPerDay",
        calls=GateCall,
        reached=gettext_lazy(
            "The limit of %(limit)s tokens a day is reached for this agent: the next call may use more than the "
            "%(room)s that are left. Run the gate again after midnight UTC, or raise memoryGate.tokensPerDay in the "
            "settings."
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Gate(LanguageModel):
    """A model that decides, and its prompt."""

    prompt: prompts.Prompt

    @property
    def prompt_version(self) -> str:
        """Return the version of the prompt."""
        return self.prompt.version

    def prompt_tokens(self, window: Window) -> int:
        """Return about how many tokens a question about a window has."""
        return prices.estimate_tokens(self.prompt.text) + prices.estimate_tokens(window.text.decode())

    @property
    def least_tokens(self) -> int:
        """Return the least tokens that a call takes from the limit of a day."""
        return prices.estimate_tokens(self.prompt.text) + MOST_ANSWER

    def ask(self, window: Window) -> client.Answer:
        """Ask the model about a window, once. Raises CallFailed."""
        messages = [
            {"role": "system", "content": self.prompt.text},
            {"role": "user", "content": window.text.decode()},
        ]
        return client.ask_model(
            self.endpoint, model=self.model, messages=messages, max_tokens=MOST_ANSWER, seconds=SECONDS
        )


def get_active_gate() -> Gate:
    """Return the gate of the settings and the environment.

    Raises Refused with the setting that is missing or off.
    """
    RUNNER.check()
    return get_configured_gate()


def build_gate(model: str, prompt: prompts.Prompt) -> Gate:
    """Return a gate with another model or prompt at the same endpoint.

    Does not raise while nothing may be sent.
    """
    return replace(get_configured_gate(), model=model, prompt=prompt)


def get_configured_gate() -> Gate:
    """Return the gate of the settings, also while nothing may be sent.

    Its endpoint then has no host, or its model no name.
    """
    base, _values = read_configured_model()
    return Gate(base.endpoint, base.model, base.prices, prompts.get_active_prompt())
