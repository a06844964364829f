"""The doctor's checks of derived totals of sessions and tools against their records."""

from collections.abc import Iterator
from functools import partial

from django.utils.translation import gettext_lazy as _

from openclaw_web.amounts import ngettext_lazy
from openclaw_web.pages.formatting import listed
from openclaw_web.sqlite.integrity import DIFFERENT, Check

from .models import RemovedSession, SessionDay
from .rebuild import deep_checks, quick_checks, repeats, sums

COLUMNS_NAMED = 4  # of each session
UNCHECKED = ngettext_lazy(
    "The daily totals of %(rows)s of %(place)s were not compared, because its records were removed: %(named)s. "
    "The totals are kept unchanged.",
    "The daily totals of %(rows)s of %(place)s were not compared, because their records were removed: %(named)s. "
    "The totals are kept unchanged.",
    "count",
)


def wrong_sessions(db: str, *, is_deep: bool) -> dict[str, list[str]]:
    """The sessions with wrong totals, and the names of those, by session id.

    `is_deep` compares every derived column with what the records give.
    """
    wrong: dict[str, list[str]] = {}
    for session in (*quick_checks.find_differences(db), *(deep_checks.find_differences(db) if is_deep else ())):
        names = wrong.setdefault(session.session_id, [])
        names += [name for name in session.names if name not in names]
    return dict(sorted(wrong.items()))


def _name_sessions(db, *, is_deep) -> Iterator[str]:
    for session_id, names in wrong_sessions(db, is_deep=is_deep).items():
        shortened = names if len(names) <= COLUMNS_NAMED else [*names[: COLUMNS_NAMED - 1], "…"]
        yield f"{session_id} ({listed(shortened)})"


def _removed_with_days(db):
    removed = RemovedSession.objects.using(db).values("session_id")
    days = SessionDay.objects.using(db).filter(session_id__in=removed).order_by("session_id")
    return days.values_list("session_id", flat=True).distinct().iterator()


def mend_sessions(agent) -> int:
    """Derive all wrong totals of an agent again; return how many sessions were wrong."""
    wrong = wrong_sessions(agent.db, is_deep=True)
    repeats.mark_repeats(agent.db, is_forced=True)
    for session_id in wrong:
        sums.rebuild_session(agent.db, session_id)
    sums.rebuild_tool_days(agent.db)
    return len(wrong)


def mend_tool_days(agent) -> int:
    """Derive the daily totals by tool again; return how many days were wrong."""
    count = sum(1 for _day in quick_checks.find_different_tool_days(agent.db))
    sums.rebuild_tool_days(agent.db)
    return count


CHECKS = (
    Check(
        name="session_sums",
        sentence=DIFFERENT,
        noun="sessions",
        target=_("the records"),
        find=partial(_name_sessions, is_deep=False),
        find_deep=partial(_name_sessions, is_deep=True),
        repair=mend_sessions,
        is_last=True,
    ),
    Check(
        name="tool_sums",
        sentence=DIFFERENT,
        noun="totals",
        target=_("the sessions"),
        find=quick_checks.find_different_tool_days,
        repair=mend_tool_days,
        is_last=True,
    ),
    Check(name="sums_unchecked", sentence=UNCHECKED, noun="sessions", find_deep=_removed_with_days, is_note=True),
)
