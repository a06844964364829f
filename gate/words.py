"""Interface words for origins, matches, sources and verdicts of decisions."""

from django.utils.translation import gettext_lazy as _

from openclaw_web.pages import states
from openclaw_web.pages.formatting import listed, money

from .models import MemoryGateDecision

Origin, Match, Source = MemoryGateDecision.Origin, MemoryGateDecision.Match, MemoryGateDecision.Source
SMALLEST = 0.0001  # US dollars
ORIGIN_WORDS = {
    Origin.RECORDED: _("Recorded"),
    Origin.IMPORTED: states.word("imported"),
    Origin.OWN: _("This site's gate"),
}
MATCH_WORDS = {
    Match.GIVEN: _("Recorded by the plugin"),
    Match.EXACT: _("Certain"),
    Match.NEAR: _("Near in time"),
    Match.NONE: _("No turn found"),
}
MATCH_SENTENCES = {
    Match.GIVEN: _("The plugin recorded the turn."),
    Match.EXACT: _("The reply that the gate was given is the reply of this turn."),
    Match.NEAR: _("The turn was found by session and time alone. It may be another turn."),
    Match.NONE: _("No turn of this session fits the time of the decision."),
}
VERDICT_WORDS = {"right": _("Right"), "wrong": _("Wrong"), "judged": _("Judged"), "unjudged": _("Not judged")}
SOURCE_WORDS = {
    Source.API: _("API"),
    Source.LOG: _("Log of the plugin"),
    Source.DATABASE: _("Database of the plugin"),
    Source.OWN: _("This site's gate"),
}


def build_row_words() -> dict[str, dict[str, str]]:
    """Return the words of origins and matches in the language of the request.

    For lists: each row has two of them.
    """
    tables = {"origins": ORIGIN_WORDS, "matches": MATCH_WORDS}
    return {name: {value: str(word) for value, word in table.items()} for name, table in tables.items()}


def gate_origin_word(origin):
    """Return “Recorded” for `recorded`."""
    return str(ORIGIN_WORDS.get(origin, origin))


def match_word(match):
    """Return “Near in time” for `near`."""
    return str(MATCH_WORDS.get(match, match))


def match_sentence(match):
    """Return a sentence that explains a match such as `near`."""
    return str(MATCH_SENTENCES.get(match, match))


def source_words(sources):
    """Return the words of the bits of `sources`; `–` for none."""
    return listed(SOURCE_WORDS[source] for source in Source if sources & source) or "–"


def known_cost(usd):
    """Return the cost of a call: `$0.0016`, `<$0.0001`, or `–` when it is not known."""
    if usd is None:
        return "–"
    return "<$0.0001" if 0 < usd < SMALLEST else money(usd)


def percent_of(part, whole):
    """Return a share: `34%`, `<1%`, `>99%` of not quite all, or `–` of nothing."""
    if not whole:
        return "–"
    percent = 100 * part / whole
    return "<1%" if 0 < percent < 1 else ">99%" if 99 < percent < 100 else f"{percent:.0f}%"


FILTER_FUNCTIONS = (gate_origin_word, match_word, match_sentence, source_words, known_cost, percent_of)
FILTERS = {function.__name__: function for function in FILTER_FUNCTIONS}
