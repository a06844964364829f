"""Short texts for a pack: one line, without hidden characters, never cut inside a handle."""

from artifacts import handles
from openclaw_web.pages import glyphs

CUT = "…"


def clip(text: str, most: int) -> str:
    """The first `most` characters of a text, the last one `…` when there is more.

    A handle is either whole or left out.
    """
    return text if len(text) <= most else text[: find_cut(text, most - 1)].rstrip() + CUT


def find_cut(text: str, end: int) -> int:
    """The last place up to `end` where a text can be cut without cutting a handle."""
    start = text.rfind(handles.PREFIX, max(0, end - handles.LENGTH + 1), end + len(handles.PREFIX))
    return start if 0 <= start < end < start + handles.LENGTH else end


def clip_line(text: str, most: int) -> str:
    """The beginning of a text, at most `most` characters on one line."""
    return clip(glyphs.to_one_line(clip(text, 8 * most)), most)


def split_lines(text: str) -> list[str]:
    """The lines of a text without hidden characters; their indentation stays."""
    lines_of_text = text.replace("\r\n", "\n").split("\n")
    return [line[: len(line) - len(line.lstrip(" "))] + glyphs.to_one_line(line) for line in lines_of_text]
