"""Versions of an agent's memory files and other workspace files."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Flag, PlainText

from ..files import MEMORY_FILES
from .shared_columns import SharedBytes, SharedText


class FileVersion(models.Model):
    """One state in which a file was seen.

    A file that returns to an earlier state gets a new row: history is a list.
    """

    id = PlainText(
        primary_key=True, shown="api", help_text="<file>@<content hash>@<modified ms>: importing twice is once"
    )
    content = SharedText(shown="")
    content_hash = PlainText(shown="api", help_text="sha256 of its bytes")
    created_at = EpochMs(shown="api", help_text="modification time of the file")
    # Ours.
    size_bytes = Count(shown="api")
    is_lossy = Flag(default=False, shown="api", help_text="some bytes are not UTF-8 and were replaced in the content")
    raw = SharedBytes(null=True, help_text="the bytes of a lossy content; null: the content has them all", shown="")

    class Meta:
        abstract = True


class FileSnapshot(FileVersion):
    """A version of one of the five memory files (Reflection spec REQ-003 `file_snapshots`)."""

    file_name = PlainText(shown="api")

    class Meta:
        db_table = "file_snapshots"
        constraints = [models.CheckConstraint(condition=models.Q(file_name__in=MEMORY_FILES), name="memory_file")]
        indexes = [
            models.Index(fields=["file_name", "created_at"], name="idx_file_time"),
            models.Index(fields=["content_hash"], name="idx_hash"),
        ]

    def __str__(self):
        return self.id


class WorkspaceFile(FileVersion):
    """A version of another workspace file: AGENTS.md, HEARTBEAT.md, memory/*.md."""

    file_name = PlainText(help_text="relative to the workspace", shown="")

    class Meta:
        db_table = "workspace_files"
        indexes = [models.Index(fields=["file_name", "created_at"], name="idx_workspace_file_time")]

    def __str__(self):
        return self.id
