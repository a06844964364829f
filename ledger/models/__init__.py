"""One agent's sessions, their records and turns.

The rows are derived: they can be deleted and imported again.

Columns named in the episodic, database-first and Reflection specs keep those specs' names and types; the rest
is ours and comes after them.
"""

from django.db import models
from django.urls import reverse

from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    Flag,
    Key,
    KnownCost,
    Number,
    PersonText,
    PlainText,
    RowId,
    SpeechBytes,
    SpeechText,
)
from openclaw_web.sqlite.json_columns import JsonProperty

from .. import rules
from .database_extras import IndexedFile, TrajectoryEvent, VfsEntry  # noqa: F401 - Django looks for models here
from .removed_sessions import RemovedSession  # noqa: F401 - as above
from .sums import SessionDay, SessionTool, ToolDay, Totals  # noqa: F401 - as above


class PromptReport(models.Model):
    """Skills, injected files and tools that sessions were started with; equal reports are one row."""

    id = PlainText(primary_key=True, help_text="sha256 of report_json")
    report_json = PersonText()
    report = JsonProperty("report_json")

    class Meta:
        db_table = "prompt_reports"

    def __str__(self):
        return self.id[:12]


class SessionQuerySet(models.QuerySet):
    def for_reading(self):
        """The columns a list shows, with `known_cost` to order it by."""
        return self.defer("metadata").annotate(known_cost=KnownCost())

    def list_ids_to_read_again(self):
        """The ids of sessions whose turns were not made by the rules of now."""
        return self.filter(rules__lt=rules.VERSION, record_count__gt=0).order_by("id").values_list("id", flat=True)


class Session(Totals):
    """One conversation (Reflection spec REQ-001 `sessions`); `id` is OpenClaw's session id."""

    class State(models.TextChoices):
        LIVE = "live"
        RESET = "reset"
        DELETED = "deleted"
        BACKUP = "bak"

    id = PlainText(primary_key=True, shown="api file")
    channel_id = PlainText(default="unknown", shown="api file", reported=True)
    conversation_target = PersonText(null=True, shown="api", reported=True)
    account_id = PersonText(null=True, shown="api", reported=True)
    created_at = EpochMs(shown="api file")
    last_activity_at = EpochMs(shown="api file")
    metadata = SpeechText(null=True, help_text="JSON", shown="")
    index_entry = JsonProperty("metadata")
    # Ours.
    session_key = PersonText(null=True, shown="api file")
    origin = PlainText(
        default="unknown", shown="api file", help_text="main, direct, group, channel, cron, subagent, ..."
    )
    source_state = PlainText(choices=State.choices, default=State.LIVE, shown="api file")
    title = SpeechText(default="", shown="api file")
    model = PlainText(null=True, shown="api file", help_text="the last model that answered")
    prompt_report = models.ForeignKey(PromptReport, models.SET_NULL, null=True, db_index=False)
    leaf_record_id = PlainText(null=True, help_text="the record the active branch ends with", shown="")
    leaf_ids = PlainText(
        default="",
        db_default="",
        help_text="JSON: the records its branches end with, the last one last; empty: one branch (source_order)",
        shown="",
    )
    leaves = JsonProperty("leaf_ids", list)
    record_count = Count(default=0, shown="api file")
    kind_counts = PlainText(default="{}", db_default="{}", help_text="JSON: kind -> records", shown="")
    kinds = JsonProperty("kind_counts", is_sorted=True)
    id_checksum = PlainText(
        default="0" * 16, db_default="0" * 16, help_text="of the ids of its records (agents.holdings)", shown=""
    )
    turn_count = Count(default=0, shown="api file", help_text="on the active branch")
    compaction_count = Count(default=0, shown="api")
    withheld_count = Count(default=0, shown="api", help_text="records not kept because their sender opted out")
    parents = PlainText(
        default="",
        help_text="JSON: the sessions whose records it may repeat; empty: it names none (repeats.lineage)",
        shown="",
    )
    rules = Count(
        default=rules.VERSION, db_default=rules.OLDER, help_text="by which rules its turns were made", shown=""
    )
    repeats_mark = PlainText(
        default="", help_text="the sessions that its repeated records were compared with", shown=""
    )

    objects = SessionQuerySet.as_manager()

    class Meta:
        db_table = "sessions"
        indexes = [
            models.Index(fields=["last_activity_at", "id"], name="idx_last_activity"),
            # A filter and the order of the list in one index: a page of a million sessions is read without sorting.
            models.Index(fields=["channel_id", "last_activity_at", "id"], name="idx_channel"),
            models.Index(fields=["origin", "last_activity_at", "id"], name="idx_origin"),
            models.Index(fields=["source_state", "last_activity_at", "id"], name="idx_source_state"),
            models.Index(
                fields=["last_activity_at", "id"], name="idx_with_errors", condition=models.Q(error_count__gt=0)
            ),
            models.Index(fields=["model", "last_activity_at", "id"], name="idx_session_model"),
            models.Index(fields=["session_key"], name="idx_session_key"),
            # The other orders of the list.
            models.Index(fields=["created_at", "id"], name="idx_session_started"),
            # An unknown cost comes before every known one.
            models.Index(KnownCost(), "id", name="idx_session_cost"),
            models.Index(fields=["total_tokens", "id"], name="idx_session_tokens"),
            models.Index(fields=["error_count", "id"], name="idx_session_errors"),
            models.Index(fields=["turn_count", "id"], name="idx_session_turns"),
            # Few: forks and successors.
            models.Index(fields=["id"], name="idx_session_parents", condition=~models.Q(parents="")),
            models.Index(fields=["id"], name="idx_session_again", condition=models.Q(rules=rules.AGAIN)),
        ]

    def __str__(self):
        return self.title or self.id

    def get_absolute_url(self):
        return reverse("ledger:session_detail", args=[self.agent_id, self.id])

    @property
    def index_facts(self):
        """The index entry without the outcomes of runs, which turns have."""
        return {name: value for name, value in self.index_entry.items() if name != "outcomes"}

    @property
    def agent_id(self):
        """The agent of the session: its file is named after the agent."""
        return self._state.db.removeprefix("agent_")

    def cache_key(self):
        """A key that changes with the session's records, for caches of what is computed from them."""
        names = ("record_count", "leaf_record_id", "last_activity_at", "turn_count", "compaction_count", "error_count")
        return tuple(getattr(self, name) for name in (*names, "tool_call_count", "total_tokens", "created_at", "title"))


