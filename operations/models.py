"""The model of backups."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, OperatorText, PersonText, PlainText


class BackupRun(models.Model):
    """One backup with its file, content and restore test.

    The first columns are those of the database-first state spec.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        VERIFIED = "verified"
        INCOMPLETE = "incomplete"
        FOUND = "found"
        DAMAGED = "damaged"
        FAILED = "failed"
        GONE = "gone"

    USABLE = (Status.VERIFIED, Status.INCOMPLETE, Status.FOUND, Status.DAMAGED)

    id = PlainText(primary_key=True, shown="api")
    created_at = EpochMs(shown="api")
    archive_path = OperatorText(default="", shown="api")
    status = PlainText(choices=Status.choices, default=Status.RUNNING, shown="api")
    manifest_json = OperatorText(default="{}", shown="")
    # Columns of OpenClaw Web.
    archive_bytes = Count(null=True, shown="api")
    archive_sha256 = PlainText(default="", shown="api", help_text="empty: not read in full here")
    made_by = PersonText(default="", shown="api")
    message = OperatorText(default="", shown="api", help_text="why it failed, is damaged or is incomplete")
    finished_at = EpochMs(null=True, shown="api")
    verified_at = EpochMs(null=True, shown="api", help_text="when every byte was last read and verified")
    proven_at = EpochMs(null=True, shown="api", help_text="when the backup was last restored")
    proven_ms = Count(null=True, shown="api", help_text="how long that took")

    class Meta:
        db_table = "backup_runs"
        indexes = [
            models.Index(fields=["created_at", "id"], name="idx_backup_created"),
            models.Index(fields=["proven_at"], name="idx_backup_proven"),
        ]

    def __str__(self):
        return self.id
