"""What comes in from the pages of writes: what a person says of one, and which writes a list shows."""

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.errors import Refused
from openclaw_web.pages import states

from ..forms import LONGEST_NOTES
from .judging import VERDICTS, Correction
from .seen import STATUSES

UNDO = "undo"
ROW, PAGE = "row", "page"


class JudgeForm(forms.Form):
    """Right, wrong or no verdict, and what would have been right; or that the verdict `expected` is to be undone."""

    verdict = forms.ChoiceField(choices=[(name, name) for name in (*VERDICTS, UNDO)])
    expected = forms.CharField(required=False, max_length=40)
    place = forms.ChoiceField(required=False, choices=[(name, name) for name in (PAGE, ROW)])
    correct_status = forms.ChoiceField(
        label=gettext_lazy("It should have been"),
        required=False,
        choices=lambda: [("", _("Not known")), *states.choices(STATUSES)],
    )
    correct_reason = forms.CharField(label=gettext_lazy("Reason"), required=False, max_length=LONGEST_NOTES)

    def said(self):
        """The fields by name. Raises Refused for what no page sends, and for texts that are too long."""
        if not self.is_valid():
            raise Refused(_("This verdict cannot be saved: a text is too long, or the page is outdated. Reload it."))
        return self.cleaned_data | ({} if "expected" in self.data else {"expected": None})


def correction(status: str, reason: str, content: str = "") -> Correction | None:
    """What somebody says would have been right; None: nothing. Raises Refused for a reason alone."""
    if status:
        return Correction(status, reason, content)
    if reason or content:
        raise Refused(_("Say whether it should have been written or refused."))
    return None


class WritesShown(forms.Form):
    """Which writes a page of a list shows: `ids`, once for each."""

    MOST = 100

    def ids(self):
        """Their ids, the first 100."""
        return list(dict.fromkeys(self.data.getlist("ids")))[: self.MOST]
