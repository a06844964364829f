"""Samples, verdicts on them, exports and releases: evidence of the team, in the global file."""

# ruff: noqa: F401 - other modules find the tables here, as Django does

from .collection import CollectionRun, CollectionStrategy, SampleEvidence, TurnOutcome
from .exports import DatasetExport
from .findings import FindingValue, FindingValueAgent, FindingVerdict
from .model_scores import ScoreCall
from .quality import SignalPosition, TurnSignals
from .queues import Guideline, QueueItem, QueueSeat, ReviewQueue
from .releases import Benchmark, Dataset, DatasetMember, DatasetVersion, ReleaseSeal, SessionSide, VersionTaint
from .review import ReviewAction, ReviewDraw, SampleClaim, SampleDraft
from .samples import (
    BY_SET,
    CUT_OFF,
    INTERRUPTED,
    JUDGED_BY,
    JUDGES,
    PART_LABELS,
    SET_PREFIX,
    SETS_SCOPE,
    DatasetSample,
    SampleExchange,
    SampleLabel,
    SampleQuerySet,
    SampleSignature,
)
from .spot_checks import ApprovalStop, SpotCheck
