"""What comes in from the pages of decisions: what a person says of one, and which decisions a list shows."""

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gate.statistics.answer import asked
from openclaw_web.errors import Refused
from openclaw_web.lists.filters import Day

from ..forms import LONGEST_NOTES
from ..review import parts
from .judging import VERDICTS, Correction

UNDO = "undo"
ROW, PAGE = "row", "page"


def _text(label):
    return forms.CharField(label=label, required=False, max_length=LONGEST_NOTES)


class JudgeForm(forms.Form):
    """Right, wrong or no verdict, and what would have been right; or that the verdict `expected` is to be undone."""

    verdict = forms.ChoiceField(choices=[(name, name) for name in (*VERDICTS, UNDO)])
    expected = forms.CharField(required=False, max_length=40)
    place = forms.ChoiceField(required=False, choices=[(name, name) for name in (PAGE, ROW)])
    correct_decision = forms.ChoiceField(
        label=gettext_lazy("Decision"),
        required=False,
        choices=[("", gettext_lazy("Not known")), *((name, name) for name in parts.DECISIONS)],
    )
    correct_fact = _text(gettext_lazy("Fact"))
    correct_reason = _text(gettext_lazy("Reason"))

    @classmethod
    def about(cls, said):
        """The form as it is first shown, with what was `said` before (said.Said, or None)."""
        right = said.corrected if said else {}
        initial = {
            "correct_decision": right.get("decision"),
            "correct_fact": right.get("candidateFact"),
            "correct_reason": right.get("reason"),
        }
        return cls(initial=initial)

    def said(self):
        """The fields by name. Raises Refused for what no page sends, and for texts that are too long."""
        if not self.is_valid():
            raise Refused(_("This verdict cannot be saved: a text is too long, or the page is outdated. Reload it."))
        return self.cleaned_data


def correction(decision: str, fact: str, reason: str) -> Correction | None:
    """What somebody says would have been right; None: nothing. Raises Refused for a fact or reason alone."""
    if decision:
        return Correction(decision, fact, reason)
    if fact or reason:
        raise Refused(_("Choose the decision that memory_gate should have made."))
    return None


class DrawForm(forms.Form):
    """Of which decisions some are drawn for review: days, a model, a prompt version; and the id of the draw."""

    draw = forms.RegexField(r"^[0-9A-Z]{26}$")
    model = forms.CharField(required=False, max_length=500, strip=False)
    prompt = forms.CharField(required=False, max_length=500, strip=False)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields |= {"from": Day(""), "to": Day("")}

    def chosen(self, db):
        """As `draws.draw` takes it. Raises Refused for what no page sends."""
        if not self.is_valid():
            raise Refused(_("Nothing can be drawn: the page is outdated. Reload it."))
        said = self.cleaned_data
        return {
            "period": asked(db, by="day", since=said["from"], until=said["to"]).period,
            "draw_id": said["draw"],
            "model": said["model"],
            "prompt": said["prompt"],
        }


class DecisionsShown(forms.Form):
    """Which decisions a page of a list shows: `ids`, once for each."""

    MOST = 100

    def ids(self):
        """Their ids, the first 100."""
        return list(dict.fromkeys(self.data.getlist("ids")))[: self.MOST]
