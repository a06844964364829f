"""How transcripts are spelled on pages that are Django templates still: the filters and macros of the others."""

from django import template
from django.template import engines

from openclaw_web.pages.templates import one_line, readable

from ..markup.filters import FILTERS

register = template.Library()
for made in (one_line, readable, *(FILTERS[name] for name in ("rich", "characters", "state_word", "copy_word"))):
    register.filter(made)


@register.filter
def call(call, here):
    """One call of a tool."""
    return _records().tool_call(call, here)


@register.simple_tag
def more(record, here, field, number=0, length=0):
    """The way to the whole of a text that is cut."""
    return _records().more(record, here, field, number, length)


def _records():
    return engines.all()[0].env.get_template("ledger/records.html").module
