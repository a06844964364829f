"""The tables of memory files: versions, writes, rollbacks, corrections, proposals and handovers."""

from .audits import (
    Consolidation,
    FileSnapshot,
    FileVersion,
    GuardianReceipt,
    GuardianStatus,
    ProvenanceRecord,
    WorkspaceFile,
    WriteGuardianAudit,
)
from .proposals import GuardianRun, GuardianStep, Handover
from .rollbacks import BehaviorCorrection, Rollback, RollbackIntent
from .shared_columns import FileContent

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
