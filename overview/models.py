"""What an agent adds up to."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs


class AgentDailyStat(models.Model):
    """One agent on one UTC day; rebuilt from the agent's `session_days`."""

    pk = models.CompositePrimaryKey("agent_id", "date")
    agent_id = models.TextField()
    date = models.TextField()
    session_count = Count(default=0)
    turn_count = Count(default=0)
    record_count = Count(default=0)
    tool_call_count = Count(default=0)
    error_count = Count(default=0)
    input_tokens = Count(default=0)
    output_tokens = Count(default=0)
    cache_read_tokens = Count(default=0)
    cache_write_tokens = Count(default=0)
    total_tokens = Count(default=0)
    cost_usd = models.FloatField(null=True, help_text="of the calls whose cost is known; null: of none it is")
    unpriced_tokens = Count(default=0, help_text="tokens of calls whose cost is not known")

    class Meta:
        db_table = "agent_daily_stats"
        indexes = [models.Index(fields=["date"], name="idx_agent_daily_date")]

    def __str__(self):
        return f"{self.agent_id} {self.date}"


class AgentSummary(models.Model):
    """One agent in one row, for the pages that compare agents; rebuilt after each collect."""

    agent_id = models.TextField(primary_key=True)
    session_count = Count(default=0)
    turn_count = Count(default=0)
    error_count = Count(default=0)
    total_tokens = Count(default=0)
    cost_usd = models.FloatField(null=True, help_text="as of a day")
    unpriced_tokens = Count(default=0)
    rejected_count = Count(default=0)
    unknown_envelope_count = Count(default=0, help_text="records with an envelope that is not understood")
    last_activity_at = EpochMs(null=True)
    last_collected_at = EpochMs(null=True)

    class Meta:
        db_table = "agent_summaries"

    def __str__(self):
        return self.agent_id


class MemoryStanding(models.Model):
    """Where one memory file of an agent stands with OpenClaw, as of the last import."""

    id = models.TextField(primary_key=True, help_text="<agent>/<file>")
    agent_id = models.TextField()
    file_name = models.TextField()
    state = models.TextField()
    rank = Count(help_text="the worst state is 0")
    raw_chars = Count(null=True)
    injected_chars = Count(null=True)
    lost_chars = Count(default=0)
    since = EpochMs(null=True, help_text="when OpenClaw saw the write that its record names")
    session_id = models.TextField(default="")
    session_key = models.TextField(default="")
    record_hash = models.TextField(default="")
    record_class = models.TextField(default="")
    is_equal = models.BooleanField(null=True, help_text="whether the file has the recorded hash; null: no record")
    reported_at = EpochMs(null=True)
    noted_at = EpochMs()

    class Meta:
        db_table = "memory_standings"
        indexes = [
            models.Index(fields=["rank", "id"], name="idx_standing_rank"),
            models.Index(fields=["agent_id", "rank", "id"], name="idx_standing_agent"),
            models.Index(fields=["file_name", "rank", "id"], name="idx_standing_file"),
            models.Index(fields=["state", "rank", "id"], name="idx_standing_state"),
        ]

    def __str__(self):
        return self.id
