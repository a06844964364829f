"""Forms of pages of decisions and writes: verdicts, corrections, and rows of a list."""

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.errors import Refused
from openclaw_web.pages import states

from ..forms import LONGEST_NOTES
from ..review import parts
from ..write_samples import opinions
from ..write_samples.opinions import Opinion
from . import decision as decisions
from . import verdict_service
from . import write as writes
from .decision import DECISION
from .kind import RIGHT, VERDICTS, WRONG
from .write import WRITE

UNDO = "undo"
ROW, PAGE = "row", "page"
NOT_KNOWN = gettext_lazy("Not known")


def _build_text_field(label):
    return forms.CharField(label=label, required=False, max_length=LONGEST_NOTES)


class JudgeForm(forms.Form):
    """A verdict with its correction, or the undoing of the verdict `expected`."""

    verdict = forms.ChoiceField(required=False, choices=[(name, name) for name in (*VERDICTS, UNDO)])
    wrong = forms.CharField(required=False, max_length=40)  # instead of `verdict`: wrong, for the reason with this code
    expected = forms.CharField(required=False, max_length=40)
    place = forms.ChoiceField(required=False, choices=[(name, name) for name in (PAGE, ROW)])

    @classmethod
    def from_verdict(cls, judgment):
        """The form as first shown, with the verdict in force (a CurrentVerdict, or None)."""
        return cls()

    def read_fields(self):
        """The fields by name. Raises Refused for values that no page sends, and long texts."""
        if not self.is_valid() or not (self.cleaned_data["verdict"] or self.cleaned_data["wrong"]):
            raise Refused(_("This verdict cannot be saved: a text is too long, or the page is outdated. Reload it."))
        return self.cleaned_data | ({"verdict": WRONG} if self.cleaned_data["wrong"] else {})

    def give_verdict(self, agent, row, verdict, *, user, expected):
        """Give the verdict on a row, in place of `expected`. Raises Refused as `give_verdict`."""
        # The page's form holds an earlier correction, which only a wrong verdict may take.
        right = self.correction if verdict == WRONG else None
        verdict_service.give_verdict(
            self.kind, agent, row.id, verdict, by=user.username, correction=right, expected=expected
        )


class DecisionForm(JudgeForm):
    """The verdict on a decision."""

    kind = DECISION

    correct_decision = forms.ChoiceField(
        label=gettext_lazy("Decision"),
        required=False,
        choices=[("", NOT_KNOWN), *((name, name) for name in parts.DECISIONS)],
    )
    correct_fact = _build_text_field(gettext_lazy("Fact"))
    correct_reason = _build_text_field(gettext_lazy("Why is it wrong?"))

    @classmethod
    def from_verdict(cls, judgment):
        """The form with the correction of the verdict in force."""
        right = judgment.corrected if judgment else {}
        names = {"correct_decision": "decision", "correct_fact": "candidateFact", "correct_reason": "reason"}
        initial = {field: right.get(name) for field, name in names.items()}
        return cls(initial=initial | ({"correct_reason": judgment.reason} if judgment else {}))

    @property
    def correction(self):
        """The correction in the form; None: there is none."""
        decision, fact, reason = (self.cleaned_data[f"correct_{name}"] for name in ("decision", "fact", "reason"))
        return correct_decision(decision, fact, self.cleaned_data["wrong"] or reason)


class WriteForm(JudgeForm):
    """The verdict on a write."""

    kind = WRITE

    correct_status = forms.ChoiceField(
        label=gettext_lazy("It should have been"),
        required=False,
        choices=lambda: [("", NOT_KNOWN), *states.choices(writes.STATUSES)],
    )
    correct_reason = _build_text_field(gettext_lazy("Reason"))

    def read_fields(self):
        """The fields by name; `expected` is None where the page shows no verdict."""
        return super().read_fields() | ({} if "expected" in self.data else {"expected": None})

    @property
    def correction(self):
        """The correction in the form; None: there is none."""
        return correct_write(self.cleaned_data["correct_status"], self.cleaned_data["correct_reason"])

    def give_verdict(self, agent, row, verdict, *, user, expected):
        """Give the verdict; a right one is stored as an opinion.

        The opinion contains the correction that is needed where a person, or a rule, says otherwise.
        """
        if verdict != RIGHT:
            return super().give_verdict(agent, row, verdict, user=user, expected=expected)
        opinion = Opinion(opinions.RIGHT, expected=expected, may_end_rule=user.has_role("operator"))
        return opinions.give_opinion(agent, row.id, opinion, by=user.username)


def correct_decision(decision: str, fact: str, reason: str) -> decisions.Correction | None:
    """The correction of a decision, or the reason alone; None: neither. Raises Refused for a fact alone."""
    if fact and not decision:
        raise Refused(_("Choose the decision that memory_gate should have made."))
    return decisions.Correction(decision, fact, reason) if decision or reason else None


def correct_write(status: str, reason: str, content: str = "") -> writes.Correction | None:
    """The correction of a write; None: none. Raises Refused for a reason or content alone."""
    if status:
        return writes.Correction(status, reason, content)
    if reason or content:
        raise Refused(_("Say whether it should have been written or refused."))
    return None


class ListedIds(forms.Form):
    """The rows that a page of a list shows: `ids`, once for each."""

    MOST = 100

    def read_ids(self):
        """The ids of the rows, the first 100."""
        return list(dict.fromkeys(self.data.getlist("ids")))[: self.MOST]
