"""What an operator should know of an agent's memory files: that they changed, and nobody told of a write."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.models import Agent
from gate.statistics.attention import Notice
from gate.statistics.figures import day_of
from openclaw_web import clock

from .looking import opted_out
from .models import WriteGuardianAudit
from .recording.checking import open_intents
from .rollbacks import settling
from .standing import problems
from .words import CONSOLIDATION

RECENT_MS = 7 * 86_400_000
MOST = 100  # that are counted


def notices(agent: Agent) -> list[Notice]:
    """All there is to say about an agent's memory files, what somebody waits for first."""
    db = agent.db
    return [*_broken_off(db), *_meanwhile(db), *problems.notices(agent), *_opted_out(agent), *_unattributed(db)]


def _broken_off(db):
    """That a process died in the middle of a rollback, and nobody has finished or undone it since."""
    row = open_intents(db).order_by("created_at").first()
    if row is None:
        return []
    words = {"file": row.file_name}
    sentence = _("A rollback of %(file)s was interrupted. Restart the site, or run “Import and repair”.") % words
    return [Notice(sentence, "guardian:audit_list", f"file={row.file_name}")]


def _meanwhile(db):
    """That somebody wrote to a file while it was rolled back, and nobody said yet what becomes of it."""
    row = settling.waiting(db).first()
    if row is None:
        return []
    words, asked = {"file": row.file_name}, settling.question(db)
    sentence = _("%(file)s was changed while this site was writing to it. The change is not in the file.") % words
    if asked is None:
        return [Notice(sentence, "guardian:file_history", args=(row.file_name,))]
    return [Notice(sentence, "guardian:audit_detail", args=(asked,))]


def _opted_out(agent):
    """That memory files have lines of people who opted out since."""
    count = opted_out.lines_of_people(agent).line_count
    if not count:
        return []
    words = ngettext(
        "%(count)s line of the memory files comes from people who opted out.",
        "%(count)s lines of the memory files come from people who opted out.",
        count,
    )
    return [Notice(words % {"count": f"{count:,}"}, "guardian:opted_out")]


def _unattributed(db):
    """That memory files changed in the last seven days, nobody told of it, and they still are as they became.

    What the plugin's consolidation changed is known, and what somebody rolled back was seen to.
    """
    start = clock.now_ms() - RECENT_MS
    rows = WriteGuardianAudit.objects.using(db).filter(origin=WriteGuardianAudit.Origin.UNATTRIBUTED)
    rows = rows.filter(created_at__gte=start, created_at__lte=clock.now_ms(), status=WriteGuardianAudit.Status.WRITTEN)
    rows = rows.exclude(reason=CONSOLIDATION, reason__isnull=False)
    count = rows.values("id")[: MOST + 1].count()
    if not count:
        return []
    words = ngettext(
        "%(count)s change to memory files in the last 7 days has no known author.",
        "%(count)s changes to memory files in the last 7 days have no known author.",
        count,
    )
    sentence = words % {"count": f"{MOST}+" if count > MOST else str(count)}
    return [Notice(sentence, "guardian:audit_list", f"segment=unattributed&from={day_of(start)}")]
