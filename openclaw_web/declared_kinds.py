"""Kinds of jobs and problems and checks of the doctor, by their names."""

# Kinds of jobs by their name in rows, with the path of the declaration (jobs.kinds.Kind).
JOB_KINDS = {
    "archive": "operations.retention.services.ARCHIVE_JOB",
    "artifact_gc": "operations.artifact_gc.services.JOB",
    "collect": "collecting.collect.JOB",
    "episodes_retention": "episodes.jobs.RETENTION_JOB",
    "episodes_verify": "episodes.jobs.VERIFY_JOB",
    "collection": "datasets.collection.job.JOB",
    "dataset_release": "datasets.releases.release.JOB",
    "dataset_verify": "datasets.releases.verification.JOB",
    "dataset_taints": "datasets.releases.taints.JOB",
    "benchmark_report": "datasets.releases.contamination.JOB",
    "exchanges": "datasets.exchange_job.JOB",
    "export": "datasets.exports.jobs.JOB",
    "export_verify": "datasets.exports.jobs.VERIFY_JOB",
    "findings_scan": "findings.jobs.JOB",
    "finding_verdict": "datasets.finding_values.sample_privacy.COPY_JOB",
    "sample_scores": "datasets.model_scores.scoring.JOB",
    "sample_privacy": "datasets.finding_values.sample_privacy.CHECK_JOB",
    "gate": "gate.runner.job.JOB",
    "gate_replay": "gate.replays.job.JOB",
    "gate_new_turns": "gate.runner.auto_run.JOB",
    "guardian": "guardian.runner.job.JOB",
    "guardian_handover": "guardian.handover.job.JOB",
    "guardian_new_facts": "guardian.runner.job.NEW_FACTS_JOB",
    "read_again": "collecting.read_again.JOB",
    "rolled_back_samples": "datasets.kinds.taken_back.JOB",
    "search": "search.job.JOB",
    "signals": "datasets.quality.job.JOB",
    "signatures": "datasets.dedup.job.JOB",
    "gate_statistics": "gate.statistics.sums.JOB",
    "backup": "operations.backups.services.CREATE_JOB",
    "backup_drill": "operations.backups.services.DRILL_JOB",
    "backup_verify": "operations.backups.services.VERIFY_JOB",
    "retention": "operations.retention.services.REMOVE_JOB",
    "jsonl_export": "operations.retention.daily_files.JOB",
    "doctor": "operations.doctor.fix_job.JOB",
    "doctor_look": "operations.doctor.plan.JOB",
    "doctor_undo": "operations.doctor.undo_job.JOB",
    "doctor_unignore": "operations.doctor.ignored_sessions.JOB",
    "notifications": "operations.notifications.job.JOB",
    "remediation": "operations.remediation.job.JOB",
}

# What the doctor looks for, in the order in which it is looked for (openclaw_web.sqlite.integrity.Check).
STORE_CHECKS = (
    *("ledger.checks.CHECKS", "overview.checks.CHECKS", "gate.checks.CHECKS", "guardian.recording.checks.CHECKS"),
    *("findings.checks.CHECKS", "episodes.checks.CHECKS"),
    *("artifacts.checks.CHECKS", "datasets.exports.verification.CHECKS", "datasets.finding_values.checks.CHECKS"),
    "datasets.quality.checks.CHECKS",
    "operations.checks.CHECKS",
)

# What is searched (search.sources.Source).
SEARCH_SOURCES = (
    *("ledger.search_source.RECORDS_SOURCE", "gate.search_source.DECISIONS", "guardian.search_source.WRITES"),
    *("guardian.search_source.MEMORY_LINES", "guardian.search_source.FILE_LINES"),
    *("artifacts.search_source.ARTIFACTS", "episodes.search_source.EPISODES", "datasets.search_source.SAMPLES"),
    *("automation.search_source.JOBS", "automation.search_source.RUNS", "automation.search_source.TASKS"),
)

# Places beside the audit log that have the SHA-256 of a release's seal: they yield their words and what they have.
SEAL_PLACES = ("datasets.seals.read_exports", "operations.backups.runs.read_seals")

# Kinds of problems by their name in rows, with the path of the declaration (problems.kinds.Kind).
PROBLEM_KINDS = {
    "unchecked": "problems.words.UNCHECKED",
    "task_failed": "jobs.problems.TASK_FAILED",
    "no_worker": "jobs.problems.NO_WORKER",
    "agent_file": "agents.problems.AGENT_FILE",
    "workspace_differs": "agents.problems.workspaces.WORKSPACE_DIFFERS",
    "newer_schema": "agents.problems.NEWER_SCHEMA",
    "errors": "ledger.errors.problems.ERRORS",
    "gate_blind": "gate.problems.BLIND",
    "gate_calls": "gate.problems.CALLS_FAIL",
    "gate_drift": "gate.problems.DRIFT",
    "rule_broken": "datasets.problems.RULE_BROKEN",
    "proposal_waiting": "guardian.problems.PROPOSAL_WAITING",
    "not_in_prompt": "guardian.standing.problems.NOT_IN_PROMPT",
    "rollback_interrupted": "guardian.problems.ROLLBACK_INTERRUPTED",
    "rollback_overtaken": "guardian.problems.ROLLBACK_OVERTAKEN",
    "ledger_changed": "episodes.problems.LEDGER_CHANGED",
    "guardian_calls": "guardian.problems.CALLS_FAIL",
    "opted_out_lines": "guardian.problems.OPTED_OUT_LINES",
    "unattributed": "guardian.problems.UNATTRIBUTED",
    "findings_behind": "findings.problems.BEHIND",
    "release_tainted": "datasets.releases.problems.RELEASE_TAINTED",
    "samples_waiting": "datasets.problems.SAMPLES_WAITING",
    "task_overdue": "automation.problems.OVERDUE",
    "task_failing": "automation.problems.FAILING",
    "budget": "overview.budgets.BUDGET",
    "openclaw_stopped": "overview.problems.STOPPED",
    "openclaw_model_down": "overview.problems.MODEL_DOWN",
    "own_model_down": "overview.problems.OWN_MODEL_DOWN",
    "import_failed": "collecting.problems.IMPORT_FAILED",
    "import_rejects": "collecting.problems.REJECTED",
    "unknown_records": "collecting.problems.UNKNOWN_RECORDS",
    "watcher": "collecting.problems.WATCHER",
    "backup": "operations.problems.BACKUP",
    "disk": "operations.problems.DISK",
    "not_notified": "operations.notifications.job.NOT_NOTIFIED",
}
