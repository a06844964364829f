"""Words of a record for a pack: on one line, without hidden characters, cut where no handle is cut."""

from artifacts import handles
from openclaw_web.pages import glyphs

CUT = "…"


def clip(text: str, most: int) -> str:
    """The first `most` characters of a text, the last one `…` when there is more. A handle is whole or not there."""
    return text if len(text) <= most else text[: find_cut(text, most - 1)].rstrip() + CUT


def find_cut(text: str, end: int) -> int:
    """Where to cut a text at the latest, so that what is before `end` holds no part of a handle."""
    start = text.rfind(handles.PREFIX, max(0, end - handles.LENGTH + 1), end + len(handles.PREFIX))
    return start if 0 <= start < end < start + handles.LENGTH else end


def clip_line(text: str, most: int) -> str:
    """The beginning of a text on one line."""
    return clip(glyphs.to_one_line(clip(text, 8 * most)), most)


def split_lines(text: str) -> list[str]:
    """A text as lines without hidden characters; how far they are indented stays."""
    found = text.replace("\r\n", "\n").split("\n")
    return [line[: len(line) - len(line.lstrip(" "))] + glyphs.to_one_line(line) for line in found]
