"""Forms of corrections and rules."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from openclaw_web.pages import states

from ..files import LONGEST_FACT, MEMORY_FILES
from . import patterns, phrases
from .correction_store import STATUSES
from .suggestions import Suggestion

ROWS = 3


def _text(label, **options):
    return forms.CharField(label=label, max_length=LONGEST_FACT, widget=forms.Textarea(attrs={"rows": ROWS}), **options)


def _plain_text(rows):
    return forms.Textarea(attrs={"rows": rows, "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"})


class RuleForm(forms.Form):
    """The facts that a rule is about, and the rule's name.

    The facts contain words or pieces, one a line, or match a pattern instead.
    """

    contains = forms.CharField(
        label=_("Facts that contain all of"),
        required=False,
        max_length=2_000,
        widget=_plain_text(ROWS + 1),
        help_text=_(
            "One word a line; commas separate alternatives (no, without). “nut” also finds “nuts”, but not “minute”; "
            "words of one or two letters are found whole. Chinese is found anywhere."
        ),
    )
    name = forms.CharField(
        label=_("Name of the rule"),
        required=False,
        max_length=phrases.LONGEST_NAME,
        help_text=_("What lists and warnings call the rule. If empty, its words are used."),
    )
    pattern = forms.CharField(
        label=_("Pattern"),
        required=False,
        max_length=patterns.LONGEST_PATTERN + patterns.MOST_LINES,  # browsers send line ends as two characters
        widget=_plain_text(1),
        help_text=_(
            "Regular expression, matched anywhere in a fact, ignoring case. Used instead of the words above. With "
            "several lines, each must match."
        ),
    )

    @property
    def lines(self) -> phrases.Lines:
        """The lines of words; none where a pattern stands instead of them."""
        return () if self.typed_pattern else phrases.read_lines(self.cleaned_data.get("contains", ""))

    @property
    def typed_pattern(self) -> str:
        """The pattern, without blanks around its lines."""
        return patterns.clean(self.cleaned_data.get("pattern", ""))

    @property
    def pattern_to_try(self) -> str:
        """The pattern to try, empty where nothing was typed.

        Raises Refused for lines that cannot be a rule.
        """
        return self.typed_pattern or (phrases.write_pattern(phrases.check_lines(self.lines)) if self.lines else "")


class OpeningForm(forms.Form):
    """The fields that an address fills into the form of a correction.

    They say that such facts are refused in future, and with which words.
    """

    refuse = forms.BooleanField(required=False)
    contains = forms.CharField(required=False, max_length=2_000)
    name = forms.CharField(required=False, max_length=phrases.LONGEST_NAME)
    pattern = forms.CharField(required=False, max_length=patterns.LONGEST_PATTERN + patterns.MOST_LINES)

    @property
    def initial_fields(self) -> dict[str, Any]:
        """The initial values of the form of a correction."""
        data = self.cleaned_data if self.is_valid() else {}
        filled: dict[str, Any] = {name: data[name] for name in ("contains", "name", "pattern") if data.get(name)}
        if filled or data.get("refuse"):
            filled["apply_to_future"] = True
        return filled | ({"status": STATUSES[1]} if data.get("refuse") else {})


class CorrectionForm(RuleForm):
    """A correction of a write: what it should have been, and why.

    Operators can also make it a rule for facts to come.
    """

    status = forms.ChoiceField(label=_("What should have happened"), choices=lambda: states.choices(STATUSES))
    fact = _text(_("Fact"), required=False, help_text=_("The fact as the file should state it."))
    file = forms.ChoiceField(label=_("File"), choices=[(name, name) for name in MEMORY_FILES])
    reason = _text(_("Reason"))
    apply_to_future = forms.BooleanField(label=_("Make this a rule for similar facts"), required=False)
    field_order = ("status", "fact", "file", "reason", "apply_to_future", "contains", "name", "pattern")

    def __init__(self, data=None, *, may_rule: bool, **options):
        super().__init__(data, **options)
        if not may_rule:
            for name in ("apply_to_future", *RuleForm.base_fields):
                del self.fields[name]

    @classmethod
    def from_suggestion(
        cls, suggestion: Suggestion, rule: dict[str, Any], *, may_rule: bool, **filled: Any
    ) -> "CorrectionForm":
        """Build the form as it is first shown.

        It has what stands by now, what a rule begins with, and what the address says.
        """
        state = suggestion.state
        initial = {
            "status": state.status if state.status in STATUSES else STATUSES[0],
            "fact": state.fact,
            "file": state.file or MEMORY_FILES[0],
            "reason": suggestion.reason,
        }
        return cls(initial=initial | rule | filled, may_rule=may_rule)

    @property
    def correction_fields(self) -> dict[str, Any]:
        """The arguments of `add_correction`."""
        data = self.cleaned_data
        names = ("status", "fact", "file", "reason")
        values = {name: data[name].replace("\r\n", "\n") for name in names}
        return values | {"apply_to_future": bool(data.get("apply_to_future"))} | self.rule

    @property
    def rule(self) -> dict[str, Any]:
        """The rule that was typed; empty where the box is not ticked."""
        if not self.cleaned_data.get("apply_to_future"):
            return {}
        return {"contains": self.lines, "pattern": self.typed_pattern, "name": self.cleaned_data["name"]}
