"""Rows of exports as HTML."""

from django.utils.html import format_html

from openclaw_web.lists.filters import labelled
from openclaw_web.lists.markup import BADGE, joined
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import ago, number, size

ROW = (
    '<tr><th scope="row" class="wide break"><a href="{href}">{name}</a></th>'
    '<td data-label="%s">{format}</td>'
    '<td data-label="%s">{task}</td>'
    '<td data-label="%s">{state}</td>'
    '<td class="num" data-label="%s">{rows}</td>'
    '<td class="num" data-label="%s">{size}</td>'
    '<td data-label="%s">{by}</td>'
    '<td class="num" data-label="%s">{when}</td></tr>'
)


def export_rows(labels, rows, states):
    """The rows of a page of DatasetExport; `states` are the tone and label of each."""
    row = labelled(ROW, labels)
    return joined(
        format_html(
            row,
            href=export.get_absolute_url(),
            name=glyphs.readable(export.export_name),
            format=export.export_format,
            task=export.task,
            state=format_html(BADGE, **state),
            rows=number(export.total_samples),
            size=size(export.file_size_bytes),
            by=export.exported_by or "–",
            when=ago(export.exported_at),
        )
        for export, state in zip(rows, states, strict=True)
    )
