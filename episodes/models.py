"""Tables of the episodic ledger: events, retention, heads, capture.

Source: the spec of the episodic events ledger (v0); salt and hashes are ours.
"""

from django.db import models
from django.db.models import F

from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    Flag,
    OperatorText,
    PersonText,
    PlainBytes,
    PlainText,
    SpeechText,
)
from openclaw_web.sqlite.json_columns import JsonProperty

SCHEMA_VERSION = "openclaw-mem.episodic.v0"
REDACTED = "[REDACTED]"
REDACTED_JSON = '"[REDACTED]"'  # a payload that was replaced by a placeholder

# Events of retention runs: their session and actor. They are neither removed nor redacted.
RUN_SESSION, RUN_ACTOR = "episodes-retention", "openclaw-web"


class EpisodicEvent(models.Model):
    """One event of a scope.

    It is never changed but by its redaction, and rows are never merged.

    A redacted row has neither texts nor salt, so that nobody can check a guess of its texts against `content_hash`.
    """

    class Type(models.TextChoices):
        CONVERSATION_ASSISTANT = "conversation.assistant"
        CONVERSATION_USER = "conversation.user"
        OPS_ALERT = "ops.alert"
        OPS_DECISION = "ops.decision"
        OPS_OBSERVATION = "ops.observation"
        TOOL_CALL = "tool.call"
        TOOL_RESULT = "tool.result"

    id = models.BigAutoField(primary_key=True)
    event_id = PlainText(shown="api file")
    ts_ms = EpochMs(shown="api file", help_text="time of the event")
    scope = PlainText(shown="api file")
    session_id = PersonText(shown="api file")
    agent_id = PlainText(shown="api file", help_text="logical actor; any text")
    type = PlainText(choices=Type.choices, shown="api file")
    summary = SpeechText(shown="api file")
    payload_json = SpeechText(null=True, shown="")
    refs_json = SpeechText(null=True, shown="")
    redacted = Count(default=0, db_default=0, shown="")
    schema_version = PlainText(shown="api file")
    created_at = PlainText(shown="api file", help_text="UTC, ISO 8601")
    # Our own columns: docs/episodes.md.
    salt = PlainBytes(null=True, shown="")
    content_hash = PlainBytes(shown="")
    chain_hash = PlainBytes(shown="")

    is_removable = True  # an operator may drop the table: docs/settings.md
    payload = JsonProperty("payload_json", object)
    refs = JsonProperty("refs_json", object)

    class Meta:
        db_table = "episodic_events"
        # An expression makes the index of the spec; columns alone would make a constraint of the table.
        constraints = [models.UniqueConstraint(F("event_id"), name="uq_episodic_event_id")]
        indexes = [
            models.Index(fields=["scope", "ts_ms"], name="idx_episodic_scope_ts"),
            models.Index(fields=["session_id", "ts_ms"], name="idx_episodic_session_ts"),
            models.Index(fields=["scope", "type", "ts_ms"], name="idx_episodic_scope_type_ts"),
        ]

    def __str__(self):
        return f"{self.event_id} {self.type}"


class EpisodeRun(models.Model):
    """A retention run of one scope and type, which the triggers let remove events.

    `is_open` is true within the transaction of the run alone.
    """

    id = PlainText(primary_key=True)
    run_id = PlainText()
    scope = PlainText()
    type = PlainText()
    before_ms = EpochMs(help_text="events before this time are removed")
    removed_count = Count(default=0)
    is_open = Flag(default=True)
    started_by = PersonText()
    created_at = EpochMs()

    class Meta:
        db_table = "episode_runs"
        indexes = [models.Index(fields=["scope", "type", "is_open"], name="idx_episode_run_open")]

    def __str__(self):
        return f"{self.run_id} {self.type}"


class EpisodeGap(models.Model):
    """Neighbouring events that retention removed, with the values of the chain on both sides."""

    first_id = Count(primary_key=True)
    last_id = Count(unique=True)
    count = Count()
    chain_before = PlainBytes()
    chain_after = PlainBytes()

    class Meta:
        db_table = "episode_gaps"

    def __str__(self):
        return f"{self.first_id}-{self.last_id}"


class EpisodeHead(models.Model):
    """A value of the chain that left the home.

    Gaps end at it, so that it can be compared for ever.
    """

    last_id = Count(primary_key=True)
    chain_hash = PlainBytes()
    destination = OperatorText(help_text="where it was given to: a backup, a file, the screen")
    created_at = EpochMs()

    class Meta:
        db_table = "episode_heads"

    def __str__(self):
        return f"{self.last_id}:{bytes(self.chain_hash).hex()}"


class EpisodePolicy(models.Model):
    """The days that one type is kept in one scope, where they differ from the defaults."""

    id = models.BigAutoField(primary_key=True)
    scope = PlainText()
    type = PlainText(choices=EpisodicEvent.Type.choices)
    days = Count(null=True, help_text="null: forever")
    changed_by = PersonText()
    changed_at = EpochMs()

    class Meta:
        db_table = "episode_policies"
        constraints = [models.UniqueConstraint(fields=["scope", "type"], name="uq_episode_policy")]

    def __str__(self):
        return f"{self.scope} {self.type}"


class EpisodeCapture(models.Model):
    """Automatic capture of one agent: one row, with how far each source was read.

    `positions_json` maps the names of sources to the last row that was captured.
    """

    id = Count(primary_key=True)
    is_on = Flag(default=False)
    scope = PlainText(null=True, help_text="null: agent:<id of the agent>")
    allows_tool_output = Flag(default=False)
    positions_json = PlainText(default="{}")
    changed_by = PersonText(default="")
    changed_at = EpochMs(default=0)

    positions = JsonProperty("positions_json")

    class Meta:
        db_table = "episode_captures"

    def __str__(self):
        return "on" if self.is_on else "off"
