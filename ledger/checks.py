"""The doctor's checks of totals by tool and day; it compares all others with what an import gives."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.sqlite.integrity import DIFFERENT, Check

from .collectors.answers import DAMAGED
from .models import ConversationTurn, RejectedRecord, RemovedSession, Session, SessionDay
from .rebuild import sums
from .transcripts.transcript_store import UNKNOWN_ENVELOPE

OLDER_RULES = ngettext_lazy(
    "%(rows)s of %(place)s was read by the rules of an older version: %(named)s. A job reads these again.",
    "%(rows)s of %(place)s were read by the rules of an older version: %(named)s. A job reads these again.",
    "count",
)
LOST_LINES = ngettext_lazy(
    "%(rows)s of %(place)s belonged to a session with damaged turns: %(named)s. What was on it is lost, and these "
    "turns are never taught.",
    "%(rows)s of %(place)s belonged to sessions with damaged turns: %(named)s. What was on them is lost, and these "
    "turns are never taught.",
    "count",
)
UNCHECKED = ngettext_lazy(
    "The daily totals of %(rows)s of %(place)s were not compared, because its records were removed: %(named)s. "
    "The totals are kept unchanged.",
    "The daily totals of %(rows)s of %(place)s were not compared, because their records were removed: %(named)s. "
    "The totals are kept unchanged.",
    "count",
)


def _find_older(db):
    return Session.objects.using(db).list_ids_to_read_again().iterator()


def _find_lost_lines(db):
    damaged = ConversationTurn.objects.using(db).filter(answer_state=DAMAGED).values("session_id")
    lines = RejectedRecord.objects.using(db).filter(session_id__in=damaged).exclude(reason=UNKNOWN_ENVELOPE)
    for line in lines.order_by("file", "byte_offset").iterator():
        yield _("%(file)s at %(offset)s") % {"file": line.file, "offset": line.byte_offset}


def _removed_with_days(db):
    removed = RemovedSession.objects.using(db).values("session_id")
    days = SessionDay.objects.using(db).filter(session_id__in=removed).order_by("session_id")
    return days.values_list("session_id", flat=True).distinct().iterator()


def mend_tool_days(agent) -> int:
    """Derive the daily totals by tool again; return how many days were wrong."""
    count = sum(1 for _day in sums.find_different_tool_days(agent.db))
    sums.rebuild_tool_days(agent.db)
    return count


CHECKS = (
    Check(
        name="tool_sums",
        sentence=DIFFERENT,
        noun="totals",
        target=gettext_lazy("the sessions"),
        find=sums.find_different_tool_days,
        repair=mend_tool_days,
        is_last=True,
    ),
    Check(name="older_rules", sentence=OLDER_RULES, noun="sessions", find=_find_older, is_note=True),
    Check(name="lost_lines", sentence=LOST_LINES, noun="rejected lines", find=_find_lost_lines, is_note=True),
    Check(name="sums_unchecked", sentence=UNCHECKED, noun="sessions", find_deep=_removed_with_days, is_note=True),
)
