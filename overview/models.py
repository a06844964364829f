"""Sums of agents by span of time, newest sessions and writes, and memory standings."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Flag, Number, PersonText, PlainText, SpeechText
from openclaw_web.sqlite.json_columns import JsonProperty


class SpanDetails(models.Model):
    """Columns of one span of time that the tiles and charts of the overview read."""

    removed_turn_count = Count(default=0, help_text="of sessions that were removed because of their age", shown="")
    removed_error_count = Count(default=0, help_text="the same", shown="")
    latency_json = PlainText(
        default="",
        db_default="",
        help_text="bucket -> turns (overview.latency); empty: nobody counted",
        shown="",
    )
    latencies = JsonProperty("latency_json")
    models_json = PlainText(
        default="", db_default="", help_text="model -> cost and unpriced tokens; empty: nobody counted", shown=""
    )
    model_sums = JsonProperty("models_json")

    class Meta:
        abstract = True


class AgentDailyStat(SpanDetails):
    """One agent on one UTC day; rebuilt from the agent's `session_days`."""

    pk = models.CompositePrimaryKey("agent_id", "date")
    agent_id = PlainText(shown="")
    date = PlainText(shown="api", help_text="UTC day, YYYY-MM-DD")
    session_count = Count(default=0, shown="api")
    turn_count = Count(default=0, shown="api")
    record_count = Count(default=0, shown="api")
    tool_call_count = Count(default=0, shown="api")
    error_count = Count(default=0, shown="api")
    input_tokens = Count(default=0, shown="")
    output_tokens = Count(default=0, shown="")
    cache_read_tokens = Count(default=0, shown="")
    cache_write_tokens = Count(default=0, shown="")
    total_tokens = Count(default=0, shown="api")
    cost_usd = Number(null=True, shown="api", help_text="US dollars of calls whose cost is known; null: of none")
    unpriced_tokens = Count(default=0, shown="api", help_text="tokens of calls whose cost is unknown")

    class Meta:
        db_table = "agent_daily_stats"
        indexes = [models.Index(fields=["date"], name="idx_agent_daily_date")]

    def __str__(self):
        return f"{self.agent_id} {self.date}"


class ShortSums(SpanDetails):
    """The columns that hours, and days of the whole site, sum up."""

    turn_count = Count(default=0)
    error_count = Count(default=0)
    total_tokens = Count(default=0)
    cost_usd = models.FloatField(null=True, help_text="as of a day of an agent")
    unpriced_tokens = Count(default=0)

    class Meta:
        abstract = True


class AgentHour(ShortSums):
    """One agent in one UTC hour of its last days with activity.

    It is rebuilt from the agent's records and turns.
    """

    pk = models.CompositePrimaryKey("agent_id", "span")
    agent_id = PlainText()
    span = PlainText(help_text="YYYY-MM-DDTHH")

    class Meta:
        db_table = "agent_hours"
        indexes = [models.Index(fields=["span"], name="idx_agent_hour_span")]

    def __str__(self):
        return f"{self.agent_id} {self.span}"


class WriteCounts(models.Model):
    """Writes to memory files by outcome.

    Rollbacks, which are writes as well, are not counted.
    """

    written_count = Count(default=0, help_text="that are in force")
    rolled_back_count = Count(default=0)
    refused_count = Count(default=0)

    class Meta:
        abstract = True


class MemorySpan(WriteCounts):
    """The memory writes of one agent on one UTC day, or in one recent hour.

    It is rebuilt from the agent's writes.
    """

    pk = models.CompositePrimaryKey("agent_id", "span")
    agent_id = PlainText()
    span = PlainText(help_text="YYYY-MM-DD or YYYY-MM-DDTHH")

    class Meta:
        db_table = "memory_spans"
        indexes = [models.Index(fields=["span"], name="idx_memory_span")]

    def __str__(self):
        return f"{self.agent_id} {self.span}"


