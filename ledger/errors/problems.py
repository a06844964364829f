"""Groups of errors that need a person: new, back after they were closed, or far more than usual."""

from collections.abc import Iterable

from django.db.models import Q, Sum
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from problems.kinds import BY_COUNT, Facts, Finding, Kind, Link
from problems.models import ErrorDay, ErrorGroup, State

from ..transcripts.turns import utc_day
from .error_sums import DAY_MS

RECENT_DAYS = 7  # a group whose last error is older needs nobody
USUAL_DAYS = 28  # before today: the days with errors of a group among them are its usual ones
LEAST_DAYS, LEAST_COUNT = 3, 10  # usual days and errors of today, without which nothing is unusual
TENFOLD = 10
WORDS = {
    "new": gettext_lazy("New error of %(name)s: %(message)s"),
    "back": gettext_lazy("Closed error of %(name)s is back: %(message)s"),
}
GROWN = ngettext_lazy(
    "%(count)s error of %(name)s today, %(usual)s on a usual day: %(message)s",
    "%(count)s errors of %(name)s today, %(usual)s on a usual day: %(message)s",
    BY_COUNT,
)


def check_errors() -> Iterable[Finding]:
    """Yield open groups that grew tenfold today, came back, or are new, in this order."""
    now = clock.now_ms()
    grown = set()
    for group, count, usual in _find_grown(now):
        grown.add(group.id)
        yield _build_finding(group, "grown", level=count // usual, count=count, usual=usual)
    since = now - RECENT_DAYS * DAY_MS
    is_new = Q(is_new=True, first_at__gte=since)
    groups = ErrorGroup.objects.filter(is_new | Q(reopened_count__gt=0), state=State.OPEN, last_at__gte=since)
    for group in groups.exclude(id__in=grown).order_by("-reopened_count", "-last_at"):
        why, began = ("back", group.opened_at) if group.reopened_count else ("new", group.first_at)
        yield _build_finding(group, why, level=group.reopened_count, since=began)


def _find_grown(now):
    """The open groups with ten times as many errors today as on a usual day: group, today's, usual number."""
    today, first = utc_day(now), utc_day(now - USUAL_DAYS * DAY_MS)
    days = ErrorDay.objects.filter(date__gte=first, date__lte=today).order_by()
    counts = dict(days.filter(date=today).values_list("group_id").annotate(total=Sum("count")))
    many = [group_id for group_id, count in counts.items() if count >= LEAST_COUNT]
    usual: dict[str, list[int]] = {}
    before = days.filter(group_id__in=many, date__lt=today).values_list("group_id", "date")
    for group_id, _date, count in before.annotate(total=Sum("count")):
        usual.setdefault(group_id, []).append(count)
    groups = ErrorGroup.objects.filter(state=State.OPEN).in_bulk(usual)
    for group_id, totals in sorted(usual.items()):
        average = max(1, round(sum(totals) / len(totals)))
        if group_id in groups and len(totals) >= LEAST_DAYS and counts[group_id] >= TENFOLD * average:
            yield groups[group_id], counts[group_id], average


def _build_finding(group, why, *, level, since=None, **numbers):
    facts = {"why": why, "id": group.id, "name": group.tool or group.model or "–", "message": group.message}
    return Finding(group.id, facts | numbers, level=level, since=since)


def describe(facts: Facts) -> str | Promise:
    """Describe why a group of errors needs a person."""
    return WORDS.get(facts["why"], GROWN)


ERRORS = Kind(
    label=gettext_lazy("Errors"),
    severity=46,
    describe=describe,
    link=lambda facts: Link(gettext_lazy("Show"), "ledger:error_list", query={"error": facts["id"]}),
    check=check_errors,
)
