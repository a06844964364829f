"""The HTML of a word diff."""

from html import escape

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from openclaw_web.pages.glyphs import readable

from .word_diff import ADDED, REMOVED, Piece

AROUND = 80  # characters of what was kept beside a change
TAGS = {REMOVED: "<del>{}</del>", ADDED: "<ins>{}</ins>"}
LEFT_OUT = '<span class="muted" title="{}"> ⋯ </span>'


def word_changes(pieces: list[Piece]) -> SafeString:
    """Pieces of a text as HTML: removed and added words marked, of long unchanged runs only their ends."""
    last = len(pieces) - 1
    left_out = LEFT_OUT.format(escape(_("Unchanged text")))
    drawn = []
    for number, piece in enumerate(pieces):
        if piece.kind in TAGS:
            drawn.append(TAGS[piece.kind].format(readable(piece.text)))
        elif len(piece.text) <= 2 * AROUND:
            drawn.append(readable(piece.text))
        else:
            head = readable(piece.text[:AROUND]) if number else ""
            tail = readable(piece.text[-AROUND:]) if number < last else ""
            drawn.append(f"{head}{left_out}{tail}")
    return SafeString("".join(drawn))
