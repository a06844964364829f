"""What calls of our own gate came to: of one run, whichever processes worked on it, and of a day."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Q, Sum

from openclaw_web import clock

from ..models import GateCall
from ..recording.reports import Origin

Outcome = GateCall.Outcome
BATCH = 500
OURS = Count("id", filter=Q(replay_id=None))


def sum_run_calls(db: str, turn_ids: Sequence[str], since: int) -> dict[str, Any]:
    """How the calls about these turns ended since a moment, the tokens that count for them, and their cost.

    The cost is None when none is known.
    """
    found = [_sums(_own(db, since).filter(turn_id__in=turn_ids[at : at + BATCH])) for at in _starts(turn_ids)]
    costs = [one["cost_usd"] for one in found if one["cost_usd"] is not None]
    counts = {str(outcome): sum(one[outcome] for one in found) for outcome in Outcome}
    return {**counts, "tokens": sum(one["tokens"] for one in found), "cost_usd": sum(costs) if costs else None}


def sum_todays_calls(db: str) -> dict[str, Any]:
    """The same of all calls of this UTC day; tokens and cost with those of replays, which are counted nowhere else."""
    start, end = clock.today_ms()
    return _sums(GateCall.objects.using(db).filter(created_at__gte=start, created_at__lt=end, origin=Origin.OWN))


def find_malformed_turns(db: str, since: int) -> set[str]:
    """Ids of turns about which a model answered something else than a decision since a moment."""
    calls = _own(db, since).filter(outcome=Outcome.MALFORMED)
    return set(calls.values_list("turn_id", flat=True))


def _own(db, since):
    return GateCall.objects.using(db).filter(created_at__gte=since, origin=Origin.OWN, replay_id=None)


def _sums(calls):
    rows = calls.values("outcome").annotate(number=OURS, tokens=Sum("reserved_tokens"), cost=Sum("cost_usd"))
    found = dict.fromkeys(map(str, Outcome), 0)
    tokens, costs = 0, []
    for row in rows:
        found[row["outcome"]] = row["number"]
        tokens += row["tokens"] or 0
        costs += [row["cost"]] if row["cost"] is not None else []
    return {**found, "tokens": tokens, "cost_usd": sum(costs) if costs else None}


def _starts(ids):
    return range(0, len(ids), BATCH)
