"""The form for a replay."""

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from people.configuration.setting import MOST_TEXT

from ..lists.decision_list import DecisionFilters
from ..runner import config, prompts
from .regression_sets import GATE, get_set
from .replay_request import DEFAULT_LIMIT, MAX_DECISIONS, ReplayRequest


class ModelForm(forms.Form):
    """The model and prompt of a replay or test."""

    new_model = forms.CharField(
        label=_("Model"),
        max_length=200,
        help_text=_("The name your endpoint uses."),
    )
    new_prompt = forms.CharField(
        label=_("Prompt"),
        max_length=MOST_TEXT + 1_000,  # a browser sends two characters for each line end
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false"}),
    )

    def clean_new_prompt(self) -> str:
        """Return the text with plain line ends."""
        text = str(self.cleaned_data["new_prompt"]).replace("\r\n", "\n").strip()
        if len(text) > MOST_TEXT or "\0" in text:
            raise forms.ValidationError(_("A prompt has at most 20,000 characters."))
        return text


class ReplayForm(ModelForm):
    """The model and prompt of a replay, and the number of decisions.

    The decisions are those that fit the filters of the address, or those of a regression set.
    """

    limit = forms.IntegerField(
        label=_("Maximum decisions"),
        min_value=1,
        max_value=MAX_DECISIONS,
        initial=DEFAULT_LIMIT,
        help_text=_("Newest first."),
    )
    approved = forms.BooleanField(
        label=_("Only decisions in approved samples"),
        required=False,
    )
    version = forms.IntegerField(min_value=1, required=False, widget=forms.HiddenInput)

    @classmethod
    def build_initial(cls, version: str = "") -> "ReplayForm":
        """Return the form with the active gate as initial values."""
        gate = config.get_configured_gate()
        values = {"new_model": gate.model, "new_prompt": prompts.get_active_prompt().text, "version": version}
        return cls(initial=values)

    def build_request(self, agent: Agent, filters: DecisionFilters) -> ReplayRequest:
        """Return the request for a plan or a replay; `filters` are those of the list.

        Raises Refused for a version that does not exist.
        """
        values = self.cleaned_data
        if values["version"]:
            regression_set = get_set(agent.db, GATE, values["version"])
            return ReplayRequest.from_set(regression_set, values["new_model"], values["new_prompt"])
        return ReplayRequest(
            model=values["new_model"],
            prompt=values["new_prompt"],
            limit=values["limit"],
            filters={name: value for name, value in filters.criteria.items() if value not in (None, "")},
            is_approved=values["approved"],
        )
