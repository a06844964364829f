"""What people type about runs and proposals of our guardian, as values."""

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.runners import forms as runners

from ..files import LONGEST_FACT, MEMORY_FILES
from . import proposals
from .fact_selection import FactChoice


class RunForm(runners.RunForm):
    """Which facts to handle."""

    choice_type = FactChoice

    limit = runners.limit_field(_("Maximum facts"), _("The newest facts come first."))


class RetryForm(forms.Form):
    """What a write should have been asked for."""

    fact = forms.CharField(label=_("Fact"), max_length=LONGEST_FACT, widget=forms.Textarea(attrs={"rows": 3}))
    file = forms.ChoiceField(label=_("File"), choices=[(name, name) for name in MEMORY_FILES])

    def clean_fact(self):
        """With the line ends that everybody else's facts have: browsers send two characters."""
        return self.cleaned_data["fact"].replace("\r\n", "\n")


class DeclineForm(forms.Form):
    """Why a proposal is left unwritten."""

    reason = forms.CharField(
        label=_("Reason for declining"),
        max_length=proposals.LONGEST_REASON,
        error_messages={"required": proposals.NO_REASON},
    )
