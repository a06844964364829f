"""What addresses of the gate's pages ask for."""

from django import forms


class PromptForm(forms.Form):
    """Another version to compare with (`from`), and the line that the text begins with."""

    line = forms.IntegerField(required=False, min_value=1, max_value=10**9)

    def read_options(self):
        """As `prompts.shown` takes it; what does not fit is left out."""
        line = self.cleaned_data.get("line") if self.is_valid() else None
        return {"from_id": self.data.get("from", ""), "line": line or 1}
