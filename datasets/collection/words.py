"""Texts about outcomes, sides and evidence of collecting."""

from django.utils.translation import gettext_lazy as _

OUTCOMES = {
    "sample": _("Sample created"),
    "candidate": _("Would become a sample"),
    "already": _("Already a sample"),
    "no_criterion": _("No criterion fits"),
    "other_type": _("Of a type that was not chosen"),
    "waiting": _("Waits until its write is old enough"),
    "abandoned": _("On an abandoned branch"),
    "copied": _("Copied from another session"),
    "opted_out": _("The sender opted out, or may have"),
    "no_reply": _("No reply"),
    "machine": _("Prompt that nobody typed"),
    "excluded": _("Unknown envelope, picture, cut off or not received"),
    "unusable": _("Its text, window or file cannot be used"),
    "outside": _("Outside of the chosen time"),
}
