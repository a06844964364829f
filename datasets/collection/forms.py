"""Forms of collecting: a run, and the switches and thresholds of a strategy."""

from datetime import UTC, datetime, time
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from .classification import DAYS, HIGH, LEAST, MEDIUM
from .criteria import CRITERIA, GROUPS
from .runs import TYPES
from .strategies import DEFAULT, FRACTIONS, MOST_DAYS, flatten
from .words import GROUP_LABELS, TYPE_LABELS

OTHER_LABELS = {
    "turns": _("Collect turns without a decision"),
    "autoApprove": _("Approve where there is no doubt"),
    MEDIUM: _("Medium score from"),
    HIGH: _("High score from"),
    DAYS: _("In the file after days"),
    LEAST: _("Least score"),
}


class RunForm(forms.Form):
    """A run: which turns, and whether it only counts."""

    agent = forms.CharField(label=_("Agent"), required=False, max_length=100)
    session = forms.CharField(label=_("Session"), required=False, max_length=300)
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("Before"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    type = forms.ChoiceField(label=_("Type"), required=False, choices=[(name, TYPE_LABELS[name]) for name in TYPES])
    auto_approve = forms.BooleanField(label=OTHER_LABELS["autoApprove"], required=False)
    is_dry = forms.BooleanField(label=_("Only count"), required=False, help_text=_("Creates and changes no sample."))

    def read_options(self) -> dict[str, Any]:
        """The options as `job.start_run` takes them; days are UTC days."""
        options = dict(self.cleaned_data)
        for name in ("since", "until"):
            if day := options[name]:
                options[name] = int(datetime.combine(day, time(), UTC).timestamp() * 1000)
        return options


class StrategyForm(forms.Form):
    """The switches and thresholds of a strategy."""

    def __init__(self, data=None, *, criteria):
        super().__init__(data, initial=flatten(criteria))
        for criterion in CRITERIA:
            self.fields[criterion.name] = _build_field(criterion.name, criterion.question)
        for name in ("turns", MEDIUM, HIGH, "autoApprove"):
            self.fields[name] = _build_field(name, "")

    def list_groups(self) -> list[tuple[Any, list[Any]]]:
        """The fields by group, each group with its heading."""
        groups = [
            (GROUP_LABELS[group], [self[criterion.name] for criterion in CRITERIA if criterion.group == group])
            for group in GROUPS
        ]
        return [*groups, (_("Everything else"), [self[name] for name in ("turns", MEDIUM, HIGH, "autoApprove")])]

    def read_changes(self) -> dict[str, Any]:
        return dict(self.cleaned_data)


class VersionForm(forms.Form):
    """The name under which a version is saved."""

    name = forms.CharField(label=_("Name of the strategy"), max_length=40, initial=DEFAULT)


def _build_field(name, question):
    label = OTHER_LABELS.get(name, name)
    if name == DAYS:
        return forms.IntegerField(label=label, help_text=question, min_value=0, max_value=MOST_DAYS)
    if name in FRACTIONS:
        field = forms.FloatField(label=label, help_text=question, min_value=0, max_value=1)
        field.widget.attrs["step"] = "0.01"
        return field
    return forms.BooleanField(label=question or label, required=False)
