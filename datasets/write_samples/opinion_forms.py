"""The form of an opinion on a wrong write: the correction, its reason, what follows."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from guardian.corrections.correction_store import WriteState
from guardian.corrections.forms import RuleForm
from guardian.files import LONGEST_FACT, MEMORY_FILES
from guardian.rollbacks.rollback_preview import RollbackPreview

from .opinions import ABSENT, HAND_OVER, LEAVE, OTHER, ROLL_BACK, WRITE_NOW, Opinion

WAY_WORDS = {
    ROLL_BACK: _("Roll it back now, as shown below"),
    HAND_OVER: _("Hand the change to the agent, which changes the file itself"),
    WRITE_NOW: _("Write it now, knowing what happens to the prompt"),
    LEAVE: _("Leave the file as it is"),
}


def list_ways(preview: RollbackPreview | None) -> list[str]:
    """The possible ways to treat the file, the best first; LEAVE alone where none is."""
    if preview is None or preview.conflicts:
        return [LEAVE]
    if preview.effect.is_harmful:
        offered = [(HAND_OVER, preview.can_hand_over), (LEAVE, True), (WRITE_NOW, not preview.problem)]
    else:
        offered = [(ROLL_BACK, not preview.problem), (LEAVE, True)]
    return [way for way, is_possible in offered if is_possible]


class OpinionKind(forms.Form):
    """The kind of wrong that an address or a form names."""

    opinion = forms.ChoiceField(choices=[(kind, kind) for kind in (ABSENT, OTHER)])

    @property
    def kind(self) -> str:
        """The kind; ABSENT for values that no page sends."""
        return self.cleaned_data["opinion"] if self.is_valid() else ABSENT


class OpinionForm(RuleForm):
    """The form of a wrong write, with the fields that are possible and allowed."""

    fact = forms.CharField(label=_("It should say"), max_length=LONGEST_FACT, widget=forms.Textarea(attrs={"rows": 3}))
    file = forms.ChoiceField(label=_("In the file"), choices=[(name, name) for name in MEMORY_FILES])
    reason = forms.CharField(
        label=_("Reason"),
        max_length=LONGEST_FACT,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Kept with everything that is filed here; reviewers see it."),
    )
    way = forms.ChoiceField(label=_("The file"), widget=forms.RadioSelect)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    puts_back = forms.BooleanField(required=False, widget=forms.HiddenInput)
    makes_sample = forms.BooleanField(label=_("Use it for training: create its sample, approved"), required=False)
    apply_to_future = forms.BooleanField(label=_("Make this a rule for similar facts"), required=False)

    def __init__(self, data=None, *, kind: str, may_rule: bool, ways: list[str], has_sample: bool, **options):
        super().__init__(data, **options)
        self.kind = kind
        removed = () if kind == OTHER else ("fact", "file")
        removed += () if may_rule else ("apply_to_future", *RuleForm.base_fields)
        removed += ("makes_sample",) if has_sample else ()
        removed += ("way", "seen", "puts_back") if ways == [LEAVE] else ()
        for name in removed:
            del self.fields[name]
        if "way" in self.fields:
            self.offer_ways(ways)

    def offer_ways(self, ways: list[str]) -> None:
        """Show these ways as choices."""
        self.fields["way"].choices = [(way, WAY_WORDS[way]) for way in ways]  # type: ignore[attr-defined]

    @classmethod
    def build_initial(cls, state: WriteState, preview: RollbackPreview | None, ways: list[str]) -> dict[str, Any]:
        """The initial fields: the write as `state` has it, and the first way."""
        return {
            "fact": state.fact,
            "file": state.file or MEMORY_FILES[0],
            "way": ways[0],
            "seen": preview.plan.seen if preview else "",
            "puts_back": bool(preview and preview.offer.puts_back),
            "makes_sample": True,
        }

    @property
    def opinion(self) -> Opinion:
        """The opinion of a valid form."""
        data = self.cleaned_data
        rule = None
        if data.get("apply_to_future"):
            rule = {"contains": self.lines, "pattern": self.typed_pattern, "name": data["name"]}
        return Opinion(
            self.kind,
            reason=data["reason"].replace("\r\n", "\n"),
            fact=data.get("fact", "").replace("\r\n", "\n"),
            file=data.get("file", ""),
            rule=rule,
            makes_sample=data.get("makes_sample", True),
            way=data.get("way", LEAVE),
            seen=data.get("seen"),
            puts_back=data.get("puts_back", False),
        )
