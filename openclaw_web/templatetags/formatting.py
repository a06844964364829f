"""The formats of `openclaw_web.pages.formatting` as filters of Django's templates."""

from django import template

from ..pages import formatting

register = template.Library()
for name, one in formatting.FILTERS.items():
    register.filter(name, one)
