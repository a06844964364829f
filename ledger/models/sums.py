"""Sums of records: the columns that all sums have, and sums by session, tool and day."""

from django.db import models

from openclaw_web.sqlite.fields import Count, Number, PlainText


class Totals(models.Model):
    """The sums of a session, a turn or a day.

    Synthetic assistants and repeated records are in none of these.
    """

    tool_call_count = Count(default=0, shown="api file")
    error_count = Count(default=0, shown="api file", help_text="failed tool calls and failed model calls")
    input_tokens = Count(default=0, shown="api")
    output_tokens = Count(default=0, shown="api")
    cache_read_tokens = Count(default=0, shown="api")
    cache_write_tokens = Count(default=0, shown="api")
    total_tokens = Count(default=0, shown="api file")
    cost_usd = Number(null=True, shown="api file", help_text="US dollars of calls whose cost is known; null: of none")
    unpriced_tokens = Count(default=0, shown="api file", help_text="tokens of calls whose cost is unknown")

    class Meta:
        abstract = True


class SessionDay(Totals):
    """The sums of one session on one UTC day, from which `agent_daily_stats` is summed."""

    pk = models.CompositePrimaryKey("session_id", "date")
    # Sums stay when their session is removed because of its age (ledger.transcripts.removal).
    session = models.ForeignKey(
        "ledger.Session", models.CASCADE, db_index=False, db_constraint=False, related_name="days"
    )
    date = PlainText(help_text="YYYY-MM-DD, UTC", shown="")
    turn_count = Count(
        default=0,
        shown="",
    )  # of the active branch, by the day of their user messages (ledger.transcripts.day_sums)
    record_count = Count(default=0, shown="")

    class Meta:
        db_table = "session_days"
        indexes = [models.Index(fields=["date"], name="idx_session_days_date")]

    def __str__(self):
        return f"{self.session_id} {self.date}"


class ToolSums(models.Model):
    """The sums of a tool's outputs; characters are those of the whole texts.

    They follow their session when the index says later that it was in another channel.
    """

    date = PlainText(help_text="YYYY-MM-DD, UTC", shown="")
    tool = PlainText(help_text="empty when the record does not say", shown="")
    channel_id = PlainText(help_text="of the session when its first records came", shown="")
    call_count = Count(default=0, shown="api")
    result_count = Count(default=0, shown="api")
    failed_count = Count(default=0, shown="api")
    chars = Count(default=0, shown="api", help_text="characters of all results")
    stashed_count = Count(default=0, shown="api", help_text="outputs stored as artifacts")
    stashed_chars = Count(default=0, shown="api", help_text="of these, whole")
    kept_chars = Count(
        default=0, shown="api", help_text="of preview, summary and handle, which would remain in the prompt"
    )
    carried_chars = Count(
        default=0,
        shown="api",
        help_text="avoidable characters, counted for each later model call of the session up to the next compaction",
    )
    prompt_tokens = Count(default=0, help_text="what model calls read; counted in the row without a tool", shown="")

    class Meta:
        abstract = True


class SessionTool(ToolSums):
    """The outputs of one tool in one session on one day."""

    pk = models.CompositePrimaryKey("session_id", "date", "tool")
    session = models.ForeignKey(
        "ledger.Session", models.CASCADE, db_index=False, db_constraint=False, related_name="tools"
    )
    open_chars = Count(default=0, help_text="what would be saved of each model call from here on", shown="")

    class Meta:
        db_table = "session_tools"

    def __str__(self):
        return f"{self.session_id} {self.date} {self.tool}"


class ToolDay(ToolSums):
    """The sums of `session_tools` of one tool on one day, by channel."""

    pk = models.CompositePrimaryKey("date", "tool", "channel_id")

    class Meta:
        db_table = "tool_days"

    def __str__(self):
        return f"{self.date} {self.tool} {self.channel_id}"
