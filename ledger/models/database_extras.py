"""Contents of an OpenClaw database besides transcripts: steps of runs, indexed memory, files."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, PlainText
from openclaw_web.sqlite.json_columns import JsonProperty

from ..collectors.trajectories import TOOL_ENDED


class TrajectoryEvent(models.Model):
    """One step of a run as OpenClaw measured it.

    Texts are left out, because transcripts have them; prompts are artifacts.
    """

    id = PlainText(primary_key=True, shown="api", help_text="made of session, run, type, time and seq")
    session_id = PlainText(shown="")
    seq = Count(shown="api", help_text="number within one attempt of the run")
    run_id = PlainText(default="", shown="api")
    type = PlainText(shown="api", help_text="session.started, context.compiled, tool.call, model.completed, …")
    created_at = EpochMs(null=True, shown="api")
    about_json = PlainText(default="{}", shown="")
    about = JsonProperty("about_json")

    class Meta:
        db_table = "trajectory_events"
        indexes = [
            models.Index(fields=["session_id", "created_at", "seq"], name="idx_trajectory_session"),
            # Durations of tools over all sessions.
            models.Index(fields=["created_at"], name="idx_trajectory_tool", condition=models.Q(type=TOOL_ENDED)),
        ]

    def __str__(self):
        return f"{self.session_id}:{self.seq} {self.type}"


class IndexedFile(models.Model):
    """A file that an agent's memory index holds, in so many pieces. Embeddings are never read."""

    pk = models.CompositePrimaryKey("database", "source", "path")
    database = PlainText(shown="api", help_text="relative to the OpenClaw folder")
    source = PlainText(shown="api", help_text="memory or sessions")
    path = PlainText(shown="api")
    size_bytes = Count(null=True, shown="api")
    modified_at = EpochMs(null=True, shown="api")
    chunk_count = Count(default=0, shown="api")

    class Meta:
        db_table = "indexed_files"

    def __str__(self):
        return self.path


class VfsEntry(models.Model):
    """A file or folder of the file system that some versions keep in the agent's database."""

    pk = models.CompositePrimaryKey("namespace", "path")
    namespace = PlainText(shown="api")
    path = PlainText(shown="api")
    kind = PlainText(default="", shown="api")
    bytes = Count(null=True, shown="api")
    handle = PlainText(
        null=True, shown="api", help_text="of the artifact with the content; null: a folder, or not kept"
    )
    updated_at = EpochMs(null=True, shown="api")

    class Meta:
        db_table = "vfs_entries"

    def __str__(self):
        return f"{self.namespace}:{self.path}"
