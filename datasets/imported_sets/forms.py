"""The form of an import."""

from django import forms
from django.utils.translation import gettext_lazy as _

from .rows import FORMATS

LABELS = {
    "messages": _("Messages (OpenAI, TRL, Hugging Face)"),
    "sharegpt": _("ShareGPT"),
    "alpaca": _("Alpaca"),
    "preference": _("Preference pairs"),
    "argilla": _("Argilla records"),
    "label-studio": _("Label Studio tasks"),
}


class ImportForm(forms.Form):
    """A judged set as a file."""

    name = forms.CharField(
        label=_("Name"),
        max_length=40,
        help_text=_("Lower-case letters, digits and hyphens. It is their origin from then on."),
    )
    format = forms.ChoiceField(label=_("Format"), choices=[(name, LABELS[name]) for name in FORMATS])
    file = forms.FileField(label=_("File"), help_text=_("JSON lines, a JSON array, or Parquet."))
