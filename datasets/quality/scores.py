"""The score of a turn from its answers, with the specification's three factors, and the scores of samples."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from openclaw_web.sqlite.json_columns import encode
from people.configuration import setting_values as configuration
from people.configuration.catalogue import parse_weights

from ..models import DatasetSample, TurnSignals
from .all_signals import ALL_BITS, SIGNALS
from .signal import FACTORS

SETTING = "datasetCollection.qualityScoring.weights"
Factors = dict[str, float | None]


def read_weights() -> dict[str, float]:
    """The weight of each factor, from the settings."""
    return parse_weights(configuration.get_texts(SETTING))


def compute_factors(yes: int, unknown: int) -> Factors:
    """The factors of a turn, 0 to 1: the weighted share of its answers that are no; None where none is known."""
    factors: Factors = {}
    for factor in FACTORS:
        known = [signal for signal in SIGNALS if signal.factor == factor and not unknown >> signal.bit & 1]
        total = sum(signal.weight for signal in known)
        good = sum(signal.weight for signal in known if not yes >> signal.bit & 1)
        factors[factor] = round(good / total, 4) if total else None
    return factors


def compute_score(factors: Factors, weights: Mapping[str, float]) -> float | None:
    """The weighted mean of the known factors; None where none is known."""
    known = [(weights.get(name, 0), value) for name, value in factors.items() if value is not None]
    total = sum(weight for weight, _value in known)
    return round(sum(weight * value for weight, value in known) / total, 4) if total else None


def build_columns(row: TurnSignals | None) -> dict[str, Any]:
    """The two columns of a sample whose turn has these answers; both are None while it has none."""
    if row is None or row.unknown == ALL_BITS:
        return {"quality_score": None, "quality_factors": None}
    return {"quality_score": row.score, "quality_factors": encode(compute_factors(row.yes, row.unknown))}


def set_columns(samples: Sequence[DatasetSample]) -> None:
    """Set the two columns of samples of one agent that are not stored yet."""
    turn_ids = [sample.turn_id for sample in samples if sample.turn_id]
    rows = TurnSignals.objects.filter(agent_id=samples[0].agent_id, turn_id__in=turn_ids) if turn_ids else ()
    by_turn = {row.turn_id: row for row in rows}
    for sample in samples:
        sample.quality_score, sample.quality_factors = build_columns(by_turn.get(sample.turn_id or "")).values()


def update_samples(agent_id: str, session_ids: Iterable[str], rows: Sequence[TurnSignals]) -> int:
    """Set the scores of the samples of these turns, in the caller's transaction; return how many changed.

    `session_ids` are those of the rows: samples are found by session and number of their turn.
    """
    by_turn = {row.turn_id: row for row in rows}
    samples = DatasetSample.objects.filter(agent_id=agent_id, session_id__in=set(session_ids))
    samples = samples.filter(turn_number__in={row.turn_number for row in rows}, turn_id__in=by_turn)
    changed = []
    for sample in samples.only("id", "turn_id", "quality_score", "quality_factors"):
        columns = build_columns(by_turn[sample.turn_id or ""])
        if columns != {name: getattr(sample, name) for name in columns}:
            sample.quality_score, sample.quality_factors = columns.values()
            changed.append(sample)
    DatasetSample.objects.bulk_update(changed, ["quality_score", "quality_factors"], batch_size=100)
    return len(changed)
