"""The verbs of `openclaw-web reflection guardian`, one module each, and what they share."""

from collections.abc import Iterator

from openclaw_web.pages import glyphs


def split_visible_lines(text: str | None) -> Iterator[str]:
    """Split a text into lines, and show what a terminal would hide or interpret."""
    yield from glyphs.to_terminal(text or "").split("\n")
