"""What templates can do with the words of transcripts. Formatting only: no queries."""

from ..words import COPY_WORDS, STATE_WORDS
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


FILTERS = {made.__name__: made for made in (rich, state_word, copy_word)}
