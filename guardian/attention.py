"""What an operator should know of an agent's memory files: that they changed, and nobody told of a write."""

from django.utils.translation import ngettext

from gate.statistics.attention import Notice
from gate.statistics.figures import day_of
from openclaw_web import clock

from .models import WriteGuardianAudit
from .words import CONSOLIDATION

RECENT_MS = 7 * 86_400_000
MOST = 100  # that are counted


def notices(db: str) -> list[Notice]:
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
