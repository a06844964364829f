"""What people choose for an export, as values."""

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.models import Agent

from .options import LEAST_CHARACTERS, LONGEST_NAME, LONGEST_SEED, MOST_CHARACTERS, ROW_CHARACTERS
from .words import FORMAT_WORDS, TASK_WORDS


class ExportForm(forms.Form):
    """A new export."""

    name = forms.CharField(
        label=_("Name"), max_length=LONGEST_NAME, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    format = forms.ChoiceField(label=_("Format"), choices=list(FORMAT_WORDS.items()))
    task = forms.ChoiceField(label=_("Task"), choices=list(TASK_WORDS.items()))
    agent = forms.ChoiceField(label=_("Agent"), required=False)
    only_approved = forms.BooleanField(
        label=_("Only approved samples"),
        required=False,
        initial=True,
        help_text=_("Without this, also the ones nobody has judged yet. Rejected ones are never exported."),
    )
    train_split = forms.FloatField(
        label=_("Training share"),
        min_value=0,
        max_value=1,
        initial=0.8,
        help_text=_("From 0 to 1. A session is on one side with all its turns."),
        widget=forms.NumberInput(attrs={"step": "0.05"}),
    )
    seed = forms.CharField(
        label=_("Seed"),
        max_length=LONGEST_SEED,
        initial="0",
        help_text=_("Another seed, another split; the same seed, the same one."),
    )
    min_quality = forms.FloatField(
        label=_("Lowest quality"),
        min_value=0,
        max_value=1,
        required=False,
        widget=forms.NumberInput(attrs={"step": "0.05"}),
    )
    row_characters = forms.IntegerField(
        label=_("Longest row, in characters"),
        min_value=LEAST_CHARACTERS,
        max_value=MOST_CHARACTERS,
        initial=ROW_CHARACTERS,
        help_text=_("Of a longer conversation the oldest turns are left out."),
    )
    keep_text = forms.BooleanField(
        label=_("Keep the agent's words before a tool call, as its thought"),
        required=False,
        help_text=_("ShareGPT has no place of its own for them: otherwise they are left out."),
    )
    include_flagged = forms.BooleanField(
        label=_("Include outputs that may hold secrets"),
        required=False,
        help_text=_("Otherwise samples with such outputs are left out. Only admins can download the files."),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        ids = Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)
        self.fields["agent"].choices = [("", _("All agents")), *((agent_id, agent_id) for agent_id in ids)]

    def choices(self):
        """What datasets.exporting.jobs.start takes."""
        return {**self.cleaned_data, "agent": self.cleaned_data["agent"] or None}
