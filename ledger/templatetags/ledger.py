"""How transcripts are spelled on pages. Formatting only: no queries."""

from django import template

from openclaw_web.pages import glyphs

from ..markup import markdown, message_markup, section_markup, step_markup, table_markup
from ..words import COPY_WORDS, STATE_WORDS

register = template.Library()
register.filter(message_markup.again)
register.filter(message_markup.call)
register.filter(message_markup.characters)
register.filter(message_markup.clock)
register.filter(message_markup.head)
register.filter(message_markup.images)
register.filter(message_markup.message)
register.filter(message_markup.runs)
register.filter(message_markup.stashed)
register.filter(section_markup.errors)
register.filter(section_markup.new_figures)
register.filter(section_markup.switcher)
register.filter(section_markup.turn_head)
register.filter(step_markup.step_rows)
register.filter(table_markup.branch_rows)
register.filter(table_markup.turn_rows)
register.simple_tag(message_markup.more)


@register.filter
def readable(text):
    """A text whose hidden characters are shown as small codes."""
    return glyphs.readable(text or "")


@register.filter
def one_line(text):
    """A text on one line without hidden characters, for titles and attributes."""
    return glyphs.plain(text or "")


@register.filter
def rich(text):
    """What an agent wrote in Markdown, as safe HTML."""
    return markdown.render(text)


@register.filter
def state_word(state):
    """`reset` as “Reset”."""
    return STATE_WORDS.get(state, state)


@register.filter
def copy_word(model):
    """Who wrote a synthetic assistant message."""
    return COPY_WORDS.get(model, model)
