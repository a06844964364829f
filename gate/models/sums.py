"""Sums of decisions and verdicts, derived when those are written, and rebuilt at any time."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, PersonText, PlainText
from openclaw_web.sqlite.json_columns import JsonProperty

from .decisions import MemoryGateDecision


class MemoryGateStats(models.Model):
    """One UTC day (Reflection spec REQ-002 `memory_gate_stats`)."""

    date = PlainText(primary_key=True, help_text="YYYY-MM-DD, UTC")
    session_count = Count(null=True)
    total_decisions = Count(null=True)
    no_write_count = Count(null=True)
    update_memory_count = Count(null=True)
    update_user_count = Count(null=True)
    update_soul_count = Count(null=True)
    update_identity_count = Count(null=True)
    update_tools_count = Count(null=True)
    avg_latency_ms = Count(null=True)
    updated_at = EpochMs(null=True)

    class Meta:
        db_table = "memory_gate_stats"

    def __str__(self):
        return self.date


class GateSums(models.Model):
    """Counts and sums of decisions, and a histogram of their latencies."""

    total = Count(default=0)
    no_write_count = Count(default=0)
    update_memory_count = Count(default=0)
    update_user_count = Count(default=0)
    update_soul_count = Count(default=0)
    update_identity_count = Count(default=0)
    update_tools_count = Count(default=0)
    unseen_count = Count(default=0, help_text="decisions whose gate had no message of the user")
    failed_count = Count(default=0, help_text="calls that failed; only their cost is in another number")
    malformed_count = Count(default=0, help_text="the same of calls whose answer was no decision")
    latency_count = Count(default=0, help_text="decisions whose latency is known")
    latency_sum_ms = Count(default=0)
    latency_json = PlainText(default="{}", help_text="JSON: bucket -> decisions, see gate.statistics.latency")
    latencies = JsonProperty("latency_json", is_sorted=True)
    token_count = Count(default=0, help_text="decisions whose tokens are known")
    prompt_tokens = Count(default=0)
    completion_tokens = Count(default=0)
    cost_count = Count(default=0, help_text="decisions whose cost is known")
    cost_nano_usd = Count(default=0, help_text="a whole number, so that any order of adding gives the same")

    class Meta:
        abstract = True


class GateHour(GateSums):
    """The decisions of one hour by one model with one prompt."""

    pk = models.CompositePrimaryKey("hour", "llm_model", "prompt_version")
    hour = EpochMs(help_text="its first millisecond")
    llm_model = PlainText(help_text="empty: not known")
    prompt_version = PlainText(help_text="empty: not known")

    class Meta:
        db_table = "gate_hours"

    def __str__(self):
        return f"{self.hour} {self.llm_model} {self.prompt_version}"


class GateDay(GateSums):
    """The decisions of one UTC day by one model with one prompt.

    Pages of several weeks read few of these rows.
    """

    pk = models.CompositePrimaryKey("day", "llm_model", "prompt_version")
    day = EpochMs(help_text="its first millisecond")
    llm_model = PlainText(help_text="empty: not known")
    prompt_version = PlainText(help_text="empty: not known")

    class Meta:
        db_table = "gate_days"

    def __str__(self):
        return f"{self.day} {self.llm_model} {self.prompt_version}"


class GateSessionSums(GateSums):
    """The decisions of one session."""

    session_id = PersonText(primary_key=True)
    first_at = EpochMs()
    last_at = EpochMs()

    class Meta:
        db_table = "gate_session_sums"
        indexes = [
            models.Index(fields=["last_at", "session_id"], name="idx_gate_session_last"),
        ]

    def __str__(self):
        return self.session_id


class GateStaleSum(models.Model):
    """An hour or a session whose sums are to be computed anew, or `all` of them."""

    pk = models.CompositePrimaryKey("kind", "key")
    kind = PlainText(help_text="hour, session, all")
    key = PersonText(help_text="the first millisecond of the hour, or the session's ID")

    class Meta:
        db_table = "gate_stale_sums"

    def __str__(self):
        return f"{self.kind} {self.key}"


class GateVerdictDay(models.Model):
    """The judged decisions of one UTC day, by one model with one prompt."""

    pk = models.CompositePrimaryKey("day", "decision", "verdict", "llm_model", "prompt_version")
    day = EpochMs(help_text="its first millisecond")
    decision = PlainText(choices=MemoryGateDecision.Decision.choices)
    verdict = PlainText(choices=MemoryGateDecision.Verdict.choices)
    llm_model = PlainText(help_text="empty: not known")
    prompt_version = PlainText(help_text="empty: not known")
    total = Count()

    class Meta:
        db_table = "gate_verdict_days"

    def __str__(self):
        return f"{self.day} {self.decision} {self.verdict}"


class GateVerdictsState(models.Model):
    """How far the verdicts were copied from the samples; without a row, none were."""

    id = PlainText(primary_key=True, default="verdicts")
    labels_read = Count(default=0, help_text="the place of the last row of sample_labels that was read")

    class Meta:
        db_table = "gate_verdicts_state"

    def __str__(self):
        return str(self.labels_read)