class SiteSpan(ShortSums, WriteCounts):
    """All agents together on one UTC day, or in one of the agents' hours.

    It is rebuilt from the rows of the agents.
    """

    span = PlainText(primary_key=True, help_text="YYYY-MM-DD or YYYY-MM-DDTHH")

    class Meta:
        db_table = "site_spans"

    def __str__(self):
        return self.span


class AgentSummary(models.Model):
    """One agent in one row, for pages that compare agents; rebuilt after each import."""

    agent_id = PlainText(primary_key=True, shown="api")
    session_count = Count(default=0, shown="api")
    turn_count = Count(default=0, shown="api")
    error_count = Count(default=0, shown="api")
    total_tokens = Count(default=0, shown="api")
    cost_usd = Number(null=True, shown="api", help_text="US dollars of calls whose cost is known; null: of none")
    unpriced_tokens = Count(default=0, shown="api", help_text="tokens of calls whose cost is unknown")
    rejected_count = Count(default=0, shown="api")
    unknown_envelope_count = Count(default=0, help_text="records with an envelope that is not understood", shown="")
    last_activity_at = EpochMs(null=True, shown="api")
    last_collected_at = EpochMs(null=True, shown="api")
    has_repeats = Flag(default=False, help_text="some records are repeated from another session", shown="")

    class Meta:
        db_table = "agent_summaries"

    def __str__(self):
        return self.agent_id


class NewestSession(models.Model):
    """One of the newest sessions of an agent, for the first page.

    It is rebuilt whenever the agent's file changes.
    """

    pk = models.CompositePrimaryKey("agent_id", "session_id")
    agent_id = PlainText()
    session_id = PlainText()
    last_activity_at = EpochMs()
    title = SpeechText(default="")
    channel_id = PlainText(default="")
    error_count = Count(default=0)
    has_parents = models.BooleanField(default=False, help_text="it may repeat records of other sessions")
    words = SpeechText(default="", help_text="how the last reply begins, or what waits for one")
    speaker = PersonText(default="", help_text="who asked last")

    class Meta:
        db_table = "newest_sessions"
        indexes = [models.Index(fields=["last_activity_at"], name="idx_newest_session_time")]

    def __str__(self):
        return f"{self.agent_id}/{self.session_id}"


class NewestWrite(models.Model):
    """One of the last writes that changed a memory file, with a few of its lines.

    It is rebuilt with the sums of writes.
    """

    pk = models.CompositePrimaryKey("agent_id", "audit_id")
    agent_id = PlainText()
    audit_id = PlainText()
    created_at = EpochMs()
    file_name = PlainText(default="")
    author = PersonText(default="", help_text="who rolled back, whose message it came from, or what wrote it")
    lines_json = SpeechText(default="[]", help_text="pairs of + or - and the beginning of the line")
    lines = JsonProperty("lines_json", list)

    class Meta:
        db_table = "newest_writes"
        indexes = [models.Index(fields=["created_at"], name="idx_newest_write_time")]

    def __str__(self):
        return f"{self.agent_id}/{self.audit_id}"


class MemoryStanding(models.Model):
    """The standing of one memory file of an agent with OpenClaw, as of the last import."""

    id = PlainText(primary_key=True, help_text="<agent>/<file>", shown="")
    agent_id = PlainText(shown="api file")
    file_name = PlainText(shown="api file")
    state = PlainText(shown="api file")
    rank = Count(help_text="the worst state is 0", shown="")
    raw_chars = Count(null=True, shown="api file", help_text="characters of the file, as OpenClaw counts them")
    injected_chars = Count(null=True, shown="api file", help_text="of these in the prompt; null: no report lists it")
    lost_chars = Count(default=0, shown="api file")
    since = EpochMs(null=True, shown="api file", help_text="when OpenClaw saw the write that its record names")
    session_id = PlainText(default="", shown="api file")
    session_key = PersonText(default="", shown="api file")
    record_hash = PlainText(default="", shown="api file")
    record_class = PlainText(default="", shown="api file")
    is_equal = Flag(null=True, shown="api file", help_text="whether the file has the recorded hash; null: no record")
    reported_at = EpochMs(null=True, shown="api file")
    noted_at = EpochMs(shown="api file")

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
