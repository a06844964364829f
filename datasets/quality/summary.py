"""Counts of answers over all turns, and the samples that a signal selects."""

from typing import Any

from django.db.models import Count, F, IntegerField, OuterRef, Q, Subquery
from django.db.models.lookups import GreaterThan

from ..models import DatasetSample, TurnSignals
from .all_signals import ALL_BITS, BY_NAME, SIGNALS

SIGNAL_CHOICES = [(signal.name, signal.question) for signal in SIGNALS]
COLUMNS = ("yes", "unknown", "waiting")
BUCKETS = 10


def build_signal_condition(name: str) -> Q:
    """The samples whose turn answered yes to a signal."""
    rows = TurnSignals.objects.filter(agent_id=OuterRef("agent_id"), turn_id=OuterRef("turn_id"))
    bit = rows.values(bit=F("yes").bitand(1 << BY_NAME[name].bit))
    # No EXISTS: SQLite may turn that into a join, and sort the list.
    return Q(GreaterThan(Subquery(bit[:1], output_field=IntegerField()), 0))


def summarise(agent_id: str = "") -> dict[str, Any]:
    """Counts of turns by signal and by score, of an agent or all; JSON-able.

    `turns` were asked, `closed` ones have no answers: OpenClaw began them, or a sender opted out.
    """
    rows = TurnSignals.objects.filter(agent_id=agent_id) if agent_id else TurnSignals.objects.all()
    answered = rows.exclude(unknown=ALL_BITS)
    bits = {f"{column}_{signal.bit}": F(column).bitand(1 << signal.bit) for column in COLUMNS for signal in SIGNALS}
    counts = {f"n_{name}": Count("id", filter=Q(**{f"{name}__gt": 0})) for name in bits}
    for place in range(BUCKETS):  # 1 is in the last one
        end = Q(score__lt=(place + 1) / BUCKETS) if place + 1 < BUCKETS else Q()
        counts[f"score_{place}"] = Count("id", filter=Q(score__gte=place / BUCKETS) & end)
    sums = answered.alias(**bits).aggregate(turns=Count("id"), **counts)
    samples = DatasetSample.objects.filter(agent_id=agent_id) if agent_id else DatasetSample.objects.all()
    return {
        "turns": sums["turns"],
        "closed": rows.filter(unknown=ALL_BITS).count(),
        "signals": [
            {
                "name": signal.name,
                "factor": signal.factor,
                "yes": sums[f"n_yes_{signal.bit}"],
                "no": sums["turns"] - sums[f"n_yes_{signal.bit}"] - sums[f"n_unknown_{signal.bit}"],
                "unknown": sums[f"n_unknown_{signal.bit}"] - sums[f"n_waiting_{signal.bit}"],
                "not_yet": sums[f"n_waiting_{signal.bit}"],
            }
            for signal in SIGNALS
        ],
        "scores": [
            {"at_least": place / BUCKETS, "below": (place + 1) / BUCKETS, "count": sums[f"score_{place}"]}
            for place in range(BUCKETS)
        ],
        "unscored_samples": samples.filter(quality_score=None).count(),
    }
