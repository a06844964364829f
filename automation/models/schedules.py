"""Scheduled jobs and sub-agents of OpenClaw."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Flag, PersonText, PlainText, SpeechText
from openclaw_web.sqlite.json_columns import JsonProperty


class CronJob(models.Model):
    """A scheduled job of an OpenClaw home."""

    id = PlainText(primary_key=True, shown="api")
    agent_id = PlainText(shown="")
    name = SpeechText(default="", shown="api")
    enabled = Flag(default=True, shown="api")
    prompt = SpeechText(default="", shown="")
    schedule_json = PlainText(default="{}", shown="")
    schedule = JsonProperty("schedule_json")
    created_at = EpochMs(null=True, shown="api")
    updated_at = EpochMs(null=True, shown="api")
    next_run_at = EpochMs(null=True, shown="api")
    job_json = SpeechText(help_text="the definition as it was found", shown="")
    definition = JsonProperty("job_json")

    class Meta:
        db_table = "cron_jobs"
        indexes = [models.Index(fields=["agent_id", "name", "id"], name="idx_cron_agent")]

    def __str__(self):
        return self.name or self.id


class CronRunLog(models.Model):
    """One run of a scheduled job."""

    pk = models.CompositePrimaryKey("job_id", "seq")
    job_id = PlainText(shown="")
    seq = Count(shown="api", help_text="byte offset in the run log; of a run in a database, the moment it began")
    agent_id = PlainText(shown="")
    ts = EpochMs(shown="api", help_text="end time")
    status = PlainText(default="", shown="api")
    error = SpeechText(default="", shown="api")
    summary = SpeechText(default="", shown="api")
    duration_ms = Count(null=True, shown="api")
    session_id = PlainText(null=True, shown="api")
    entry_json = SpeechText(shown="")
    entry = JsonProperty("entry_json")

    class Meta:
        db_table = "cron_run_logs"
        indexes = [
            models.Index(fields=["agent_id", "ts"], name="idx_cron_run_ts"),
            models.Index(fields=["job_id", "ts", "seq"], name="idx_cron_run_job"),
            models.Index(fields=["session_id"], name="idx_cron_run_session"),
        ]

    def __str__(self):
        return f"{self.job_id} {self.ts}"


class SubagentRun(models.Model):
    """One sub-agent run (columns of the database-first state spec)."""

    run_id = PlainText(primary_key=True)
    child_session_key = PersonText()
    requester_session_key = PersonText(default="")
    controller_session_key = PersonText(null=True)
    created_at = EpochMs()
    ended_at = EpochMs(null=True)
    cleanup_handled = models.BooleanField(default=False)
    payload_json = SpeechText()
    payload = JsonProperty("payload_json")
    # Ours.
    agent_id = PlainText(help_text="the agent that asked for it")

    class Meta:
        db_table = "subagent_runs"
        indexes = [
            models.Index(fields=["child_session_key", "created_at", "run_id"], name="idx_subagent_child"),
            models.Index(fields=["requester_session_key", "created_at", "run_id"], name="idx_subagent_requester"),
            models.Index(fields=["agent_id", "created_at", "run_id"], name="idx_subagent_agent"),
        ]

    def __str__(self):
        return self.run_id
