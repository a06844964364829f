"""Texts about outcomes, sides, answers and sources of collecting."""

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
SIDES = {"approve": _("Approve"), "review": _("Review"), "reject": _("Reject"), "leave": _("Leave")}
SIDE_HELP = {
    "approve": _("A decision that counts as right"),
    "review": _("A sample without an answer yet"),
    "reject": _("A decision that counts as wrong"),
    "leave": _("No sample"),
}
ANSWERS = {"yes": _("Yes"), "no": _("No"), "unknown": _("Not known"), "": _("off")}
GROUP_LABELS = {
    "positiveCriteria": _("A decision is right"),
    "negativeCriteria": _("A decision is wrong"),
    "manualReviewCriteria": _("A person has to check"),
    "autoApproveCriteria": _("A rule may approve"),
}
TYPE_LABELS = {"all": _("All"), "positive": _("Right decisions"), "negative": _("Wrong decisions")}
SOURCES = {
    "decision": _("Decision"),
    "write": _("Write"),
    "rollback": _("Rollback"),
    "correction": _("Correction"),
    "replay": _("Replay"),
    "call": _("Call"),
    "findings": _("Scan of the session"),
    "sample": _("Sample"),
    "score": _("Score"),
}
