"""Where big outputs were used: one row for every place that refers to a content of the store."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, SpecBoolean


class Artifact(models.Model):
    """One use of a content: the content itself is a file, named by its hash and shared by all who refer to it."""

    id = models.TextField(primary_key=True, help_text="made of the handle and the place: stashed twice, it is one row")
    handle = models.TextField(help_text="ocm_artifact:v1:sha256:<64 hexadecimal digits>")
    kind = models.TextField(default="tool_output")
    bytes = Count()
    stored_bytes = Count()
    chars = Count(help_text="of UTF-8, bad bytes replaced")
    lines = Count()
    content_type = models.TextField()
    is_compressed = SpecBoolean(default=False)
    preview = models.TextField(default="", help_text="both ends, short; of a binary content, its first bytes")
    summary = models.TextField(default="", help_text="one line, made without a model")
    secret_kinds = models.TextField(default="[]", help_text="JSON list of names from artifacts.contents.secrets")
    session_id = models.TextField(null=True)
    turn_id = models.TextField(null=True)
    record_id = models.TextField(null=True)
    tool = models.TextField(null=True)
    tool_call_id = models.TextField(null=True)
    meta_json = models.TextField(default="{}", help_text="what whoever stashed it said of it; never content")
    created_at = EpochMs()

    class Meta:
        db_table = "artifacts"
        indexes = [
            models.Index(fields=["handle", "created_at", "id"], name="idx_artifacts_uses"),
            models.Index(fields=["session_id", "record_id"], name="idx_artifacts_place"),
            models.Index(fields=["created_at", "id"], name="idx_artifacts_time"),
            models.Index(fields=["bytes", "id"], name="idx_artifacts_size"),
            models.Index(fields=["session_id", "created_at", "id"], name="idx_artifacts_session"),
            models.Index(fields=["session_id", "bytes", "id"], name="idx_artifacts_session_size"),
            # The largest and the repeated outputs of a session, from the index alone.
            models.Index(
                fields=["session_id", "chars", "handle"],
                name="idx_artifacts_largest",
                condition=models.Q(record_id__isnull=False),
            ),
        ]

    def __str__(self):
        return self.handle

    @property
    def sha256(self):
        return self.handle[-64:]
