"""What comes in from the pages of samples: filters, chosen turns, verdicts."""

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from openclaw_web.errors import Refused

from .models import DatasetSample
from .review import Filters
from .words import STATUS_WORDS, TYPE_WORDS

# What a person may say; only rules approve “by rule”.
VERDICTS = [
    DatasetSample.Status.APPROVED,
    DatasetSample.Status.REJECTED,
    DatasetSample.Status.NEEDS_REVIEW,
    DatasetSample.Status.PENDING,
]
LONGEST_REPLY = 1_000_000
LONGEST_NOTES = 5_000


class SampleFilters(forms.Form):
    """The filters of the list, from its address."""

    agent = forms.ChoiceField(label=_("Agent"), required=False)
    type = forms.ChoiceField(label=_("Type"), required=False, choices=[("", _("All types")), *TYPE_WORDS.items()])
    status = forms.ChoiceField(required=False, choices=list(STATUS_WORDS.items()))
    session = forms.CharField(required=False, max_length=500)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        ids = Agent.objects.order_by("agent_id").values_list("agent_id", flat=True)
        self.fields["agent"].choices = [("", _("All agents")), *((agent_id, agent_id) for agent_id in ids)]

    def filters(self):
        """The filters in force. Raises Refused for one that does not exist."""
        if not self.is_valid():
            raise Refused(_("This address asks for samples that cannot exist. Start again from the list."))
        return Filters(**self.cleaned_data)


class TurnChoice(forms.Form):
    """Which turns of a session: the boxes that were ticked (`turn`), or all of them (`all`)."""

    all = forms.BooleanField(required=False)

    def clean(self):
        """The numbers of the ticked boxes; None for every turn."""
        numbers = self.data.getlist("turn")
        if not all(text.isascii() and text.isdecimal() and len(text) < 10 for text in numbers):
            raise forms.ValidationError(_("A turn is named by its number."))
        return {"numbers": None if self.cleaned_data["all"] else [int(text) for text in numbers]}

    def chosen(self):
        """The chosen turn numbers, None for all. Raises Refused for anything that is no number."""
        if not self.is_valid():
            raise Refused(_("A turn is named by its number. Choose the turns on the session's page."))
        return self.cleaned_data["numbers"]


class VerdictForm(forms.Form):
    """A verdict on one sample."""

    status = forms.ChoiceField(choices=[(status, STATUS_WORDS[status]) for status in VERDICTS])
    output = forms.CharField(
        label=_("Reply"),
        required=False,
        strip=False,
        max_length=LONGEST_REPLY,
        widget=forms.Textarea(attrs={"form": "verdict", "rows": 12, "data-key": "e", "spellcheck": "false"}),
    )
    notes = forms.CharField(
        label=_("Notes"),
        required=False,
        max_length=LONGEST_NOTES,
        widget=forms.Textarea(attrs={"form": "verdict", "rows": 2}),
    )
    expected_status = forms.ChoiceField(required=False, choices=list(STATUS_WORDS.items()))

    def clean_output(self):
        """None when the page had no box for the reply, which is not the same as an empty one."""
        return self.cleaned_data["output"] if "output" in self.data else None

    def clean_expected_status(self):
        return self.cleaned_data["expected_status"] or None
