"""Sums of the calls of our own gate: of a run, and of a day."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Q, Sum

from openclaw_web import clock
from openclaw_web.batches import in_batches

from ..models import GateCall
from ..recording.reports import Origin

Outcome = GateCall.Outcome
BATCH = 500
OURS = Count("id", filter=Q(replay_id=None))


def sum_run_calls(db: str, turn_ids: Sequence[str], since: int) -> dict[str, Any]:
    """Return outcomes, tokens and cost of the calls about these turns since a moment.

    `since` is in milliseconds. The tokens are those that count for the limit. The cost is None when none is known.
    """
    calls = _filter_own_calls(db, since)
    batch_sums = [_sum_calls(calls.filter(turn_id__in=batch)) for batch in in_batches(turn_ids, BATCH)]
    costs = [sums["cost_usd"] for sums in batch_sums if sums["cost_usd"] is not None]
    counts = {str(outcome): sum(sums[outcome] for sums in batch_sums) for outcome in Outcome}
    return {**counts, "tokens": sum(sums["tokens"] for sums in batch_sums), "cost_usd": sum(costs) if costs else None}


def sum_todays_calls(db: str) -> dict[str, Any]:
    """Return outcomes, tokens and cost of the calls of this UTC day.

    Tokens and cost include those of replays, which are not counted elsewhere.
    """
    start, end = clock.today_ms()
    return _sum_calls(GateCall.objects.using(db).filter(created_at__gte=start, created_at__lt=end, origin=Origin.OWN))


def find_malformed_turns(db: str, since: int) -> set[str]:
    """Return ids of turns with an answer that was no decision, since a moment.

    `since` is in milliseconds.
    """
    calls = _filter_own_calls(db, since).filter(outcome=Outcome.MALFORMED)
    return set(calls.values_list("turn_id", flat=True))


def _filter_own_calls(db, since):
    return GateCall.objects.using(db).filter(created_at__gte=since, origin=Origin.OWN, replay_id=None)


def _sum_calls(calls):
    rows = calls.values("outcome").annotate(number=OURS, tokens=Sum("reserved_tokens"), cost=Sum("cost_usd"))
    counts = dict.fromkeys(map(str, Outcome), 0)
    tokens, costs = 0, []
    for row in rows:
        counts[row["outcome"]] = row["number"]
        tokens += row["tokens"] or 0
        costs += [row["cost"]] if row["cost"] is not None else []
    return {**counts, "tokens": tokens, "cost_usd": sum(costs) if costs else None}
