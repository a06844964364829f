"""The doctor's checks of totals by tool and day; it compares all others with what an import gives."""

from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.sqlite.integrity import DIFFERENT, Check

from .models import RemovedSession, SessionDay
from .rebuild import sums

UNCHECKED = ngettext_lazy(
    "The daily totals of %(rows)s of %(place)s were not compared, because its records were removed: %(named)s. "
    "The totals are kept unchanged.",
    "The daily totals of %(rows)s of %(place)s were not compared, because their records were removed: %(named)s. "
    "The totals are kept unchanged.",
    "count",
)


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
        target=_("the sessions"),
        find=sums.find_different_tool_days,
        repair=mend_tool_days,
        is_last=True,
    ),
    Check(name="sums_unchecked", sentence=UNCHECKED, noun="sessions", find_deep=_removed_with_days, is_note=True),
)