class PlacedQuerySet(models.QuerySet):
    def placed(self):
        """Annotate `place`, which orders rows of one moment by their arrival.

        The index of the time holds it.
        """
        return self.annotate(place=RowId())


IS_COUNTED_ERROR = models.Q(is_failed=True, is_synthetic=False, repeat_of__isnull=True)


class TranscriptEvent(models.Model):
    """One record of a transcript (database-first spec `transcript_events`), with what lists and sums need beside it.

    Its id and its parent are columns of the record; the spec's `transcript_event_identities` is a view of these.
    """

    class Kind(models.TextChoices):
        SESSION = "session"
        USER = "user"
        ASSISTANT = "assistant"
        TOOL_RESULT = "tool_result"
        COMPACTION = "compaction"
        BRANCH_SUMMARY = "branch_summary"
        MODEL_CHANGE = "model_change"
        THINKING_LEVEL_CHANGE = "thinking_level_change"
        CUSTOM = "custom"
        CUSTOM_MESSAGE = "custom_message"
        LABEL = "label"
        SESSION_INFO = "session_info"
        RESET = "reset"
        LEAF = "leaf"
        USAGE = "usage"
        MESSAGE = "message", "message with another role"
        WITHHELD = "withheld", "not kept: the sender opted out"
        UNKNOWN = "unknown", "a type this version does not know, kept raw"

    pk = models.CompositePrimaryKey("session_id", "seq")
    session = Key(Session, models.CASCADE, db_index=False, related_name="events", shown="file")
    seq = Count(shown="api file", help_text="order of arrival in the store")
    created_at = EpochMs(shown="api file")
    event_id = PlainText(null=True, shown="", help_text="the record's id, or @<byte offset> when it has none")
    event_type = PlainText(default="", db_default="", shown="", help_text="as in the source, also of withheld records")
    parent_id = PlainText(null=True, shown="api")
    message_idempotency_key = PersonText(null=True, shown="")
    # Ours. event_json comes last so that reading the small columns does not walk through the big one.
    kind = PlainText(choices=Kind.choices, shown="api file")
    turn_number = Count(null=True, shown="api file")
    is_active = Flag(default=True, shown="api", help_text="on the branch the session ended with")
    is_failed = Flag(default=False, shown="api file")
    is_synthetic = Flag(default=False, shown="api", help_text="delivery-mirror or gateway-injected")
    model = PlainText(null=True, shown="api file")
    tool_name = PlainText(null=True, shown="api file")
    tool_call_count = Count(default=0, shown="api")
    input_tokens = Count(null=True, shown="api")
    output_tokens = Count(null=True, shown="api")
    cache_read_tokens = Count(null=True, shown="api")
    cache_write_tokens = Count(null=True, shown="api")
    total_tokens = Count(null=True, shown="api file")
    cost_usd = Number(null=True, shown="api file", help_text="US dollars; null if unknown")
    repeat_of = PlainText(
        null=True,
        shown="api file",
        help_text="the session from which this was copied; null for its own. Copies are in no sum",
    )
    error_group = PlainText(null=True, shown="", help_text="of a failed call: ledger.errors.messages")
    trim_json = SpeechText(null=True, help_text="what event_json leaves out: see ledger.transcripts.trimming", shown="")
    trim = JsonProperty("trim_json")
    event_json = SpeechText(shown="")
    record = JsonProperty("event_json")
    full_zstd = SpeechBytes(null=True, help_text="the rests of the texts that are capped", shown="")

    objects = PlacedQuerySet.as_manager()

    class Meta:
        db_table = "transcript_events"
        constraints = [models.UniqueConstraint(fields=["session", "event_id"], name="idx_event_id")]
        indexes = [
            # Few records are off the active branch: counting them must not walk through the others.
            models.Index(fields=["session_id", "seq"], name="idx_event_aside", condition=models.Q(is_active=False)),
            # Few records are repeated ones.
            models.Index(
                fields=["session_id", "seq"], name="idx_event_repeat", condition=models.Q(repeat_of__isnull=False)
            ),
            # The time alone, half the price of an index that holds the session as well: lists go by time and place.
            models.Index(fields=["created_at"], name="idx_event_created"),
            # Failed calls as sums count them: those of a group by time, and the sessions of each group.
            models.Index(fields=["error_group", "created_at"], name="idx_event_error", condition=IS_COUNTED_ERROR),
            models.Index(
                fields=["error_group", "session_id", "created_at"],
                name="idx_event_error_session",
                condition=IS_COUNTED_ERROR,
            ),
            # A session has few beginnings: asking for them must not walk through its records.
            models.Index(
                fields=["session_id", "seq"],
                name="idx_event_begin",
                condition=models.Q(event_type="reset") | models.Q(parent_id__isnull=True),
            ),
        ]

    def __str__(self):
        return f"{self.session_id}:{self.seq}"


