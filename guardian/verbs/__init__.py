"""The verbs of `openclaw-web reflection guardian`, one module each, and what they share."""

from collections.abc import Iterator

from openclaw_web.pages import glyphs

BY = "command line"  # who does what is asked for in a terminal


def split_visible_lines(text: str | None) -> Iterator[str]:
    """The lines of a text, with what a terminal would hide or obey made visible."""
    yield from glyphs.to_terminal(text or "").split("\n")
