"""Prices of the rows of a dataset: the usage of the turns behind its samples, and all usage of its agents.

All usage is what the overview has by day, so that months add up to its totals.
"""

from collections import Counter, defaultdict
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.utils.module_loading import import_string

from agents import databases
from ledger.models import ConversationTurn
from ledger.transcripts.turns import utc_day
from openclaw_web.batches import in_batches

from ..exports.source import Samples

BATCH = 1_000
PLACES = 9  # of a dollar, as sums of the store are rounded
MOST_PRICED = 20_000  # samples that a page reads the turns of
USAGE = ("cost", "tokens", "unpriced")  # dollars of calls whose cost is known, all tokens, tokens without a cost


def read_prices(samples: Samples) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The price of all samples, and the parts that it is the sum of, by agent and month of the turn (UTC).

    Each has `samples`, the USAGE of their turns (`turn_cost`, …), all USAGE, and `per_sample`, all cost for each sample
    or None. A turn with several samples counts once. The month of samples whose turn is not stored any more is empty.
    """
    prices: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    agent_ids = sorted(samples.values_list("agent_id", flat=True).distinct())
    for agent_id in agent_ids:
        db = databases.find_alias(agent_id)
        of_agent = samples.filter(agent_id=agent_id).order_by("turn_id")
        by_turn = of_agent.values_list("turn_id").annotate(number=Count("*"))
        for batch in in_batches(by_turn.iterator(chunk_size=BATCH), BATCH):
            counts = dict(batch)
            turns = ConversationTurn.objects.using(db).filter(id__in=counts.keys() - {None}) if db else None
            columns = ("id", "created_at", "cost_usd", "total_tokens", "unpriced_tokens")
            for turn_id, created_at, *usage in turns.values_list(*columns) if turns is not None else ():
                numbers = {f"turn_{name}": value or 0 for name, value in zip(USAGE, usage, strict=True)}
                prices[agent_id, utc_day(created_at)[:7]].update(numbers, samples=counts.pop(turn_id))
            if counts:
                prices[agent_id, ""]["samples"] += sum(counts.values())
    for agent_id, month, *usage in import_string(settings.USAGE_BY_MONTH)(agent_ids):
        prices[agent_id, month].update({name: value or 0 for name, value in zip(USAGE, usage, strict=True)})
    total: Counter[str] = Counter()
    for price in prices.values():
        total.update(price)
    parts = [_build_price(*place, prices[place]) for place in sorted(prices)]
    return _build_price("", "", total), parts


def _build_price(agent_id, month, numbers):
    names = ("samples", *(f"turn_{name}" for name in USAGE), *USAGE)
    values = {name: round(numbers[name], PLACES) for name in names}
    per_sample = values["cost"] / values["samples"] if values["samples"] else None
    return {"agent_id": agent_id, "month": month, **values, "per_sample": per_sample}