class TranscriptSnapshot(models.Model):
    """A compaction: what was summarised away (database-first spec `transcript_snapshots`)."""

    pk = models.CompositePrimaryKey("session_id", "snapshot_id")
    session = models.ForeignKey(Session, models.CASCADE, db_index=False, related_name="snapshots")
    snapshot_id = PlainText(help_text="the compaction record's id")
    reason = PlainText()
    event_count = Count(help_text="records before it on its branch")
    created_at = EpochMs()
    metadata_json = SpeechText(
        help_text="summary, readFiles, modifiedFiles, firstKeptEntryId, tokensBefore, tokensAfter"
    )
    about = JsonProperty("metadata_json")

    class Meta:
        db_table = "transcript_snapshots"

    def __str__(self):
        return f"{self.session_id}:{self.snapshot_id}"


class TurnQuerySet(PlacedQuerySet):
    def active(self):
        """Turns of the branch the session ended with."""
        return self.filter(is_active=True)


class ConversationTurn(Totals):
    """One user message and everything up to the next one (Reflection spec REQ-001); `id` is `<session>:<record>`."""

    id = PlainText(primary_key=True, shown="api file")
    session = Key(Session, models.CASCADE, db_index=False, related_name="turns", shown="api file")
    turn_number = Count(shown="api file", help_text="never another turn's, also when this one leaves the active branch")
    user_message_id = PlainText(null=True, shown="api", reported=True)
    user_message_content = SpeechText(shown="api")
    user_from = PersonText(null=True, shown="api", reported=True)
    user_metadata = PersonText(null=True, shown="api")
    sender = JsonProperty("user_metadata")
    agent_message_id = PlainText(null=True, shown="api", reported=True)
    agent_message_content = SpeechText(shown="api")
    agent_metadata = SpeechText(null=True, shown="api")
    reply_details = JsonProperty("agent_metadata")
    created_at = EpochMs(shown="api file")
    # Ours.
    is_active = Flag(default=True, shown="api")
    first_seq = Count(shown="api")
    last_seq = Count(shown="api")
    record_count = Count(default=0, shown="api")
    latency_ms = Count(null=True, shown="api file", help_text="from the user message to the reply")
    model = PlainText(null=True, shown="api file", help_text="the model that answered")
    asked_model = PlainText(
        null=True, shown="api file", help_text="the model that was asked, where another one answered"
    )
    answer_state = PlainText(
        default="",
        db_default="",
        shown="api file",
        help_text="damaged, silent, canned, private, cut_off, ...; or empty",
    )
    delivery = PlainText(
        default="not_known",
        db_default="not_known",
        shown="api file",
        help_text="delivered, suppressed, failed, not_known",
    )
    prompt_tokens = Count(null=True, help_text="the prompt of its biggest model call; null: none is known", shown="")
    repeat_of = PlainText(
        null=True,
        shown="api file",
        help_text="the session from which this was copied; null for its own. Copies are in no sum",
    )

    objects = TurnQuerySet.as_manager()

    class Meta:
        db_table = "conversation_turns"
        constraints = [models.UniqueConstraint(fields=["session", "turn_number"], name="idx_session_turn")]
        indexes = [
            # As the spec has it: the time alone, because ids are long. Lists go by time and place.
            models.Index(fields=["created_at"], name="idx_created_at"),
            # How big prompts were over time is read from here alone.
            models.Index(
                fields=["created_at", "prompt_tokens"],
                name="idx_turn_prompt",
                condition=models.Q(is_active=True, prompt_tokens__gt=0),
            ),
            # Few answers are unusual.
            models.Index(fields=["created_at"], name="idx_turn_answer", condition=~models.Q(answer_state="")),
        ]

    def __str__(self):
        return self.id


