"""Problems of gates: without the user's message, with failed calls, or with changed decisions."""

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents.models import Agent
from openclaw_web import clock
from openclaw_web.amounts import ngettext_lazy
from openclaw_web.pages.formatting import number
from problems.kinds import BY_COUNT, Facts, Finding, Kind, Link, Words

from .models import GateCall, GateHour, MemoryGateDecision
from .statistics import drift, sums
from .statistics.sums import DAY_MS, FAILED_OUTCOMES, HOUR_MS

NEWEST, RECENT_MS = 200, 28 * DAY_MS  # decisions that are checked for a message of the user
LEAST_DECISIONS, BLIND_SHARE = 10, 0.1
IN_A_ROW = 5  # last calls of our own gate that failed
LOOKED_AT = 200  # newest calls that are read, those of other gates included
LEAST_CALLS, FAILING_SHARE = 10, 0.2  # calls of the last 24 hours
FAILED_OF_A_DAY = ngettext_lazy(
    "%(failed)s of %(count)s call of the gate's model for %(agent)s failed in the last 24 hours.",
    "%(failed)s of %(count)s calls of the gate's model for %(agent)s failed in the last 24 hours.",
    BY_COUNT,
)
STEPS = 10  # a share is worse when it rises by a tenth of all


def check_blind(agent: Agent) -> Iterable[Finding]:
    """Report a gate that had no user message in a tenth of its newest decisions."""
    since = clock.now_ms() - RECENT_MS
    rows = MemoryGateDecision.objects.using(agent.db).filter(created_at__gte=since, created_at__lte=clock.now_ms())
    newest = list(rows.order_by("-created_at").values_list("saw_user", "created_at")[:NEWEST])
    unseen_times = [at for saw_user, at in newest if saw_user is False]
    if len(newest) >= LEAST_DECISIONS and len(unseen_times) > BLIND_SHARE * len(newest):
        facts = {"unseen": len(unseen_times), "count": len(newest)}
        yield Finding(facts=facts, level=STEPS * len(unseen_times) // len(newest), since=unseen_times[-1])


def check_calls(agent: Agent) -> Iterable[Finding]:
    """Report failed calls: the last of our own gate, or many of a day.

    The calls of a day are those of all gates.
    """
    finding = _check_last_calls(agent.db) or _check_day(agent.db)
    if finding:
        yield finding


def describe_calls(facts: Facts) -> Words:
    """Say which calls failed."""
    if facts["in_a_row"]:
        sentence = _("The last %(count)s calls of the gate's model for %(agent)s failed. Check its endpoint.")
        return sentence % {"agent": facts["agent"], "count": facts["in_a_row"]}
    return FAILED_OF_A_DAY


def check_drift(agent: Agent) -> Iterable[Finding]:
    """Report the decision whose share changed most, when it changed."""
    if not sums.ensure_complete(agent.db):
        return
    for change in drift.find_drifts(agent.db)[:1]:
        facts = {
            "decision": change.decision,
            "share": round(100 * change.share, 1),
            "share_before": round(100 * change.share_before, 1),
            "count": change.decisions,
            "count_before": change.decisions_before,
        }
        yield Finding(facts=facts, level=int(abs(change.points)) // STEPS)


def describe_drift(facts: Facts) -> str:
    """Say how the share of a decision changed."""
    sentence = (
        _(
            "%(decision)s of %(agent)s fell from %(before)s%% (%(count_before)s, four weeks before) to %(now)s%% "
            "(%(count)s, last 7 days)."
        )
        if facts["share"] < facts["share_before"]
        else _(
            "%(decision)s of %(agent)s rose from %(before)s%% (%(count_before)s, four weeks before) to %(now)s%% "
            "(%(count)s, last 7 days)."
        )
    )
    return sentence % {
        "agent": facts["agent"],
        "decision": facts["decision"],
        "now": facts["share"],
        "before": facts["share_before"],
        "count": _format_decision_count(facts["count"]),
        "count_before": _format_decision_count(facts["count_before"]),
    }


def _format_decision_count(count):
    return ngettext("%(count)s decision", "%(count)s decisions", count) % {"count": number(count)}


def _check_last_calls(db):
    """Report that the last calls of our own gate all failed.

    The newest of them must be less than a day old.
    """
    rows = GateCall.objects.using(db).order_by("-created_at").values("origin", "outcome", "replay_id", "created_at")
    ended = (*FAILED_OUTCOMES, GateCall.Outcome.DECIDED)
    own = [
        row
        for row in rows[:LOOKED_AT]
        if row["origin"] == "own" and row["replay_id"] is None and row["outcome"] in ended
    ][:IN_A_ROW]
    is_recent = own and clock.is_recent(own[0]["created_at"], DAY_MS)
    if len(own) < IN_A_ROW or not is_recent or any(row["outcome"] not in FAILED_OUTCOMES for row in own):
        return None
    return Finding("row", {"in_a_row": IN_A_ROW}, since=own[-1]["created_at"])


def _check_day(db):
    """Report that many calls of the last 24 hours failed."""
    now = clock.now_ms()
    start = now - DAY_MS
    hours = GateHour.objects.using(db).filter(hour__gte=start - start % HOUR_MS, hour__lte=now)
    total = failed = 0
    for decisions, *failures in hours.values_list("total", "failed_count", "malformed_count"):
        failed += sum(failures)
        total += decisions + sum(failures)
    if total < LEAST_CALLS or failed < FAILING_SHARE * total:
        return None
    facts = {"in_a_row": 0, "failed": failed, "count": total}
    return Finding("day", facts, level=STEPS * failed // total)


BLIND = Kind(
    label=gettext_lazy("Gate without the user's message"),
    severity=74,
    describe=gettext_lazy("The gate of %(agent)s saw no user message in %(unseen)s of %(count)s decisions."),
    link=lambda facts: Link(gettext_lazy("Why"), "gate:statistics", (facts["agent"],)),
    role="viewer",
    check_agent=check_blind,
    probe=lambda: (f"memory_gate_decisions WHERE NOT saw_user AND created_at >= {clock.now_ms() - RECENT_MS}",),
)
CALLS_FAIL = Kind(
    label=gettext_lazy("Failed gate calls"),
    severity=72,
    describe=describe_calls,
    link=lambda facts: Link(gettext_lazy("View calls"), "gate:call_list", (facts["agent"],)),
    role="viewer",
    check_agent=check_calls,
    probe=lambda: (
        f"gate_calls WHERE created_at >= {clock.now_ms() - DAY_MS}",
        f"gate_hours WHERE hour >= {clock.now_ms() - DAY_MS - HOUR_MS} AND failed_count + malformed_count > 0",
    ),
)
DRIFT = Kind(
    label=gettext_lazy("Gate drift"),
    severity=44,
    describe=describe_drift,
    link=lambda facts: Link(gettext_lazy("Statistics"), "gate:statistics", (facts["agent"],)),
    role="viewer",
    check_agent=check_drift,
    probe=lambda: (f"gate_days WHERE day >= {clock.now_ms() - (drift.DAYS + 1) * DAY_MS}",),
)
