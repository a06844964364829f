"""Words of the report, for its page and its command."""

from django.utils.translation import gettext_lazy as _

from . import evaluation

STATE_WORDS = {
    evaluation.NOT_ENOUGH: _("Not enough verdicts"),
    evaluation.WORTHLESS: _("Worth nothing here"),
    evaluation.USEFUL: _("Better than the length of the reply"),
}
PART_WORDS = {
    evaluation.TURN: _("Turn"),
    evaluation.DECISION: _("Decision of memory_gate"),
    evaluation.WRITE: _("Write of write_guardian"),
}
LEFT_OUT_WORDS = {
    evaluation.WAITING: _("people have opted out, and the turns have to be checked again"),
    evaluation.BULK: _("judged with many others at once"),
    evaluation.EDITED: _("the verdict is on a reply that a person wrote"),
    evaluation.UNSCORED: _("the turn has no score"),
}
SCRIPT_WORDS = {
    "latin": _("Latin letters"),
    "han": _("Chinese characters"),
    "kana": _("Kana"),
    "hangul": _("Hangul"),
    "cyrillic": _("Cyrillic letters"),
    "arabic": _("Arabic letters"),
    "devanagari": _("Devanagari"),
    "greek": _("Greek letters"),
    "hebrew": _("Hebrew letters"),
    "thai": _("Thai letters"),
    evaluation.NO_SCRIPT: _("No letters"),
}
