"""What people type about a write that should have been another one."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.pages import states

from ..files import LONGEST_FACT, MEMORY_FILES
from . import patterns
from .correcting import STATUSES, Said

ROWS = 3


def _text(label, **options):
    return forms.CharField(label=label, max_length=LONGEST_FACT, widget=forms.Textarea(attrs={"rows": ROWS}), **options)


class CorrectionForm(forms.Form):
    """What a write should have been, and why; for operators whether facts to come are treated the same."""

    status = forms.ChoiceField(label=_("Correct status"), choices=lambda: states.choices(STATUSES))
    fact = _text(_("Fact"), required=False, help_text=_("The fact as the file should state it."))
    file = forms.ChoiceField(label=_("File"), choices=[(name, name) for name in MEMORY_FILES])
    reason = _text(_("Reason"))
    apply_to_future = forms.BooleanField(label=_("Apply to similar facts in future"), required=False)
    pattern = forms.CharField(
        label=_("Pattern"),
        required=False,
        max_length=patterns.LONGEST,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}),
        help_text=_(
            "A regular expression, searched for anywhere in a fact; upper and lower case are the same. The proposal "
            "matches the same words in the same order, with any number for a number."
        ),
    )

    def __init__(self, data=None, *, may_rule: bool, **options):
        super().__init__(data, **options)
        if not may_rule:
            del self.fields["apply_to_future"], self.fields["pattern"]

    @classmethod
    def about(cls, standing: Said, fact: str, *, may_rule: bool) -> "CorrectionForm":
        """The form as it is first shown: what stands by now, and the pattern that is proposed for the write's fact."""
        initial = {
            "status": standing.status if standing.status in STATUSES else STATUSES[0],
            "fact": standing.fact,
            "file": standing.file or MEMORY_FILES[0],
            "pattern": patterns.proposed(fact),
        }
        return cls(initial=initial, may_rule=may_rule)

    @property
    def said(self) -> dict[str, Any]:
        """As a correction is asked for."""
        found = self.cleaned_data
        names = ("status", "fact", "file", "reason")
        is_rule = bool(found.get("apply_to_future"))
        chosen = {"apply_to_future": is_rule, "pattern": found.get("pattern", "") if is_rule else ""}
        return {name: found[name].replace("\r\n", "\n") for name in names} | chosen
