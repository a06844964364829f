"""What people type about a replay, as what is wanted."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from people.configuration.setting import MOST_TEXT

from ..lists.decision_list import DecisionFilters
from ..runner import config, prompts
from .replay_request import DEFAULT_LIMIT, MAX_DECISIONS, ReplayRequest


class ReplayForm(forms.Form):
    """Who is to decide again, and about how many of the decisions that fit the filters of the address."""

    new_model = forms.CharField(
        label=_("Model"),
        max_length=200,
        help_text=_("The name your endpoint uses."),
    )
    new_prompt = forms.CharField(
        label=_("Prompt"),
        max_length=MOST_TEXT + 1_000,  # a browser sends two characters for the end of a line
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false"}),
    )
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

    @classmethod
    def build_initial(cls) -> "ReplayForm":
        """The form as it is first shown: with the gate in force."""
        gate = config.get_configured_gate()
        return cls(initial={"new_model": gate.model, "new_prompt": prompts.get_active_prompt().text})

    def clean_new_prompt(self) -> str:
        """The text with plain ends of lines, as every other place has it."""
        text = str(self.cleaned_data["new_prompt"]).replace("\r\n", "\n").strip()
        if len(text) > MOST_TEXT or "\0" in text:
            raise forms.ValidationError(_("A prompt has at most 20,000 characters."))
        return text

    def build_request(self, filters: DecisionFilters) -> ReplayRequest:
        """As a plan and a replay are asked for; `filters` are those of the list."""
        found = self.cleaned_data
        return ReplayRequest(
            model=found["new_model"],
            prompt=found["new_prompt"],
            limit=found["limit"],
            filters=drop_empty_filters(filters),
            is_approved=found["approved"],
        )


def drop_empty_filters(filters: DecisionFilters) -> dict[str, Any]:
    """The filters of the list as it is asked for them; what is empty is left out."""
    return {name: value for name, value in filters.asked.items() if value not in (None, "")}
