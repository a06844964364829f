"""The icons of heroicons, each drawn once: the library reads XML every time, seventeen times on a page."""

from functools import lru_cache

from heroicons.templatetags.heroicons import heroicon_outline as draw


def icon(name, *, size=24, **attrs):
    """The <svg> of an icon; `attrs` become its attributes, `class_` its class."""
    return _drawn(name, size, tuple(sorted((name.rstrip("_"), value) for name, value in attrs.items())))


@lru_cache(maxsize=512)
def _drawn(name, size, attrs):
    return draw(name, size=size, **dict(attrs))
