"""The audit log: who did what."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from django.views.decorators.http import require_safe

from openclaw_web.lists.answers import Words, answer_file, answer_page
from openclaw_web.lists.paging import places
from openclaw_web.pages.doors import needs

from ..models.kept import AuditEntry
from . import entries, markup
from .filters import AuditFilters

ENTRIES = Words(
    counted=ngettext_lazy("%(shown)s entry in the audit log", "%(shown)s entries in the audit log", "count"),
    uncounted=_("Audit log"),
    none=_("Nothing has happened yet"),
    how=_("Sign-ins, changes, downloads and opened content will be here."),
    icon="clipboard-document-list",
)


@require_safe
@needs("admin")
def audit_list(request):
    """The entries that fit the filters, the newest first; as a file with `format`."""
    filters = AuditFilters(request.GET).checked()
    found = filters.listing(AuditEntry.objects.all())
    if filters.cleaned_data["format"]:
        what = {"order": found.order, "columns": entries.FIELDS, "shape": entries.shape}
        return answer_file(request, filters, found.all.values(), on="audit", **what)
    page = found.page(**places(request))
    return answer_page(
        request,
        "people/audit_list.html",
        filters,
        found,
        page,
        on="audit",
        words=ENTRIES,
        columns=markup.AUDIT_COLUMNS,
        rows=markup.audit_rows(page),
    )
