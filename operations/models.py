"""The models of backups and of notifications that wait."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, OperatorText, PersonText, PlainText, SentenceText


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


class Notification(models.Model):
    """A message about problems that waits for its receiver; it is removed when it was sent."""

    id = PlainText(primary_key=True, help_text="a ULID; the same in every try, so that receivers recognize a repeat")
    channel = PlainText(help_text="webhook or mail")
    body = OperatorText(help_text="JSON, as it is sent")
    attempts = Count(default=0)
    tried_at = EpochMs(null=True, help_text="when the last try began")
    failure = SentenceText(default="", help_text="why the last try failed; empty once another one got through")

    class Meta:
        db_table = "notifications"

    def __str__(self):
        return self.id
