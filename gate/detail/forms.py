"""Forms for the addresses of the gate's pages."""

from django import forms


class PromptForm(forms.Form):
    """The version to compare with (`from`), and the first line of the text."""

    line = forms.IntegerField(required=False, min_value=1, max_value=10**9)

    def read_options(self):
        """Return the options of a prompt's page; values that are not valid are left out."""
        line = self.cleaned_data.get("line") if self.is_valid() else None
        return {"from_id": self.data.get("from", ""), "line": line or 1}
