"""Words for the values of writes: their origins, sources and matches."""

from django.utils.translation import gettext_lazy as _

from ledger.session.evidence import format_speaker, get_speaker_name
from openclaw_web.pages import states
from openclaw_web.pages.formatting import listed

from .handover.outcomes import sentence_of
from .models import Rollback, WriteGuardianAudit
from .recording.snapshot_matching import CONSOLIDATION
from .standing.effects import ACCEPTED

Origin, Source = WriteGuardianAudit.Origin, WriteGuardianAudit.Source
ORIGIN_WORDS = {
    Origin.RECORDED: _("Recorded"),
    Origin.IMPORTED: states.word("imported"),
    Origin.UNATTRIBUTED: _("Unattributed"),
    Origin.OWN: _("This site's guardian"),
    Origin.ROLLBACK: _("Rollback"),
    Origin.AGENT: _("Agent"),
}
MATCH_SENTENCES = {
    "given": _("The plugin recorded the turn."),
    "exact": _("The turn is the one of the decision behind this write."),
    "near": _("The turn was found by session and time alone. It may be another turn."),
    "none": _("No turn was found for this write."),
}
SOURCE_WORDS = {
    Source.API: _("API or command"),
    Source.LOG: _("Log of the plugin"),
    Source.DATABASE: _("Database of the plugin"),
    Source.FILES: _("Versions of the file"),
    Source.OWN: _("This site"),
    Source.ELSEWHERE: _("A workspace that no agent has"),
}
WAY_SENTENCES = {
    Rollback.Way.EXACT: _("The file had not changed, so the earlier version was restored."),
    Rollback.Way.MERGED: _("The file had changed since: only the lines of this write were taken out."),
    Rollback.Way.CHOSEN: _("A person chose what the file holds."),
}
ELSEWHERE = _("Changed outside this site's records")


def build_row_words() -> dict[str, dict[str, str]]:
    """Return the words of origins in the language of the request, for rows of lists."""
    return {"origins": {str(value): str(word) for value, word in ORIGIN_WORDS.items()}}


def write_origin_word(origin):
    """Return the word of an origin: `unattributed` is “Unattributed”."""
    return str(ORIGIN_WORDS.get(origin, origin))


def write_match_sentence(match):
    return str(MATCH_SENTENCES.get(match, match))


def write_reason(reason, origin):
    """Return the reason of a write; for an unattributed change its cause, where it is known."""
    if origin != Origin.UNATTRIBUTED:
        return reason or ""
    return str(_("The plugin's consolidation changed the file.") if reason == CONSOLIDATION else reason or ELSEWHERE)


def write_source_words(sources):
    """Return the words of the sources of a write; `–` for none.

    `sources` has a bit for each of them.
    """
    return listed(SOURCE_WORDS[source] for source in Source if sources & source) or "–"


def rollback_way_sentence(way):
    return str(WAY_SENTENCES.get(way, way))


def accepted_effect_sentence(effect):
    """Return a sentence about the effect on the prompt that a person accepted."""
    return str(ACCEPTED.get(effect, effect))


TEMPLATE_FILTERS = (
    accepted_effect_sentence,
    write_origin_word,
    write_match_sentence,
    write_reason,
    write_source_words,
    rollback_way_sentence,
)
FILTERS = {function.__name__: function for function in TEMPLATE_FILTERS} | {
    "handover_sentence": sentence_of,
    "speaker_name": get_speaker_name,
    "speaker_word": format_speaker,
}
