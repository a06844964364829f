"""The audit log: who did what, the newest first."""

from django.views.decorators.http import require_safe

from agents.decorators import needs
from agents.list_pages import answer_file
from agents.models import AuditEntry
from openclaw_web.html import render_page
from openclaw_web.paging import page_of, places

from .. import audit_entries
from ..audit_entries import AuditFilters


@require_safe
@needs("admin")
def audit_list(request):
    """The entries that fit the filters; as a file with `format`."""
    filters = AuditFilters(request.GET).checked()
    rows = filters.narrow(AuditEntry.objects.all())
    if filters.cleaned_data["format"]:
        what = {"order": filters.order, "columns": audit_entries.COLUMNS, "shape": audit_entries.shape}
        return answer_file(request, filters, rows.values(), on="audit", **what)
    page = page_of(rows, order=filters.order, **places(request))
    context = {"filters": filters, "entries": page, "rows": [_row(entry) for entry in page]}
    return render_page(request, "operations/audit_list.html", context)


def _row(entry):
    return {
        "entry": entry,
        "action": audit_entries.ACTIONS.get(entry.action, entry.action),
        "object": audit_entries.OBJECTS.get(entry.object_type, entry.object_type),
        "href": audit_entries.address_of(entry),
        "details": audit_entries.details(entry),
    }
