"""Forms of the pages of findings: verdicts, their undoing, and values of a list."""

from django import forms
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..models import FindingVerdict
from .selections import QUESTION, REPLY
from .words import ADDED_KINDS

LONGEST_NOTES = 5_000
LONGEST_SELECTED = 10_000
MOST_VALUES = 200
ROW, PAGE = "row", "page"
VERDICTS = (FindingVerdict.Verdict.CONFIRMED, FindingVerdict.Verdict.DISMISSED)


class PlaceOfForm(forms.Form):
    """Where a form was sent: from the list, or from the page of a value."""

    at = forms.ChoiceField(required=False, choices=[(name, name) for name in (PAGE, ROW)])

    def read_fields(self):
        """The fields by name. Raises Refused for values that no page sends, and long texts."""
        if not self.is_valid():
            raise Refused(_("This verdict cannot be saved: a text is too long, or the page is outdated. Reload it."))
        return self.cleaned_data


class FindingVerdictForm(PlaceOfForm):
    """A verdict on a value, a place or a rule."""

    verdict = forms.ChoiceField(choices=[(name.value, name.value) for name in VERDICTS])
    scope = forms.ChoiceField(choices=[(name.value, name.value) for name in FindingVerdict.Scope])
    agent = forms.CharField(required=False, max_length=100)
    finding = forms.IntegerField(required=False, min_value=0, max_value=2**53)
    notes = forms.CharField(required=False, max_length=LONGEST_NOTES)


class SelectionForm(forms.Form):
    """A text that a person selected in a sample, and its kind."""

    text = forms.CharField(max_length=LONGEST_SELECTED, strip=False)
    part = forms.ChoiceField(required=False, choices=[(name, name) for name in (QUESTION, REPLY)])
    kind = forms.ChoiceField(choices=[(name, name) for name in ADDED_KINDS])

    def read_fields(self):
        """The text without blanks around it, its part and its kind.

        Raises Refused for what is no selection.
        """
        text = str(self.data.get("text", "")).replace("\r\n", "\n").strip()
        if not self.is_valid() or not text:
            raise Refused(_("Select a text of the question or the reply first, up to 10,000 characters."))
        return {**self.cleaned_data, "text": text}


class FindingUndoForm(PlaceOfForm):
    """The undoing of a verdict; without `undoes`, of the person's last one."""

    undoes = forms.CharField(required=False, max_length=40)


class ListedHashes(forms.Form):
    """The values that a list shows: `ids`, several times."""

    def read_hashes(self) -> list[str]:
        """The hashes without repetitions, at most 200."""
        return list(dict.fromkeys(self.data.getlist("ids")))[:MOST_VALUES]
