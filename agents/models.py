"""Agents, their files, the sources that were read, and skipped sources."""

from contextlib import contextmanager

from django.db import models
from django.urls import reverse

from openclaw_web.sqlite.fields import Count, EpochMs, OperatorText, PersonText, PlainText, SpeechBytes
from openclaw_web.sqlite.json_columns import JsonProperty

from . import databases


class Agent(models.Model):
    """One OpenClaw agent (columns of the database-first state spec).

    Its rows are in a file of its own.
    """

    agent_id = PlainText(primary_key=True)
    config_fingerprint = PlainText(null=True)
    created_at = EpochMs()
    updated_at = EpochMs()
    agent_db_path = PlainText()
    # Our own column: the agent's name in its home, when --as chose another one here.
    home_name = PlainText(default="")
    workspace = OperatorText(default="", blank=True, help_text="the real path of the workspace that was read last")
    reported_workspace = OperatorText(
        default="", blank=True, help_text="what the newest report of a prompt names, as it is written there"
    )
    workspace_reported_at = EpochMs(null=True, help_text="when that was; 0: no report says so; empty: not known yet")
    reset_left_out_count = Count(default=0, help_text="reset sessions that the last import did not read")
    deleted_left_out_count = Count(default=0, help_text="the same of deleted sessions")
    _kept_db = ""

    class Meta:
        db_table = "agents"

    def __str__(self):
        return self.agent_id

    def get_absolute_url(self):
        return reverse("overview:overview", args=[self.agent_id])

    @property
    def db(self):
        """Return the alias of this agent's own file. Raises OldAgentFile.

        The file is opened by the first query.
        """
        return self._kept_db or self._find_db()

    @contextmanager
    def keep_db(self):
        """Find the file once for the time of the block.

        An import needs the alias for every session.
        """
        self._kept_db = self.db
        try:
            yield
        finally:
            self._kept_db = ""

    def _find_db(self):
        try:
            return databases.get_alias(self.agent_id)
        except databases.UnknownAgent as exc:
            raise databases.LostAgentFile(self.agent_id, AgentDatabase.get_record_count(self.agent_id)) from exc


class AgentDatabase(models.Model):
    """The registry of agents' files (columns of the database-first state spec)."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True, related_name="database")
    path = PlainText(help_text="relative to the home")
    schema_version = Count()
    last_seen_at = EpochMs(null=True)
    size_bytes = Count(null=True)
    # Ours.
    record_count = Count(default=0, help_text="what the file has to hold: the sum of collector_sessions")

    class Meta:
        db_table = "agent_databases"

    def __str__(self):
        return self.path

    @classmethod
    def get_record_count(cls, agent_id: str) -> int:
        """Return how many records an agent's file must have."""
        return cls.objects.filter(agent_id=agent_id).values_list("record_count", flat=True).first() or 0


class CollectorSource(models.Model):
    """A source that was read: a home's agent (its claim), a transcript, an index, ….

    This is the only table with file paths.
    """

    class Kind(models.TextChoices):
        AGENT = "agent"
        TRANSCRIPT = "transcript"
        SESSION_INDEX = "session_index"
        CRON_JOBS = "cron_jobs"
        CRON_RUNS = "cron_runs"
        SUBAGENT_RUNS = "subagent_runs"
        WORKSPACE_FILE = "workspace_file"
        DATABASE = "database"
        ARTIFACT = "artifact"
        REFLECTION_LOG = "reflection_log"
        GUARDIAN_LOG = "guardian_log"
        GUARDIAN_WRITES = "guardian_writes"

    source_key = PlainText(primary_key=True, help_text="sha256 of root, kind and path")
    kind = PlainText(choices=Kind.choices)
    root = OperatorText(help_text="the OpenClaw home")
    path = OperatorText(help_text="relative to the root, or absolute for a workspace elsewhere")
    agent_id = PlainText(default="")
    inode = Count(default=0)
    size_bytes = Count(default=0)
    mtime_ns = Count(default=0)
    byte_offset = Count(default=0, help_text="everything before it is in the store")
    head_sha256 = PlainText(default="", help_text="fingerprint of the first bytes before the offset")
    head_bytes = Count(default=0)
    tail_sha256 = PlainText(
        default="", db_default="", help_text="fingerprint of the last bytes before the offset; empty: none"
    )
    last_read_at = EpochMs(null=True)
    session_id = PlainText(
        default="", db_default="", help_text="whose transcript a file was found to be; empty: none, or not known"
    )
    is_named = models.BooleanField(
        default=False, db_default=False, help_text="an index names the file as the transcript of its session"
    )

    class Meta:
        db_table = "collector_sources"
        indexes = [models.Index(fields=["root", "kind"], name="idx_collector_root_kind")]
        constraints = [
            models.UniqueConstraint(
                fields=["agent_id"], condition=models.Q(kind="agent"), name="one_source_claims_an_agent"
            )
        ]

    def __str__(self):
        return f"{self.kind}:{self.path}"


