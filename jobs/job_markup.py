"""Rows of jobs as HTML."""

from django.utils.html import format_html

from openclaw_web.lists.filters import labelled
from openclaw_web.lists.markup import BADGE, joined
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import ago, duration, number

from . import kinds as job_kinds
from .models import JobRun

ROW = (
    '<tr><td class="medium"><a href="{href}">{label}</a></td>'
    '<td data-label="%s">{state}</td>'
    '<td class="num" data-label="%s">{done}</td>'
    '<td class="wide" data-label="%s">{message}</td>'
    '<td data-label="%s">{by}</td>'
    '<td data-label="%s">{queued}</td>'
    '<td class="num" data-label="%s">{took}</td></tr>'
)


def job_rows(labels, rows):
    """The rows of a page of JobRun."""
    row = labelled(ROW, labels)
    return joined(
        format_html(
            row,
            href=job.get_absolute_url(),
            label=job_kinds.label_of(job.kind),
            state=format_html(BADGE, tone=job.state, label=JobRun.State(job.state).label),
            done=number(job.done) if job.percent is None else f"{job.percent}%",
            message=glyphs.readable(job.message) or "–",
            by=job.started_by or "–",
            queued=ago(job.created_at),
            took=duration(job.duration_ms),
        )
        for job in rows
    )
