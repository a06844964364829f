"""Words of the report, for its page and its command."""

from django.utils.translation import gettext_lazy as _

from . import report

STATE_WORDS = {
    report.NOT_ENOUGH: _("Not enough verdicts"),
    report.WORTHLESS: _("Worth nothing here"),
    report.USEFUL: _("Better than the length of the reply"),
}
PART_WORDS = {
    report.TURN: _("Turn"),
    report.DECISION: _("Decision of memory_gate"),
    report.WRITE: _("Write of write_guardian"),
}
LEFT_OUT_WORDS = {
    report.WAITING: _("people have opted out, and the turns have to be checked again"),
    report.BULK: _("judged with many others at once"),
    report.EDITED: _("the verdict is on a reply that a person wrote"),
    report.UNSCORED: _("the turn has no score"),
}