class ReaderState(models.Model):
    """The memory of a growing log's reader where it stopped, as later lines depend on it.

    None is kept while somebody has opted out, as it may hold their words.
    """

    source_key = PlainText(primary_key=True, help_text="as of collector_sources")
    how = PlainText(help_text="how the log was read; read in another way, it is read from its start")
    state_zstd = SpeechBytes(help_text="JSON of the reader, packed")

    class Meta:
        db_table = "collector_reader_states"

    def __str__(self):
        return self.source_key


class CollectedSession(models.Model):
    """The records that the store must have of a session: see `agents.holdings`.

    Stored in another file than the records.
    """

    class Why(models.TextChoices):
        RETENTION = "retention"
        ARCHIVE = "archive"
        UNDONE = "undone"
        OPTED_OUT = "opted_out"

    pk = models.CompositePrimaryKey("agent_id", "session_id")
    agent_id = PlainText()
    session_id = PlainText()
    kind_counts = PlainText(default="{}", help_text="JSON: kind of record -> how many")
    kinds = JsonProperty("kind_counts", is_sorted=True)
    record_count = Count(default=0)
    id_checksum = PlainText(default="", db_default="", help_text="of the ids of its records; empty: not known")
    removed_why = PlainText(default="", blank=True, choices=Why.choices, help_text="empty: it has to be there")
    noted_at = EpochMs()

    class Meta:
        db_table = "collector_sessions"

    def __str__(self):
        return f"{self.agent_id}/{self.session_id}"


class SkippedSource(models.Model):
    """A file, folder or index entry that the last import did not read, and the reason.

    Written by `agents.skipped_sources`.
    """

    class Kind(models.TextChoices):
        FILE = "file"
        FOLDER = "folder"
        INDEX_ENTRY = "index_entry"

    class Reason(models.TextChoices):
        """The reason why a source was not read.

        NO_RECORDS is the only one that is a finding: an index entry without records anywhere.
        """

        # The content was read, and is not opened again until the file changes.
        NOT_TRANSCRIPT = "not_transcript", "neither a session header nor a record"
        # Records that are elsewhere, or are imported with --include-deleted.
        CHECKPOINT = "checkpoint", "repeats records of its transcript"
        DELETED = "deleted", "transcript of a deleted session"
        RESET = "reset", "transcript before a reset"
        BACKUP = "bak", "copy of a transcript"
        IMPORTED = "imported", "transcript that OpenClaw moved into its database"
        COLD = "cold", "archive of OpenClaw's database"
        # Sessions that are left out on purpose.
        OPTED_OUT = "opted_out", "conversation with somebody who opted out"
        UNNAMED = "unnamed", "participants not known while somebody is opted out"
        REMOVED = "removed", "session that was removed or archived here"
        UNDONE = "undone", "session whose import was undone"
        # Files beside transcripts, which are known by name and never opened.
        LOCK = "lock", "lock"
        TEMPORARY = "temporary", "temporary file"
        TRAJECTORY = "trajectory", "pointer to a trajectory"
        INDEX = "index", "copy of a session index"
        SKILLS_PROMPT = "skills_prompt", "text of a skill"
        DATABASE = "database", "part of a database"
        SECRET = "secret", "may hold a secret"
        NOT_LISTED = "not_listed", "not among what is read"
        # Files and folders that cannot be opened or listed.
        LINK = "link", "link"
        UNREADABLE = "unreadable", "cannot be opened"
        ODD_NAME = "odd_name", "name that is no text"
        TOO_MANY = "too_many", "beyond the number of files that is looked at"
        FAILED = "failed", "reading failed; the next import tries again"
        # Index entries.
        OTHER_AGENT = "other_agent", "transcript of another agent"
        UNUSABLE = "unusable", "entry without a usable session id"
        EMPTY = "empty", "transcript without a record"
        REMOVED_RUN = "removed_run", "scheduled run whose transcript OpenClaw removed"
        NO_RECORDS = "no_records", "nothing holds its records"

    source_key = PlainText(primary_key=True, help_text="sha256 of root, kind, agent and path", shown="")
    kind = PlainText(choices=Kind.choices, shown="api file")
    root = OperatorText(shown="api file", help_text="the OpenClaw home")
    agent_id = PlainText(shown="api file")
    path = PersonText(
        shown="api file", help_text="relative to the root, or absolute; of an index entry its session key"
    )
    session_id = PlainText(default="", shown="api file", help_text="whose transcript it is, as far as that is known")
    reason = PlainText(choices=Reason.choices, shown="api file")
    detail = OperatorText(
        default="", shown="api file", help_text="the end of a sentence: why it cannot be opened, or what it names"
    )
    size_bytes = Count(default=0, shown="api file")
    mtime_ns = Count(default=0, shown="api file")
    inode = Count(default=0, shown="")
    noted_at = EpochMs(shown="api file")

    class Meta:
        db_table = "collector_skipped"
        indexes = [
            models.Index(fields=["path", "source_key"], name="idx_skipped_path"),
            models.Index(fields=["agent_id", "path", "source_key"], name="idx_skipped_agent"),
            models.Index(fields=["reason", "path", "source_key"], name="idx_skipped_reason"),
            models.Index(fields=["kind", "path", "source_key"], name="idx_skipped_kind"),
        ]

    def __str__(self):
        return f"{self.kind}:{self.path}"
