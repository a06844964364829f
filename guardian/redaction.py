"""Which columns of this app hold words: declared once, for whatever searches them or takes them out.

Every text and every blob of its tables is here; a test finds the one that is not.
"""

from collections.abc import Iterator

from django.db import models

from gate.redaction import Kind

from .models import (
    BehaviorCorrection,
    FileContent,
    FileSnapshot,
    GuardianReceipt,
    GuardianRun,
    GuardianStatus,
    GuardianStep,
    Handover,
    ProvenanceRecord,
    Rollback,
    RollbackIntent,
    WorkspaceFile,
    WriteGuardianAudit,
)

WORDS, WHO, OWN, NONE = Kind.WORDS, Kind.WHO, Kind.OWN, Kind.NONE
VERSION = {"id": NONE, "content": WORDS, "content_hash": NONE, "raw": WORDS}
COLUMNS: dict[type[models.Model], dict[str, Kind]] = {
    FileContent: {"id": NONE, "text": WORDS, "raw": WORDS},
    FileSnapshot: VERSION | {"file_name": NONE},
    WorkspaceFile: VERSION | {"file_name": NONE},
    WriteGuardianAudit: {
        "id": NONE,
        "decision_id": NONE,
        "turn_id": NONE,
        "session_id": WHO,  # the key where no session was found
        "target_file": NONE,
        "candidate_fact": WORDS,
        "before_snapshot_id": NONE,
        "after_snapshot_id": NONE,
        "diff": WORDS,
        "status": NONE,
        "reason": WORDS,
        "llm_model": NONE,
        "origin": NONE,
        "match": NONE,
        "session_key": WHO,
        "hunks_json": NONE,  # numbers of lines
        "retry_of": NONE,
        "rule_id": NONE,
    },
    GuardianRun: {
        "id": NONE,
        "decision_id": NONE,
        "turn_id": NONE,
        "session_id": NONE,
        "session_key": WHO,
        "target_file": NONE,
        "candidate_fact": WORDS,
        "retry_of": NONE,
        "rule_id": NONE,
        "llm_model": NONE,
        "prompt_version": NONE,
        "state": NONE,
        "reason": WORDS,
        "note": OWN,
        "before_hash": NONE,
        "before_zstd": WORDS,
        "after_zstd": WORDS,
        "audit_id": NONE,
        "started_by": WHO,
        "decided_by": WHO,
    },
    GuardianStep: {
        "id": NONE,
        "run_id": NONE,
        "outcome": NONE,
        "tool": NONE,
        "arguments_json": WORDS,
        "answer": WORDS,
        "failure": NONE,
        "reason": OWN,
    },
    Handover: {
        "id": NONE,
        "file_name": NONE,
        "audit_id": NONE,
        "run_id": NONE,
        "way": NONE,
        "restored_snapshot_id": NONE,
        "own_audit_id": NONE,
        "now_hash": NONE,
        "before_hash": NONE,
        "wanted_hash": NONE,
        "before_zstd": WORDS,
        "wanted_zstd": WORDS,
        "reason": OWN,
        "asked_by": WHO,
        "state": NONE,
        "outcome": NONE,
        "answer": WORDS,
    },
    GuardianReceipt: {"id": NONE, "audit_id": NONE, "body_sha256": NONE},
    GuardianStatus: {"audit_id": NONE, "status": NONE, "given_by": WHO, "reason": WORDS},
    ProvenanceRecord: {
        "id": NONE,
        "state": NONE,
        "workspace_key": NONE,
        "file_name": NONE,
        "file_hash": NONE,
        "origin_class": NONE,
        "session_id": NONE,
        "session_key": WHO,
    },
    Rollback: {
        "id": NONE,
        "audit_id": NONE,
        "rolled_back_by": WHO,
        "reason": OWN,
        "restored_snapshot_id": NONE,
        "previous_status": NONE,
        "own_audit_id": NONE,
        "way": NONE,
        "group_id": NONE,
        "effect": NONE,
    },
    RollbackIntent: {
        "id": NONE,
        "group_id": NONE,
        "file_name": NONE,
        "audits_json": NONE,
        "before_hash": NONE,
        "after_snapshot_id": NONE,
        "draft_name": NONE,
        "told_json": OWN,  # and who asked
        "meanwhile_json": NONE,  # ids of versions
        "settled_json": NONE,
        "settled_by": WHO,
        "state": NONE,
    },
    BehaviorCorrection: {
        "id": NONE,
        "audit_id": NONE,
        "original_status": NONE,
        "original_candidate_fact": WORDS,
        "original_target_file": NONE,
        "corrected_status": NONE,
        "corrected_candidate_fact": WORDS,
        "corrected_target_file": NONE,
        "correction_reason": OWN,
        "correction_pattern": WORDS,  # made of the fact
        "rule_name": WORDS,
        "corrected_by": WHO,
        "switched_off_by": WHO,
        "imported_from": NONE,
    },
}


def columns(*kinds: Kind) -> Iterator[tuple[type[models.Model], str]]:
    """The columns of these kinds, each with its table."""
    for model, kind_of in COLUMNS.items():
        yield from ((model, name) for name, kind in kind_of.items() if kind in kinds)