class ConversationContext(models.Model):
    """The messages before a turn, kept once the turn becomes evidence (Reflection spec REQ-001)."""

    class Role(models.TextChoices):
        USER = "user"
        AGENT = "agent"

    id = models.AutoField(primary_key=True)
    turn = Key(ConversationTurn, models.CASCADE, db_index=False, related_name="contexts", shown="api")
    role = PlainText(choices=Role.choices, shown="api")
    message = SpeechText(shown="api")
    timestamp = EpochMs(shown="api")
    sequence_number = Count(shown="api", help_text="position among these messages; the oldest is 0")

    class Meta:
        db_table = "conversation_contexts"
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=["user", "agent"]), name="context_role"),
            models.UniqueConstraint(fields=["turn", "sequence_number"], name="idx_turn_sequence"),
        ]

    def __str__(self):
        return f"{self.turn_id}#{self.sequence_number}"


class RejectedRecord(models.Model):
    """A line that could not be read, with its place and the reason."""

    id = models.AutoField(primary_key=True)
    file = PlainText(shown="api file", help_text="relative to the home it was read from")
    byte_offset = Count(shown="api file")
    byte_length = Count(shown="api file")
    reason = PlainText(shown="api file", help_text="one word: not_json, not_utf8, nul_bytes, missing_type, ...")
    detail = SpeechText(default="", shown="api file")
    raw_preview = SpeechText(default="", shown="api file", help_text="its first 2,000 characters, bad bytes replaced")
    session_id = PlainText(null=True, shown="api file")
    created_at = EpochMs(shown="api file")

    class Meta:
        db_table = "rejected_records"
        constraints = [models.UniqueConstraint(fields=["file", "byte_offset"], name="rejected_once")]

    def __str__(self):
        return f"{self.file}@{self.byte_offset}: {self.reason}"
