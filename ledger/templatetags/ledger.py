"""How transcripts are spelled on pages that are Django templates still: the filters of the others."""

from django import template

from openclaw_web.pages.templates import one_line, readable

from ..markup.filters import FILTERS

register = template.Library()
for made in (one_line, readable, *(FILTERS[name] for name in ("rich", "characters", "state_word", "copy_word"))):
    register.filter(made)
