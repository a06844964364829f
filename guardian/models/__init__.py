"""The tables of memory files: versions, writes, rollbacks, corrections, proposals and handovers."""

# ruff: noqa: F401 - other modules find the tables here, as Django does

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
from .proposals import GuardianRun, GuardianStep, GuardianTest, Handover
from .rollbacks import BehaviorCorrection, Rollback, RollbackIntent
from .shared_columns import FileContent
