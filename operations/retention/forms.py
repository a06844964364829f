"""Form of the retention page."""

from django import forms
from django.utils.translation import gettext_lazy as _


class RetentionForm(forms.Form):
    """The number of days without activity that makes a session old."""

    days = forms.IntegerField(
        label=_("Inactive for at least (days)"),
        min_value=1,
        max_value=36_500,
        initial=365,
        help_text=_("365 is a year. Anything used by samples or decisions is always kept."),
    )
