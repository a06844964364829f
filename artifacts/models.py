"""Uses of big outputs: one row for every place that refers to a content."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, PlainText, SpecBoolean, SpeechText
from openclaw_web.sqlite.json_columns import JsonProperty


class Artifact(models.Model):
    """One use of a content.

    The content itself is a file, named by its hash and shared by all uses.
    """

    id = PlainText(
        primary_key=True, help_text="made of the handle and the place: stashed twice, it is one row", shown=""
    )
    handle = PlainText(shown="api file", help_text="ocm_artifact:v1:sha256:<64 hexadecimal digits>")
    kind = PlainText(default="tool_output", shown="api file")
    bytes = Count(shown="api file")
    stored_bytes = Count(shown="api file")
    chars = Count(shown="api file", help_text="of UTF-8, bad bytes replaced")
    lines = Count(shown="api file")
    content_type = PlainText(shown="api file")
    is_compressed = SpecBoolean(default=False, shown="api")
    preview = SpeechText(default="", help_text="both ends, short; of a binary content, its first bytes", shown="")
    summary = SpeechText(default="", shown="api file", help_text="one line, made without a model")
    secret_kinds = PlainText(
        default="[]", shown="api file", help_text="JSON list of names from artifacts.contents.secrets"
    )
    secrets = JsonProperty("secret_kinds", list)
    session_id = PlainText(null=True, shown="api file")
    turn_id = PlainText(null=True, shown="api file")
    record_id = PlainText(null=True, shown="api file")
    tool = PlainText(null=True, shown="api file")
    tool_call_id = PlainText(null=True, shown="api file")
    meta_json = SpeechText(default="{}", help_text="what whoever stashed it said of it; never content", shown="")
    meta = JsonProperty("meta_json", is_sorted=True)
    created_at = EpochMs(shown="api file")

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
