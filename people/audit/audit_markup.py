"""Rows of the audit log as HTML."""

from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import labelled
from openclaw_web.lists.markup import LINK, MUTED, NOTHING, joined
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import moment

from . import entries

ROW = (
    '<tr><td class="nowrap">{time}</td>'
    '<td class="strong" data-label="%s">{actor}</td>'
    '<td class="medium" data-label="%s">{action}</td>'
    '<td class="wide break" data-label="%s"><span>{kind} {agent}{object}</span></td>'
    '<td class="medium break muted" data-label="%s">{more}</td>'
    '<td class="nowrap muted" data-label="%s">{via}</td></tr>'
)


def audit_rows(labels, rows):
    """The rows of a page of AuditEntry."""
    row, nobody = labelled(ROW, labels), format_html(MUTED, _("nobody"))
    return joined(
        format_html(
            row,
            time=moment(entry.at),
            actor=glyphs.readable(entry.actor) or ("–" if entry.via == "command" else nobody),
            action=entries.action_words(entry.action),
            kind=entries.OBJECTS.get(entry.object_type, entry.object_type),
            agent=format_html("{} · ", glyphs.readable(entry.agent_id)) if entry.agent_id else NOTHING,
            object=_object(entry),
            more=glyphs.readable(entries.details(entry)),
            via=entry.via,
        )
        for entry in rows
    )


def _object(entry):
    name, href = glyphs.readable(entry.object_id), entries.address_of(entry)
    return format_html(LINK, href, name) if name and href else name
