"""Models of `doctor --fix`: its runs, and the result of each source.

The first columns are those of the database-first state spec.
"""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, OperatorText, PersonText, PlainText, SpecBoolean
from openclaw_web.sqlite.json_columns import JsonProperty


class MigrationRun(models.Model):
    """A run of `doctor --fix` with its receipt."""

    class Status(models.TextChoices):
        RUNNING = "running"
        COMPLETED = "completed"
        WARNING = "warning", "Completed with warnings"
        FAILED = "failed"
        UNDONE = "undone"

    id = PlainText(primary_key=True, shown="api")
    started_at = EpochMs(shown="api")
    finished_at = EpochMs(null=True, shown="api")
    status = PlainText(choices=Status.choices, default=Status.RUNNING, shown="api")
    report_json = PersonText(default="{}", help_text="the receipt; names the backup that was made before", shown="")
    report = JsonProperty("report_json")
    # Ours.
    root = OperatorText(default="", shown="api", help_text="the OpenClaw folder")
    made_by = PersonText(default="", shown="api")
    message = OperatorText(default="", shown="api", help_text="the result in a sentence")
    before_json = PlainText(default="{}", help_text="sessions by agent that were there before it began", shown="")
    before = JsonProperty("before_json")

    class Meta:
        db_table = "migration_runs"
        indexes = [models.Index(fields=["started_at", "id"], name="idx_migration_started")]

    def __str__(self):
        return self.id


class MigrationSource(models.Model):
    """A file at the time of its import; a changed file is another row."""

    class Status(models.TextChoices):
        IMPORTED = "imported"
        WARNING = "warning"
        IGNORED = "ignored"

    source_key = PlainText(primary_key=True, shown="api", help_text="sha256 of home, path, time, size, hash and target")
    migration_kind = PlainText(shown="api", help_text="transcript, session_index, database, cron_jobs, ...")
    source_path = OperatorText(shown="api", help_text="relative to the home, or absolute for a workspace elsewhere")
    target_table = PlainText(shown="api")
    source_sha256 = PlainText(default="", shown="api", help_text="empty: it could not be read")
    source_size_bytes = Count(default=0, shown="api")
    source_record_count = Count(default=0, shown="api")
    last_run = models.ForeignKey(MigrationRun, models.CASCADE, related_name="sources", db_column="last_run_id")
    status = PlainText(choices=Status.choices, shown="api")
    imported_at = EpochMs(null=True, shown="api")
    removed_source = SpecBoolean(default=False, shown="api")
    report_json = PersonText(
        default="{}", help_text="why it is a warning, tables left alone, ignored sessions", shown=""
    )
    report = JsonProperty("report_json")
    # Ours.
    root = OperatorText(default="", help_text="the OpenClaw home", shown="")
    agent_id = PlainText(default="", shown="api")
    mtime_ns = Count(default=0, shown="")

    class Meta:
        db_table = "migration_sources"
        indexes = [
            models.Index(fields=["root", "source_path"], name="idx_migration_source_path"),
            models.Index(fields=["last_run", "source_key"], name="idx_migration_run"),
            models.Index(fields=["root"], name="idx_migration_removed", condition=models.Q(removed_source=True)),
            models.Index(fields=["migration_kind", "status", "agent_id", "source_key"], name="idx_migration_kind"),
        ]

    def __str__(self):
        return self.source_path
