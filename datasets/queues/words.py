"""Texts of the interface about review queues."""

from django.utils.translation import gettext_lazy as _

from ..models import QueueItem

REASON_WORDS = {
    QueueItem.Reason.CONFLICT: _("Verdicts differ"),
    QueueItem.Reason.SCORE: _("Low or middle score"),
    QueueItem.Reason.RARE: _("Rare type"),
    QueueItem.Reason.TWINS: _("Others have the same words"),
    QueueItem.Reason.NEW: _("No other reason"),
}
ORDER_WORDS = {"value": _("By value"), "newest": _("Newest first")}
PART_NAMES = {"status": _("Status"), "gate_label": _("Memory gate"), "guardian_label": _("Write guardian")}
MEASURE_WORDS = {
    "percent": _("Agreement"),
    "alpha": _("Alpha"),
    "ac1": _("AC1"),
    "positive": _("On approved"),
    "negative": _("On others"),
    "kappa": _("Kappa"),
}
