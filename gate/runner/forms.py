"""The form for a run of the gate."""

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.runners import forms as runners

from .turn_selection import TurnChoice


class RunForm(runners.RunForm):
    """The choice of turns to judge."""

    choice_type = TurnChoice

    limit = runners.limit_field(_("Maximum turns"), _("Newest first."))
    is_again = forms.BooleanField(
        label=_("Judge again"),
        required=False,
        help_text=_("Turns already judged by this model and prompt are skipped."),
    )
