"""Scheduled jobs and sub-agents of OpenClaw."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Flag, Plain, Who, Words
from openclaw_web.sqlite.json_columns import Decoded


class CronJob(models.Model):
    """A scheduled job of an OpenClaw home."""

    id = Plain(primary_key=True, shown="api")
    agent_id = Plain(shown="")
    name = Words(default="", shown="api")
    enabled = Flag(default=True, shown="api")
    prompt = Words(default="", shown="")
    schedule_json = Plain(default="{}", shown="")
    schedule = Decoded("schedule_json")
    created_at = EpochMs(null=True, shown="api")
    updated_at = EpochMs(null=True, shown="api")
    next_run_at = EpochMs(null=True, shown="api")
    job_json = Words(help_text="the definition as it was found", shown="")
    definition = Decoded("job_json")

    class Meta:
        db_table = "cron_jobs"
        indexes = [models.Index(fields=["agent_id", "name", "id"], name="idx_cron_agent")]

    def __str__(self):
        return self.name or self.id


class CronRunLog(models.Model):
    """One run of a scheduled job."""

    pk = models.CompositePrimaryKey("job_id", "seq")
    job_id = Plain(shown="")
    seq = Count(shown="api", help_text="byte offset in the run log; of a run in a database, the moment it began")
    agent_id = Plain(shown="")
    ts = EpochMs(shown="api", help_text="end time")
    status = Plain(default="", shown="api")
    error = Words(default="", shown="api")
    summary = Words(default="", shown="api")
    duration_ms = Count(null=True, shown="api")
    session_id = Plain(null=True, shown="api")
    entry_json = Words(shown="")
    entry = Decoded("entry_json")

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

    run_id = Plain(primary_key=True)
    child_session_key = Who()
    requester_session_key = Who(default="")
    controller_session_key = Who(null=True)
    created_at = EpochMs()
    ended_at = EpochMs(null=True)
    cleanup_handled = models.BooleanField(default=False)
    payload_json = Words()
    payload = Decoded("payload_json")
    # Ours.
    agent_id = Plain(help_text="the agent that asked for it")

    class Meta:
        db_table = "subagent_runs"
        indexes = [
            models.Index(fields=["child_session_key", "created_at", "run_id"], name="idx_subagent_child"),
            models.Index(fields=["requester_session_key", "created_at", "run_id"], name="idx_subagent_requester"),
            models.Index(fields=["agent_id", "created_at", "run_id"], name="idx_subagent_agent"),
        ]

    def __str__(self):
        return self.run_id
