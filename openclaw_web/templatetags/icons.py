"""The icons of `openclaw_web.pages.icons` as a tag of Django's templates."""

from django import template

from ..pages import icons

register = template.Library()


@register.simple_tag
def heroicon_outline(name, *, size=24, **attrs):
    """The <svg> of an icon; `attrs` become its attributes."""
    return icons.icon(name, size=size, **attrs)
