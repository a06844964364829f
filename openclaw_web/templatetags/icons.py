"""The icons of heroicons, each drawn once: the library reads XML every time, seventeen times on a page."""

from functools import lru_cache

from django import template
from heroicons.templatetags.heroicons import heroicon_outline as draw

register = template.Library()


@register.simple_tag
def heroicon_outline(name, *, size=24, **attrs):
    """The <svg> of an icon; `attrs` become its attributes."""
    return _drawn(name, size, tuple(sorted(attrs.items())))


@lru_cache(maxsize=512)
def _drawn(name, size, attrs):
    return draw(name, size=size, **dict(attrs))
