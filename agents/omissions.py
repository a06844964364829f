"""How many reset and deleted sessions imports left out, for pages with totals."""

from django.db.models import Count, F, Value
from django.db.models.functions import Coalesce, NullIf
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from .models import SkippedSource

Reason = SkippedSource.Reason


def describe(agent_id: str | None = None) -> str:
    """Say how many sessions the totals of an agent, or of all, do not hold; empty when there are none."""
    counts = count(agent_id)
    reset, deleted = counts[Reason.RESET], counts[Reason.DELETED]
    parts = []
    if reset:
        parts.append(ngettext("%(count)s reset session", "%(count)s reset sessions", reset) % {"count": f"{reset:,}"})
    if deleted:
        words = ngettext("%(count)s deleted session", "%(count)s deleted sessions", deleted)
        parts.append(words % {"count": f"{deleted:,}"})
    return _("Not imported and in no total: %(what)s.") % {"what": ", ".join(parts)} if parts else ""


def count(agent_id: str | None = None) -> dict[str, int]:
    """By reason, the sessions that were left out; each once, however many files it has."""
    rows = SkippedSource.objects.filter(reason__in=(Reason.RESET, Reason.DELETED))
    rows = rows if agent_id is None else rows.filter(agent_id=agent_id)
    session = Coalesce(NullIf(F("session_id"), Value("")), F("path"))
    found = rows.values("reason").annotate(sessions=Count(session, distinct=True)).order_by()
    return {Reason.RESET: 0, Reason.DELETED: 0} | dict(found.values_list("reason", "sessions"))
