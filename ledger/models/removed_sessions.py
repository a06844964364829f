"""Sessions that were stored and then removed."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, OperatorText, PlainText


class RemovedSession(models.Model):
    """A session that was removed because of its age.

    An import passes it over until its transcript grows.
    """

    class Why(models.TextChoices):
        RETENTION = "retention"
        ARCHIVE = "archive"

    session_id = PlainText(primary_key=True, shown="api")
    removed_at = EpochMs(shown="api")
    why = PlainText(choices=Why.choices, shown="api")
    last_activity_at = EpochMs(shown="api")
    record_count = Count(default=0, shown="api")
    archive = OperatorText(default="", shown="api", help_text="path of the file; relative within the home; empty: none")

    class Meta:
        db_table = "removed_sessions"
        indexes = [models.Index(fields=["removed_at", "session_id"], name="idx_removed_at")]

    def __str__(self):
        return self.session_id
