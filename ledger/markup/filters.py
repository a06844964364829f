"""What templates can do with the words of transcripts. Formatting only: no queries."""

from ..words import COPY_WORDS, EVENT_WORDS, STATE_WORDS
from . import markdown


def rich(text):
    """What an agent wrote in Markdown, as safe HTML."""
    return markdown.render(text)


def state_word(state):
    """`reset` as “Reset”."""
    return STATE_WORDS.get(state, state)


def copy_word(model):
    """Who wrote a synthetic assistant message."""
    return COPY_WORDS.get(model, model)


def event_word(kind):
    """`tool_result` as “Tool result”."""
    return EVENT_WORDS.get(kind, kind)


def share_of(part, whole):
    """A part in hundredths of the whole: `12%`, `<1%`, `–` of nothing."""
    if not whole:
        return "–"
    share = 100 * part / whole
    return "<1%" if 0 < share < 1 else f"{share:.0f}%"


FILTERS = {made.__name__: made for made in (rich, state_word, copy_word, event_word, share_of)}
