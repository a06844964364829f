"""Puts a turn on a side from the answers of the criteria: `classifySample` of the Reflection spec.

It reads bits and numbers only, so that a run and the page What if share it.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..models import DatasetSample
from .criteria import AUTO, BITS, CRITERIA, DECISION, NEGATIVE, POSITIVE, REVIEW, USABLE, WRITE

APPROVE, REVIEW_SIDE, REJECT, LEAVE = SIDES = ("approve", "review", "reject", "leave")
Type, Status = DatasetSample.Type, DatasetSample.Status
DAYS, LEAST, MEDIUM, HIGH = "notRolledBackWithinDays", "minQualityScore", "mediumQualityFrom", "highQualityFrom"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn belongs: its side, the type and status of its sample.

    With `is_clear` a rule may approve the sample. One that `is_waiting` is left only until its days are over.
    """

    side: str
    sample_type: str = ""
    status: str = ""
    is_negative: bool = False
    is_clear: bool = False
    is_waiting: bool = False


def apply_thresholds(
    yes: int, unknown: int, score: float | None, age_days: float, criteria: dict[str, Any]
) -> tuple[int, int]:
    """The bits with the thresholds of a strategy applied to score and age."""
    days = BITS[DAYS]
    if yes & days and age_days < criteria[POSITIVE][DAYS]:
        yes, unknown = yes & ~days, unknown | days
    if score is not None:
        least, medium, high = criteria[POSITIVE][LEAST], criteria[MEDIUM], criteria[HIGH]
        answers = {
            LEAST: score >= least,
            "mediumQualityScore": medium <= score < least,
            "highQualityScore": score >= high,
        }
        for name, is_met in answers.items():
            yes = yes | BITS[name] if is_met else yes & ~BITS[name]
    return yes, unknown


def classify(yes: int, unknown: int, criteria: dict[str, Any]) -> Place:
    """The place of a turn; `yes` and `unknown` are those of `apply_thresholds`."""
    if not yes & USABLE:
        return Place(LEAVE)
    masks = _read_masks(criteria)
    is_doubtful = bool(yes & masks[REVIEW])
    status = Status.NEEDS_REVIEW if is_doubtful else Status.PENDING
    is_clear = _is_clear(yes, unknown, masks)
    if not yes & DECISION:
        if yes & WRITE:
            return Place(REVIEW_SIDE, Type.WRITE_GUARDIAN_DECISION, status)
        return Place(REVIEW_SIDE, Type.ANNOTATED_TURN, status, is_clear=is_clear) if criteria["turns"] else Place(LEAVE)
    if _is_negative(yes, masks[NEGATIVE]):
        is_confirmed = bool(yes & masks[AUTO] & BITS["hasConfirmedCorrection"])
        return Place(REJECT, Type.MEMORY_GATE_NEGATIVE, status, is_negative=True, is_clear=is_confirmed)
    positive = masks[POSITIVE]
    if positive and yes & positive == positive:
        side = REVIEW_SIDE if is_doubtful else APPROVE
        return Place(side, Type.MEMORY_GATE_POSITIVE, status, is_clear=is_clear)
    rest = positive & ~BITS[DAYS]
    if positive & unknown & BITS[DAYS] and yes & BITS["wasWritten"] and yes & rest == rest:
        return Place(LEAVE, is_waiting=True)
    return Place(REVIEW_SIDE, Type.ANNOTATED_TURN, status)


def _is_negative(yes, mask):
    refused, proposed = BITS["guardianRefused"], BITS["gateProposedWrite"]
    is_refused = mask & refused and yes & refused and (yes & proposed or not mask & proposed)
    return bool(is_refused or yes & mask & ~(refused | proposed))


def _is_clear(yes, unknown, masks):
    """Whether rules may approve it: a reason to, no doubt, and a scan that has seen the turn."""
    is_scanned = not unknown & BITS["containsSensitiveInfo"]
    return bool(yes & masks[AUTO] & ~BITS["hasConfirmedCorrection"]) and not yes & masks[REVIEW] and is_scanned


def _read_masks(criteria):
    """The bits of the criteria that are switched on, by group."""
    switched = tuple(bool(criteria[criterion.group][criterion.name]) for criterion in CRITERIA)
    return _build_masks(switched)


@lru_cache(maxsize=64)
def _build_masks(switched):
    masks = dict.fromkeys((POSITIVE, NEGATIVE, REVIEW, AUTO), 0)
    for criterion, is_on in zip(CRITERIA, switched, strict=True):
        masks[criterion.group] |= criterion.bit if is_on else 0
    return masks
