"""The rows of the lists of jobs, exports and rejected records, put together as ledger.list_markup does."""

from html import escape

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agents.templatetags.formatting import ago, duration, number, size
from ledger import glyphs

from .list_filters import KINDS
from .models import JobRun

NOTHING = SafeString("")
JOB_FIELDS = (
    *("id", "kind", "state", "done", "total", "message", "started_by", "created_at", "started_at", "finished_at"),
)
EXPORT_FIELDS = (
    *("id", "export_name", "export_format", "task", "state", "total_samples", "approved_samples", "file_size_bytes"),
    *("checksum", "exported_by", "exported_at", "sentence"),
)
REJECTED_FIELDS = (
    *("id", "file", "byte_offset", "byte_length", "reason", "detail", "raw_preview", "session_id", "created_at"),
)
# Name in ORDERS (or nothing), label, whether it is a number.
JOB_COLUMNS = (
    ("", _("Job"), False),
    ("", _("State"), False),
    ("", _("Done"), True),
    ("", _("Last message"), False),
    ("", _("Started by"), False),
    ("queued", _("Queued"), False),
    ("", _("Took"), True),
)
EXPORT_COLUMNS = (
    ("", _("Name"), False),
    ("", _("Format"), False),
    ("", _("Task"), False),
    ("", _("State"), False),
    ("", _("Rows"), True),
    ("", _("Size"), True),
    ("", _("By"), False),
    ("when", _("When"), True),
)
REJECTED_COLUMNS = (
    ("", _("File"), False),
    ("", _("Reason"), False),
    ("", _("Begins with"), False),
    ("", _("At byte"), True),
    ("", _("Length"), True),
    ("found", _("Found"), True),
)
BADGE = '<span class="badge badge--{tone}">{label}</span>'
JOB_ROW = (
    '<tr><td><a href="{href}">{label}</a></td>'
    '<td data-label="{labels[1]}">{state}</td>'
    '<td class="num" data-label="{labels[2]}">{done}</td>'
    '<td class="wide" data-label="{labels[3]}">{message}</td>'
    '<td data-label="{labels[4]}">{by}</td>'
    '<td data-label="{labels[5]}">{queued}</td>'
    '<td class="num" data-label="{labels[6]}">{took}</td></tr>'
)
EXPORT_ROW = (
    '<tr><th scope="row" class="wide break"><a href="{href}">{name}</a></th>'
    '<td data-label="{labels[1]}">{format}</td>'
    '<td data-label="{labels[2]}">{task}</td>'
    '<td data-label="{labels[3]}">{state}</td>'
    '<td class="num" data-label="{labels[4]}">{rows}</td>'
    '<td class="num" data-label="{labels[5]}">{size}</td>'
    '<td data-label="{labels[6]}">{by}</td>'
    '<td class="num" data-label="{labels[7]}">{when}</td></tr>'
)
REJECTED_ROW = (
    '<tr><th scope="row" class="break mono small">{file}</th>'
    '<td data-label="{labels[1]}"><div>{reason}{detail}</div></td>'
    '<td data-label="{labels[2]}">{preview}</td>'
    '<td class="num" data-label="{labels[3]}">{offset}</td>'
    '<td class="num" data-label="{labels[4]}">{length}</td>'
    '<td class="num" data-label="{labels[5]}">{found}</td></tr>'
)
LINK = '<a href="{}">{}</a>'
DETAIL = '<div class="muted small break">{}</div>'
PREVIEW = (
    '<details class="fold"><summary><code class="clamp">{}</code></summary>'
    '<pre class="log" tabindex="0">{}</pre></details>'
)


def job_rows(jobs):
    """The rows of a page of JobRun."""
    labels = _labels(JOB_COLUMNS)
    return _joined(
        format_html(
            JOB_ROW,
            labels=labels,
            href=job.get_absolute_url(),
            label=KINDS.get(job.kind, job.kind),
            state=format_html(BADGE, tone=job.state, label=JobRun.State(job.state).label),
            done=number(job.done) if job.percent is None else f"{job.percent} %",
            message=glyphs.readable(job.message) or "–",
            by=job.started_by or "–",
            queued=ago(job.created_at),
            took=duration(job.duration_ms),
        )
        for job in jobs
    )


def export_rows(exports, states):
    """The rows of a page of DatasetExport; `states` are the tone and label of each."""
    labels = _labels(EXPORT_COLUMNS)
    return _joined(
        format_html(
            EXPORT_ROW,
            labels=labels,
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
        for export, state in zip(exports, states, strict=True)
    )


def rejected_rows(agent, lines):
    """The rows of a page of `rejected.Rejected`."""
    labels = _labels(REJECTED_COLUMNS)
    return _joined(
        format_html(
            REJECTED_ROW,
            labels=labels,
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


class _Labels(tuple):
    """Escaped words, by their place; format_html would make one text of a plain list."""

    def __html__(self):
        return self


def _labels(columns):
    return _Labels(SafeString(escape(str(label))) for _name, label, _is_number in columns)


def _joined(rows):
    return SafeString("".join(rows))
