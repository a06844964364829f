"""The HTML of diffs and of texts with line numbers, put together here: they have thousands of lines."""

from html import escape

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from openclaw_web.pages.glyphs import readable

from .comparing import Diff, Section, View
from .pieces import LONGEST, Piece

LONG_LINE = 2_000  # from here on the unchanged pieces of a line are shortened
KEPT = 120  # characters at each end of a shortened piece
NUMBER = '<a class="diff__no" id="{id}" href="#{id}">{number}</a>'
SIDE = (
    '<div class="diff__side{tone}">{number}<span class="diff__sign">{sign}</span>'
    '<div class="diff__text">{text}</div></div>'
)
NONE = '<div class="diff__side diff__side--none"></div>'
FOLD = '<details class="diff__fold"><summary>{words}</summary>{rows}</details>'
UNOPENED = '<p class="diff__fold">{words}</p>'
MARKS = {"old": ("del", "−", " diff__side--removed"), "new": ("ins", "+", " diff__side--added")}


def diff(view: View, whole: Diff, *, prefix: str = "") -> SafeString:
    """The rows of a diff. Lines have the ids `L12` and, on the old side, `old-L12`, after `prefix`."""
    drawn = _Drawn(prefix, whole.has_one_ending)
    return SafeString("".join(drawn.section(section) for section in view.sections))


def lines(piece: Piece) -> SafeString:
    """The lines of a piece, each with its number, which links to itself as `#L12`."""
    rows = []
    for number, line in enumerate(piece.lines, start=piece.first):
        no = f'<a class="lines__no" id="L{number}" href="#L{number}">{number}</a>'
        rows.append(f'<div class="lines__line">{no}<div class="lines__text">{_cut(line, LONGEST)}</div></div>')
    return SafeString("".join(rows))


class _Drawn:
    """Draws the sections of one diff."""

    def __init__(self, prefix: str, hides_returns: bool):
        self.prefix = escape(prefix)
        self.ending = "\r\n" if hides_returns else "\n"
        self.no_newline = f'<span class="diff__note">{escape(_("no newline at the end"))}</span>'

    def section(self, section: Section) -> str:
        rows = "".join(map(self.row, section.rows))
        if not section.is_fold:
            return rows
        words = ngettext("%(count)s unchanged line", "%(count)s unchanged lines", section.count)
        return (FOLD if rows else UNOPENED).format(words=escape(words % {"count": f"{section.count:,}"}), rows=rows)

    def row(self, row):
        kind = " diff__row--changed" if row.is_changed else ""
        old, new = (self.side(getattr(row, name), name, row.is_changed) for name in ("old", "new"))
        return f'<div class="diff__row{kind}">{old}{new}</div>'

    def side(self, line, name, is_changed):
        if line is None:
            return NONE
        tag, sign, tone = MARKS[name]
        number = f"{self.prefix}{'old-' if name == 'old' else ''}L{line.number}"
        return SIDE.format(
            tone=tone if is_changed else "",
            number=NUMBER.format(id=number, number=line.number),
            sign=sign if is_changed else "",
            text=self.text(line, tag) + (self.no_newline if is_changed and not line.text.endswith("\n") else ""),
        )

    def text(self, line, tag):
        if not line.parts:
            return _cut(line.text.removesuffix(self.ending), LONGEST)
        is_long = len(line.text) > LONG_LINE
        found = []
        for place, (text, is_changed) in enumerate(line.parts):
            if place == len(line.parts) - 1:
                text = text.removesuffix(self.ending).removesuffix("\n")
            if is_changed:
                found.append(f"<{tag}>{_cut(text, LONG_LINE)}</{tag}>" if text else "")
            else:
                found.append(_shortened(text) if is_long else readable(text))
        return "".join(found)


def _cut(text, most):
    """A text for HTML, and how much of it is left out when it is too long."""
    if len(text) <= most:
        return readable(text)
    return readable(text[:most]) + _left_out(len(text) - most)


def _shortened(text):
    if len(text) <= 2 * KEPT:
        return readable(text)
    return readable(text[:KEPT]) + _left_out(len(text) - 2 * KEPT) + readable(text[-KEPT:])


def _left_out(count):
    words = ngettext("%(count)s character more", "%(count)s characters more", count) % {"count": f"{count:,}"}
    return f' <span class="diff__note">⋯ {escape(words)} ⋯</span> '
