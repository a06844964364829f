"""Sessions in order of activity, page by page."""

from django.db.models import Q

from openclaw_web.paging import cursor, page_of, rows_after

ORDER = ("-last_activity_at", "-id")
WINDOW = 5_000  # sessions that one search looks through: a search never walks through a whole big table
COUNTED_UP_TO = 1_000


def page(sessions, *, words="", after=None, size=50):
    """One page of at most `size` sessions. With `words`, those of the next WINDOW whose title holds them.

    A page that ended because the window did has `is_partial` set, and a `next` that goes on searching.
    """
    if not words:
        return page_of(sessions, order=ORDER, after=after, size=size)
    ahead = rows_after(sessions.order_by(*ORDER), order=ORDER, after=after)
    end = ahead.values_list("last_activity_at", "id")[WINDOW - 1 : WINDOW].first()
    if end:
        sessions = sessions.filter(last_activity_at__gte=end[0]).filter(
            Q(last_activity_at__gt=end[0]) | Q(id__gte=end[1])
        )
    found = page_of(sessions.filter(title__icontains=words), order=ORDER, after=after, size=size)
    found.is_partial = found.next is None and end is not None
    if found.is_partial:
        found.next = cursor(end)
    return found


def amount(sessions):
    """How many sessions there are, one more than COUNTED_UP_TO at most."""
    return sessions.order_by().values("id")[: COUNTED_UP_TO + 1].count()
