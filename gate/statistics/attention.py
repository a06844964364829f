"""What an operator should know of an agent's gate: that it decides otherwise than it did, or that its model fails."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from openclaw_web import clock

from ..models import GateCall, GateHour
from . import drift, sums
from .changes import DAY_MS, FAILED, HOUR_MS

IN_A_ROW = 5  # calls of our own gate
LOOKED_AT = 200  # the newest calls, of whoever they are
LEAST_CALLS, FAILING_SHARE = 10, 0.2  # of a day


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for operators. `route` and `query` are where more is told: the list of calls, or the statistics.

    `args` is what the address names besides the agent.
    """

    sentence: str
    route: str
    query: str = ""
    args: tuple[str, ...] = ()


def notices(db: str) -> list[Notice]:
    """What there is to say about an agent's gate. Reads only, and little."""
    found = [failing for failing in (in_a_row(db) or of_a_day(db),) if failing]
    if sums.is_on() and sums.is_whole(db):
        found += [Notice(_sentence(one), "gate:statistics") for one in drift.drifts(db)]
    return found


def in_a_row(db: str) -> Notice | None:
    """That the last calls of our own gate all failed, the newest of them less than a day ago."""
    rows = GateCall.objects.using(db).order_by("-created_at").values("origin", "outcome", "replay_id", "created_at")
    ended = (*FAILED, GateCall.Outcome.DECIDED)
    own = [
        row
        for row in rows[:LOOKED_AT]
        if row["origin"] == "own" and row["replay_id"] is None and row["outcome"] in ended
    ][:IN_A_ROW]
    is_recent = own and clock.is_recent(own[0]["created_at"], DAY_MS)
    if len(own) < IN_A_ROW or not is_recent or any(row["outcome"] not in FAILED for row in own):
        return None
    sentence = _("The latest calls of the gate's model failed. Check its endpoint.")
    return Notice(sentence, "gate:call_list", "segment=all")


def of_a_day(db: str) -> Notice | None:
    """That many calls of the last 24 hours failed, whoever made them."""
    start = clock.now_ms() - DAY_MS
    hours = GateHour.objects.using(db).filter(hour__gte=start - start % HOUR_MS)
    total = failed = 0
    for decisions, *failures in hours.values_list("total", "failed_count", "malformed_count"):
        failed += sum(failures)
        total += decisions + sum(failures)
    if total < LEAST_CALLS or failed < FAILING_SHARE * total:
        return None
    words = ngettext(
        "%(failed)s of %(count)s call of the gate's model failed in the last 24 hours.",
        "%(failed)s of %(count)s calls of the gate's model failed in the last 24 hours.",
        total,
    )
    return Notice(words % {"failed": f"{failed:,}", "count": f"{total:,}"}, "gate:call_list")


def _sentence(one):
    words = {
        "decision": one.decision,
        "now": f"{100 * one.share:.0f}%",
        "before": f"{100 * one.share_before:.0f}%",
    }
    return _("%(decision)s: %(now)s of decisions in the last seven days, %(before)s in the four weeks before.") % words
