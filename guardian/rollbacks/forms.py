"""Forms of rollbacks."""

from django import forms
from django.utils.translation import gettext_lazy as _

from .rollback_preview import MOST_EDITED
from .service import LONGEST_REASON, RollbackRequest

MOST_HUNKS = 1_000_000


class PreviewForm(forms.Form):
    """The part of a write, or the time span of a session, that an address names."""

    hunk = forms.IntegerField(required=False, min_value=1, max_value=MOST_HUNKS)
    since = forms.IntegerField(required=False, min_value=0)
    until = forms.IntegerField(required=False, min_value=0)

    @property
    def number(self) -> int | None:
        """The number of the hunk, counted from 0; None: all of the write."""
        number = self.cleaned_data["hunk"]
        return None if number is None else number - 1

    @property
    def span(self) -> dict[str, int | None]:
        """From when on and until when, in milliseconds."""
        return {name: self.cleaned_data[name] for name in ("since", "until")}


class RollbackForm(forms.Form):
    """The reason for a rollback, and the preview that was seen.

    `ChoiceForm` also has the content that a person chooses.
    """

    reason = forms.CharField(
        label=_("Reason"),
        max_length=LONGEST_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Kept with the rollback; reviewers see it."),
    )
    keeps_copy = forms.BooleanField(label=_("Keep a backup copy of the file"), required=False, initial=True)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    write_now = forms.BooleanField(required=False, widget=forms.HiddenInput)  # of the button that says so
    puts_back = forms.BooleanField(
        label=_("Put back first what OpenClaw's record names"), required=False, widget=forms.HiddenInput
    )

    def build_request(self, by: str) -> RollbackRequest:
        """Build the request of a rollback."""
        data = self.cleaned_data
        return RollbackRequest(by, data["reason"], keeps_copy=data["keeps_copy"], accepts_effect=data["write_now"])


class ChoiceForm(RollbackForm):
    """The form for a write whose lines were changed since: also what the file should hold."""

    content = forms.CharField(
        label=_("The file should hold"),
        help_text=_("Starts as the file is now. Edit the lines shown above, then save."),
        required=False,  # it may be empty
        strip=False,
        max_length=2 * MOST_EDITED,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "mono"}),
    )
    field_order = ("content", "reason", "keeps_copy", "seen")


class SettleForm(forms.Form):
    """The choice for a version that somebody wrote while a rollback was carried out."""

    version = forms.CharField(max_length=1_000)
    choice = forms.ChoiceField(choices=[("add", "add"), ("put", "put"), ("leave", "leave")])
    seen = forms.CharField(required=False)
    write_now = forms.BooleanField(required=False)
