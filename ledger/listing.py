"""Sessions in order of activity, page by page."""

from django.db.models import Q

from openclaw_web.paging import WINDOW, page_of, search

ORDER = ("-last_activity_at", "-id")
COUNTED_UP_TO = 1_000


def page(sessions, *, words="", after=None, before=None, size=50):
    """One page of at most `size` sessions. With `words`, those of the next WINDOW whose title holds them."""
    if not words:
        return page_of(sessions, order=ORDER, after=after, before=before, size=size)
    fits = Q(title__icontains=words)
    return search(sessions, fits, order=ORDER, after=after, before=before, size=size, window=WINDOW)


def amount(sessions):
    """How many sessions there are, one more than COUNTED_UP_TO at most."""
    return sessions.order_by().values("id")[: COUNTED_UP_TO + 1].count()
