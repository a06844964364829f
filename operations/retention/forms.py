"""What people type about old sessions, as values."""

from django import forms
from django.utils.translation import gettext_lazy as _


class RetentionForm(forms.Form):
    """How long without activity makes a session old."""

    days = forms.IntegerField(
        label=_("Sessions without activity for so many days"),
        min_value=1,
        max_value=36_500,
        initial=365,
        help_text=_("365 is a year. What samples and decisions need stays in any case."),
    )
