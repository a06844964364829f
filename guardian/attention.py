"""What an operator should know of an agent's memory files: that they changed, and nobody told of a write."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from gate.statistics.attention import Notice
from gate.statistics.figures import day_of
from openclaw_web import clock

from .models import WriteGuardianAudit
from .rollbacks import settling
from .words import CONSOLIDATION

RECENT_MS = 7 * 86_400_000
MOST = 100  # that are counted


def notices(db: str) -> list[Notice]:
    """All there is to say about an agent's memory files, what somebody waits for first."""
    return [*_meanwhile(db), *_unattributed(db)]


def _meanwhile(db):
    """That somebody wrote to a file while it was rolled back, and nobody said yet what becomes of it."""
    row = settling.waiting(db).first()
    if row is None:
        return []
    words = {"file": row.file_name}
    sentence = _("Somebody wrote to %(file)s while a write was rolled back. It is not in the file.") % words
    return [Notice(sentence, "guardian:audit_list", f"file={row.file_name}&segment=rolled_back")]


def _unattributed(db):
    """That memory files changed in the last seven days, nobody told of it, and they still are as they became.

    What the plugin's consolidation changed is known, and what somebody rolled back was seen to.
    """
    start = clock.now_ms() - RECENT_MS
    rows = WriteGuardianAudit.objects.using(db).filter(origin=WriteGuardianAudit.Origin.UNATTRIBUTED)
    found = rows.filter(created_at__gte=start).values_list("status", "reason").order_by("-created_at")[: MOST + 1]
    count = sum(status == WriteGuardianAudit.Status.WRITTEN and reason != CONSOLIDATION for status, reason in found)
    if not count:
        return []
    words = ngettext(
        "%(count)s change of memory files in the last 7 days has no known write.",
        "%(count)s changes of memory files in the last 7 days have no known write.",
        count,
    )
    sentence = words % {"count": f"{MOST}+" if count > MOST else str(count)}
    return [Notice(sentence, "guardian:audit_list", f"segment=unattributed&from={day_of(start)}")]
