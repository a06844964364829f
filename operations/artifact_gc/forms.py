"""Form of the artifact store's page."""

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from . import services as artifact_gc


class AgeField(forms.CharField):
    """An age such as 30d, in seconds."""

    def clean(self, value):
        try:
            return artifact_gc.parse_age(super().clean(value) or "0s")
        except artifact_gc.WrongAge as wrong:
            raise ValidationError(wrong.sentence) from wrong


class ClearingForm(forms.Form):
    """Options of a garbage collection."""

    older_than = AgeField(
        label=_("Minimum age"),
        required=False,
        max_length=12,
        initial="30d",
        help_text=_("For example 90s, 30m, 12h, 7d or 2w. Empty = any age."),
    )
    is_dry_run = forms.BooleanField(required=False)
