"""What addresses of the pages about writes ask for."""

from django import forms

SIDES = {"before": "before_snapshot_id", "after": "after_snapshot_id"}


class AuditForm(forms.Form):
    """Which side of a write is downloaded, and how its diff is shown; what does not fit is left out."""

    download = forms.ChoiceField(required=False, choices=[(name, name) for name in SIDES])
    view = forms.CharField(required=False, max_length=20)

    @property
    def side(self) -> str:
        """The column of the version that is asked for; empty: the page is."""
        self.is_valid()
        return SIDES.get(self.cleaned_data.get("download", ""), "")

    @property
    def way(self) -> str:
        """How the diff is shown, as the address says it."""
        self.is_valid()
        return self.cleaned_data.get("view", "")
