"""Rows of rejected records as HTML."""

from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import cell_labels, labelled
from openclaw_web.lists.markup import DETAIL, LINK, NOTHING, joined
from openclaw_web.pages import glyphs
from openclaw_web.templatetags.formatting import ago, number, size

REJECTED_FIELDS = (
    *("id", "file", "byte_offset", "byte_length", "reason", "detail", "raw_preview", "session_id", "created_at"),
)
REJECTED_COLUMNS = (
    ("", _("File"), False),
    ("", _("Reason"), False),
    ("", _("Begins with"), False),
    ("", _("At byte"), True),
    ("", _("Length"), True),
    ("found", _("Found"), True),
)
REJECTED_ROW = (
    '<tr><th scope="row" class="break mono small">{file}</th>'
    '<td data-label="%s"><div>{reason}{detail}</div></td>'
    '<td data-label="%s">{preview}</td>'
    '<td class="num" data-label="%s">{offset}</td>'
    '<td class="num" data-label="%s">{length}</td>'
    '<td class="num" data-label="%s">{found}</td></tr>'
)
PREVIEW = (
    '<details class="fold"><summary><code class="clamp">{}</code></summary>'
    '<pre class="log" tabindex="0">{}</pre></details>'
)


def rejected_rows(agent, lines):
    """The rows of a page of `rejected.Rejected`."""
    row = labelled(REJECTED_ROW, cell_labels(REJECTED_COLUMNS))
    return joined(
        format_html(
            row,
            file=_file(agent, line),
            reason=line.reason,
            detail=format_html(DETAIL, glyphs.readable(line.row.detail)) if line.row.detail else NOTHING,
            preview=format_html(PREVIEW, line.start, line.preview) if line.preview else "–",
            offset=number(line.row.byte_offset),
            length=size(line.row.byte_length),
            found=ago(line.row.created_at),
        )
        for line in lines
    )


def _file(agent, line):
    file = glyphs.readable(line.row.file)
    if line.session_id is None:
        return file
    return format_html(LINK, reverse("ledger:session_detail", args=[agent.agent_id, line.session_id]), file)
