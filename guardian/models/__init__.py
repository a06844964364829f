"""The tables of memory files: versions, writes, rollbacks, corrections, proposals and handovers."""

from .audits import Consolidation, GuardianReceipt, GuardianStatus, WriteGuardianAudit
from .handovers import Handover
from .proposals import GuardianRun, GuardianStep
from .provenance import ProvenanceRecord
from .rollbacks import BehaviorCorrection, Rollback, RollbackIntent
from .shared_columns import FileContent
from .versions import FileSnapshot, FileVersion, WorkspaceFile

__all__ = [
    "BehaviorCorrection",
    "Consolidation",
    "FileContent",
    "FileSnapshot",
    "FileVersion",
    "GuardianReceipt",
    "GuardianRun",
    "GuardianStatus",
    "GuardianStep",
    "Handover",
    "ProvenanceRecord",
    "Rollback",
    "RollbackIntent",
    "WorkspaceFile",
    "WriteGuardianAudit",
]
