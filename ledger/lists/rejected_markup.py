"""Rows of rejected records as HTML."""

from django.urls import reverse
from django.utils.html import format_html

from openclaw_web.lists.filters import labelled
from openclaw_web.lists.markup import DETAIL, LINK, NOTHING, joined
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import ago, number, size

ROW = (
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


def rejected_rows(labels, rows, agent):
    """The rows of a page of `Rejected` of an agent."""
    row = labelled(ROW, labels)
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
        for line in rows
    )


def _file(agent, line):
    file = glyphs.readable(line.row.file)
    if line.session_id is None:
        return file
    return format_html(LINK, reverse("ledger:session_detail", args=[agent.agent_id, line.session_id]), file)
