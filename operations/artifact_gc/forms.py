"""What people type to clear the artifact store, as values."""

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from . import services as clearing


class AgeField(forms.CharField):
    """An age like 30d, as seconds."""

    def clean(self, value):
        try:
            return clearing.parse_age(super().clean(value) or "0s")
        except clearing.WrongAge as wrong:
            raise ValidationError(wrong.sentence) from wrong


class ClearingForm(forms.Form):
    """What a clearing of the artifact store may take."""

    older_than = AgeField(
        label=_("Minimum age"),
        required=False,
        max_length=12,
        initial="30d",
        help_text=_("For example 90s, 30m, 12h, 7d or 2w. Empty = any age."),
    )
    is_dry_run = forms.BooleanField(required=False)
