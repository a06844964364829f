"""What pages call the values of writes: where they come from, who told of them, how their turns were found."""

from django.utils.translation import gettext_lazy as _

from ledger.session.evidence import format_speaker, get_speaker_name
from openclaw_web.pages import states
from openclaw_web.pages.formatting import listed

from .handover.outcomes import sentence_of
from .models import Rollback, WriteGuardianAudit
from .recording.unattributed_changes import CONSOLIDATION
from .standing.effects import ACCEPTED

Origin, Source = WriteGuardianAudit.Origin, WriteGuardianAudit.Source
ORIGIN_WORDS = {
    Origin.RECORDED: _("Recorded"),
    Origin.IMPORTED: states.word("imported"),
    Origin.UNATTRIBUTED: _("Unattributed"),
    Origin.OWN: _("Built-in guardian"),
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
    """The words of origins in the language of the request, for lists: each row says one of them."""
    return {"origins": {str(value): str(word) for value, word in ORIGIN_WORDS.items()}}


def write_origin_word(origin):
    """`unattributed` as “Unattributed”."""
    return str(ORIGIN_WORDS.get(origin, origin))


def write_match_sentence(match):
    """What `near` means of a write, in a sentence."""
    return str(MATCH_SENTENCES.get(match, match))


def write_reason(reason, origin):
    """Why something was written, or not; of an unreported change, what made it, where that is known."""
    if origin != Origin.UNATTRIBUTED:
        return reason or ""
    return str(_("The plugin's consolidation changed the file.") if reason == CONSOLIDATION else reason or ELSEWHERE)


def write_source_words(sources):
    """The bits of who told of a write, in words; `–` for none."""
    return listed(SOURCE_WORDS[source] for source in Source if sources & source) or "–"


def rollback_way_sentence(way):
    """How a rollback was made, in a sentence."""
    return str(WAY_SENTENCES.get(way, way))


def accepted_effect_sentence(effect):
    """What a person accepted about a file's place in the prompt, in a sentence."""
    return str(ACCEPTED.get(effect, effect))


def handover_sentence(row):
    """What became of a change that was handed to an agent."""
    return sentence_of(row)


MADE = (
    accepted_effect_sentence,
    handover_sentence,
    write_origin_word,
    write_match_sentence,
    write_reason,
    write_source_words,
    rollback_way_sentence,
)
FILTERS = {made.__name__: made for made in MADE} | {"speaker_name": get_speaker_name, "speaker_word": format_speaker}
