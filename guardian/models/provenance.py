"""OpenClaw's own records of who wrote a memory file, change by change."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, PersonText, PlainText


class ProvenanceRecord(models.Model):
    """OpenClaw's record of a file from `first_seen_at` on, until the file's next row."""

    class State(models.TextChoices):
        KNOWN = "known"
        UNKNOWN = "unknown"  # of a version, class or shape that no known version of OpenClaw writes
        GONE = "gone"  # OpenClaw has no record of the file any more

    id = PlainText(primary_key=True, help_text="sha256 of the row")
    state = PlainText(choices=State.choices)
    workspace_key = PlainText(help_text="sha256 of the real path of the workspace where OpenClaw runs")
    file_name = PlainText(help_text="relative to the workspace")
    file_hash = PlainText(default="", help_text="sha256 of the bytes that were written")
    origin_class = PlainText(default="", help_text="agent, untrusted, or another word of OpenClaw")
    observed_at = EpochMs(null=True, help_text="when OpenClaw saw the write")
    session_id = PlainText(default="")
    session_key = PersonText(default="")
    version = Count(null=True)
    first_seen_at = EpochMs(help_text="when an import read it first")

    class Meta:
        db_table = "provenance_records"
        indexes = [models.Index(fields=["file_name", "first_seen_at", "id"], name="idx_provenance_file")]

    def __str__(self):
        return f"{self.file_name} {self.state} {self.origin_class}"
