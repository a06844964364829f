"""How transcripts are spelled on pages. Formatting only: no queries."""

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.templatetags.formatting import duration, money, tokens

from .. import glyphs, markdown, message_markup, session_markup
from ..words import COPY_WORDS, STATE_WORDS

register = template.Library()
register.filter(message_markup.call)
register.filter(message_markup.characters)
register.filter(message_markup.clock)
register.filter(message_markup.head)
register.filter(message_markup.images)
register.filter(message_markup.message)
register.filter("session_rows", session_markup.rows)
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


@register.filter
def sums(turn):
    """What a turn adds up to: `3 calls · 25.6k tokens · $0.07 · 117 ms`."""
    found = []
    if calls := turn["tool_call_count"]:
        found.append(ngettext("%(count)s call", "%(count)s calls", calls) % {"count": f"{calls:,}"})
    if turn["total_tokens"]:
        found.append(_("%(count)s tokens") % {"count": tokens(turn["total_tokens"])})
    if turn["cost_usd"]:
        found.append(money(turn["cost_usd"]))
    if turn["latency_ms"] is not None:
        found.append(duration(turn["latency_ms"]))
    return " · ".join(found)


@register.filter
def errors(count):
    """`2 errors`."""
    return ngettext("%(count)s error", "%(count)s errors", count) % {"count": f"{count:,}"}
