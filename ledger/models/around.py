"""What a database of OpenClaw holds around its transcripts: runs as they went, indexed memory, files of its own."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs


class TrajectoryEvent(models.Model):
    """One step of a run as OpenClaw measured it; texts are left out (transcripts have them), prompts are artifacts."""

    id = models.TextField(primary_key=True, help_text="made of session, run, type, time and seq")
    session_id = models.TextField()
    seq = Count(help_text="within one attempt of a run")
    run_id = models.TextField(default="")
    type = models.TextField(help_text="session.started, context.compiled, tool.call, model.completed, ...")
    created_at = EpochMs(null=True)
    about_json = models.TextField(default="{}")

    class Meta:
        db_table = "trajectory_events"
        indexes = [models.Index(fields=["session_id", "created_at", "seq"], name="idx_trajectory_session")]

    def __str__(self):
        return f"{self.session_id}:{self.seq} {self.type}"


class IndexedFile(models.Model):
    """A file that an agent's memory index holds, in so many pieces. Embeddings are never read."""

    pk = models.CompositePrimaryKey("database", "source", "path")
    database = models.TextField(help_text="relative to the home")
    source = models.TextField(help_text="memory or sessions")
    path = models.TextField()
    size_bytes = Count(null=True)
    modified_at = EpochMs(null=True)
    chunk_count = Count(default=0)

    class Meta:
        db_table = "indexed_files"

    def __str__(self):
        return self.path


class VfsEntry(models.Model):
    """A file or folder of the file system that some versions keep in the agent's database."""

    pk = models.CompositePrimaryKey("namespace", "path")
    namespace = models.TextField()
    path = models.TextField()
    kind = models.TextField(default="")
    bytes = Count(null=True)
    handle = models.TextField(
        null=True, help_text="of the artifact that holds the content; null: a folder, or not kept"
    )
    updated_at = EpochMs(null=True)

    class Meta:
        db_table = "vfs_entries"

    def __str__(self):
        return f"{self.namespace}:{self.path}"
