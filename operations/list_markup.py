"""The rows of the lists that span agents, put together as ledger.list_markup does."""

from urllib.parse import quote

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from agents.templatetags.formatting import ago, duration, moment, money, number, size, tokens
from openclaw_web import glyphs
from openclaw_web.lists import cell_labels, filled, labelled

from . import audit_entries, job_kinds, overview
from .models import JobRun

NOTHING = SafeString("")
# The cells of an agent behind its name: a column of the sums, and how it is written. overview.COLUMNS has the labels.
AGENT_CELLS = {
    "session_count": number,
    "turn_count": number,
    "error_count": number,
    "total_tokens": tokens,
    "cost_usd": money,
    "rejected_count": number,
    "last_activity_at": ago,
    "last_collected_at": ago,
}
AGENT_DAY_CELLS = {
    "turn_count": (_("Turns"), number),
    "tool_call_count": (_("Tool calls"), number),
    "error_count": (_("Errors"), number),
    "total_tokens": (_("Tokens"), tokens),
    "cost_usd": (_("Cost"), money),
}
AGENT_HEAD = '<tr><th scope="row"><a href="{address}">{agent}</a></th>'
AGENT_CELL = '<td class="num" data-label="%s">{{{name}}}</td>'
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
AUDIT_COLUMNS = (
    ("time", _("Time (UTC)"), False),
    ("", _("Who"), False),
    ("", _("What"), False),
    ("", _("To what"), False),
    ("", _("More"), False),
    ("", _("How"), False),
)
BADGE = '<span class="badge badge--{tone}">{label}</span>'
JOB_ROW = (
    '<tr><td class="medium"><a href="{href}">{label}</a></td>'
    '<td data-label="%s">{state}</td>'
    '<td class="num" data-label="%s">{done}</td>'
    '<td class="wide" data-label="%s">{message}</td>'
    '<td data-label="%s">{by}</td>'
    '<td data-label="%s">{queued}</td>'
    '<td class="num" data-label="%s">{took}</td></tr>'
)
EXPORT_ROW = (
    '<tr><th scope="row" class="wide break"><a href="{href}">{name}</a></th>'
    '<td data-label="%s">{format}</td>'
    '<td data-label="%s">{task}</td>'
    '<td data-label="%s">{state}</td>'
    '<td class="num" data-label="%s">{rows}</td>'
    '<td class="num" data-label="%s">{size}</td>'
    '<td data-label="%s">{by}</td>'
    '<td class="num" data-label="%s">{when}</td></tr>'
)
REJECTED_ROW = (
    '<tr><th scope="row" class="break mono small">{file}</th>'
    '<td data-label="%s"><div>{reason}{detail}</div></td>'
    '<td data-label="%s">{preview}</td>'
    '<td class="num" data-label="%s">{offset}</td>'
    '<td class="num" data-label="%s">{length}</td>'
    '<td class="num" data-label="%s">{found}</td></tr>'
)
AUDIT_ROW = (
    '<tr><td class="nowrap">{time}</td>'
    '<td class="strong" data-label="%s">{actor}</td>'
    '<td class="medium" data-label="%s">{action}</td>'
    '<td class="wide break" data-label="%s"><span>{kind} {agent}{object}</span></td>'
    '<td class="medium break muted" data-label="%s">{more}</td>'
    '<td class="nowrap muted" data-label="%s">{via}</td></tr>'
)
LINK = '<a href="{}">{}</a>'
MUTED = '<span class="muted">{}</span>'
DETAIL = '<div class="muted small break">{}</div>'
PREVIEW = (
    '<details class="fold"><summary><code class="clamp">{}</code></summary>'
    '<pre class="log" tabindex="0">{}</pre></details>'
)


def agent_rows(agents):
    """The rows of AgentSummary: several hundred on one page."""
    names = list(AGENT_CELLS)
    row = _agent_row(names, [overview.COLUMNS[name] for name in names])
    parts = [{name: SafeString(write(getattr(agent, name))) for name, write in AGENT_CELLS.items()} for agent in agents]
    addresses = _addresses("ledger:session_list")
    return SafeString(
        "".join(
            filled(row, address=addresses(agent.agent_id), agent=agent.agent_id, **cells)
            for agent, cells in zip(agents, parts, strict=True)
        )
    )


def agent_day_rows(sums, period):
    """The rows of `overview.sums_in`."""
    row = _agent_row(AGENT_DAY_CELLS, [label for label, _write in AGENT_DAY_CELLS.values()])
    addresses = _addresses("ledger:turn_list")
    found = []
    for one in sums:
        cells = {name: SafeString(write(one[f"sum_{name}"])) for name, (_label, write) in AGENT_DAY_CELLS.items()}
        address = f"{addresses(one['agent_id'])}?{period.query}"
        found.append(filled(row, address=address, agent=one["agent_id"], **cells))
    return SafeString("".join(found))


def _agent_row(names, labels):
    cells = "".join(AGENT_CELL.format(name=name) for name in names)
    return AGENT_HEAD + labelled(cells, labels) + "</tr>"


def _addresses(route):
    """A function from an agent to its page: the route is looked up once."""
    before, _name, after = reverse(route, args=["\0"]).partition("%00")
    return lambda agent: f"{before}{quote(agent)}{after}"


def job_rows(jobs):
    """The rows of a page of JobRun."""
    row = labelled(JOB_ROW, cell_labels(JOB_COLUMNS))
    return _joined(
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
        for job in jobs
    )


def export_rows(exports, states):
    """The rows of a page of DatasetExport; `states` are the tone and label of each."""
    row = labelled(EXPORT_ROW, cell_labels(EXPORT_COLUMNS))
    return _joined(
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
        for export, state in zip(exports, states, strict=True)
    )


def rejected_rows(agent, lines):
    """The rows of a page of `rejected.Rejected`."""
    row = labelled(REJECTED_ROW, cell_labels(REJECTED_COLUMNS))
    return _joined(
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


def audit_rows(entries):
    """The rows of a page of AuditEntry."""
    row, nobody = labelled(AUDIT_ROW, cell_labels(AUDIT_COLUMNS)), format_html(MUTED, _("nobody"))
    return _joined(
        format_html(
            row,
            time=moment(entry.at),
            actor=glyphs.readable(entry.actor) or ("–" if entry.via == "command" else nobody),
            action=audit_entries.action_words(entry.action),
            kind=audit_entries.OBJECTS.get(entry.object_type, entry.object_type),
            agent=format_html("{} · ", glyphs.readable(entry.agent_id)) if entry.agent_id else NOTHING,
            object=_object(entry),
            more=glyphs.readable(audit_entries.details(entry)),
            via=entry.via,
        )
        for entry in entries
    )


def _object(entry):
    name, href = glyphs.readable(entry.object_id), audit_entries.address_of(entry)
    return format_html(LINK, href, name) if name and href else name


def _file(agent, line):
    file = glyphs.readable(line.row.file)
    if line.session_id is None:
        return file
    return format_html(LINK, reverse("ledger:session_detail", args=[agent.agent_id, line.session_id]), file)


def _joined(rows):
    return SafeString("".join(rows))
