"""Samples, verdicts on them, exports and releases: evidence of the team, in the global file."""

from .exports import DatasetExport
from .findings import FindingValue, FindingValueAgent, FindingVerdict
from .releases import Benchmark, Dataset, DatasetMember, DatasetVersion, ReleaseSeal, SessionSide, VersionTaint
from .review import ReviewAction, ReviewDraw, SampleClaim, SampleDraft
from .samples import (
    CUT_OFF,
    INTERRUPTED,
    PART_LABELS,
    DatasetSample,
    SampleExchange,
    SampleLabel,
    SampleQuerySet,
    SampleSignature,
)

__all__ = [
    "CUT_OFF",
    "INTERRUPTED",
    "PART_LABELS",
    "Benchmark",
    "Dataset",
    "DatasetExport",
    "DatasetMember",
    "DatasetSample",
    "DatasetVersion",
    "FindingValue",
    "FindingValueAgent",
    "FindingVerdict",
    "ReleaseSeal",
    "ReviewAction",
    "ReviewDraw",
    "SampleClaim",
    "SampleDraft",
    "SampleExchange",
    "SampleLabel",
    "SampleQuerySet",
    "SampleSignature",
    "SessionSide",
    "VersionTaint",
]
