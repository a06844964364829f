"""Forms of runs and proposals of the built-in guardian."""

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
    """The fact and the file with which a write is proposed again."""

    fact = forms.CharField(label=_("Fact"), max_length=LONGEST_FACT, widget=forms.Textarea(attrs={"rows": 3}))
    file = forms.ChoiceField(label=_("File"), choices=[(name, name) for name in MEMORY_FILES])

    def clean_fact(self):
        """Return the fact with newlines as in other facts: browsers send two characters."""
        return self.cleaned_data["fact"].replace("\r\n", "\n")


class DeclineForm(forms.Form):
    """The reason for declining a proposal."""

    reason = forms.CharField(
        label=_("Reason for declining"),
        max_length=proposals.LONGEST_REASON,
        error_messages={"required": proposals.NO_REASON},
    )
