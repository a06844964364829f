"""The table of jobs."""

from django.conf import settings
from django.db import models
from django.urls import reverse

from openclaw_web import sentences
from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    Flag,
    OperatorText,
    PersonText,
    PlainText,
    SentenceText,
    SpeechText,
)
from openclaw_web.sqlite.json_columns import JsonProperty


class JobResult(JsonProperty):
    """The result of a job, whose message is in the language of its reader, as that of the job."""

    def _read(self, row):
        result = super()._read(row)
        is_read = row.state == row.State.FINISHED and row.message and "message" in result
        return result | {"message": row.message} if is_read else result


class JobRun(models.Model):
    """One run of a job, and its place in the queue until it starts."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        FINISHED = "finished"
        REFUSED = "refused"
        FAILED = "failed"
        CANCELLED = "cancelled"
        STOPPED = "stopped"  # with the terminal it ran in; a person may start it again

    ENDED = (State.FINISHED, State.REFUSED, State.FAILED, State.CANCELLED, State.STOPPED)

    id = PlainText(primary_key=True, shown="api file")
    kind = PlainText(shown="api file")
    params_json = SpeechText(default="{}", shown="")
    params = JsonProperty("params_json", is_sorted=True)
    state = PlainText(choices=State.choices, default=State.QUEUED, shown="api file")
    attempts = Count(default=0, shown="api")
    done = Count(default=0, shown="api file")
    total = Count(null=True, shown="api file", help_text="null: not known yet")
    message = SentenceText(default="", shown="api file", help_text="what it is doing, or the sentence it ended with")
    log = OperatorText(default="", shown="")
    result_json = OperatorText(null=True, shown="")
    result = JobResult("result_json")
    started_by = PersonText(default="", shown="api file")
    language = PlainText(default="", help_text="of its log: that of whoever started it; empty: English", shown="")
    worker = PlainText(default="", shown="")
    ends_with_process = Flag(default=False, help_text="nobody goes on with it when its process is gone", shown="")
    created_at = EpochMs(shown="api file")
    started_at = EpochMs(null=True, shown="api file")
    heartbeat_at = EpochMs(null=True, shown="api")
    finished_at = EpochMs(null=True, shown="api file")
    cancel_requested_at = EpochMs(null=True, shown="api", help_text="when somebody asked it to end before it is done")
    cancel_requested_by = PersonText(default="", shown="api")

    class Meta:
        db_table = "job_runs"
        indexes = [
            models.Index(fields=["created_at", "id"], name="idx_job_created"),
            # By state and kind: finds the jobs under way among a million that have ended.
            models.Index(fields=["state", "kind", "created_at", "id"], name="idx_job_state"),
            # A filter and the order of the list in one index.
            models.Index(fields=["kind", "created_at", "id"], name="idx_job_kind"),
            models.Index(fields=["state", "created_at", "id"], name="idx_job_state_created"),
            models.Index(fields=["started_by", "created_at", "id"], name="idx_job_by"),
            models.Index(fields=["started_by", "kind", "created_at", "id"], name="idx_job_by_kind"),
        ]

    def __str__(self):
        return f"{self.kind} {self.id}"

    def get_absolute_url(self):
        return reverse("jobs:job_detail", args=[self.id])

    def in_its_language(self):
        """Use the language of whoever started the job for the sentences of a block."""
        return sentences.record_sentences(self.language or settings.LANGUAGE_CODE)

    @property
    def has_ended(self):
        return self.state in self.ENDED

    @property
    def duration_ms(self):
        """The time it took, or up to its last heartbeat; None before it has started."""
        last_seen = self.finished_at or self.heartbeat_at
        return last_seen - self.started_at if self.started_at and last_seen else None

    @property
    def percent(self):
        """The progress from 0 to 100; None while the total is not known."""
        if self.state == self.State.FINISHED:
            return 100
        return min(100, self.done * 100 // self.total) if self.total else None
