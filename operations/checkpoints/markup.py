"""The HTML of the rows of a checkpoint's table of turns: a page holds fifty of them."""

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import filled, labelled
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import moment

TURN = (
    '<tr><th scope="row">{number}</th>'
    '<td dir="auto"><span class="clamp">{words}</span></td>'
    '<td data-label="%s" dir="auto"><span class="clamp">{reply}</span></td>'
    '<td class="medium" data-label="%s">{models}</td>'
    '<td class="num" data-label="%s">{calls}</td>'
    '<td class="num{bad}" data-label="%s">{failures}</td>'
    '<td data-label="%s">{began}</td></tr>'
)
LABELS = (_("Reply"), _("Model"), _("Tool calls"), _("Errors"), _("Began"))
LINK = '<a href="{}">{}</a>'
NONE = "–"


def turns(items):
    """Rows of turns as `checkpoint_page` gives them."""
    row = labelled(TURN, LABELS)
    return SafeString("".join(_turn(row, item) for item in items))


def _turn(row, turn):
    number = str(turn["number"])
    return filled(
        row,
        number=format_html(LINK, turn["href"], number) if turn["href"] else number,
        words=glyphs.readable(turn["words"] or NONE),
        reply=glyphs.readable(turn["reply"] or NONE),
        models=glyphs.readable(", ".join(turn["models"]) or NONE),
        calls=f"{turn['calls']:,}" if turn["calls"] else NONE,
        bad=" bad" if turn["failures"] else "",
        failures=f"{turn['failures']:,}" if turn["failures"] else NONE,
        began=moment(turn["started_at"]),
    )
