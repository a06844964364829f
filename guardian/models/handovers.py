"""Changes of memory files that were handed to the agents themselves."""

from django.db import models
from django.db.models import Q
from django.urls import reverse

from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    Flag,
    OperatorText,
    PersonText,
    PlainText,
    SpeechBytes,
    SpeechText,
)


class Handover(models.Model):
    """One change of a memory file that was handed to its agent, and its outcome."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"  # the command was started, or is about to be
        ENDED = "ended"

    class Outcome(models.TextChoices):
        NONE = ""  # not known yet
        DONE = "done"  # the file has the wanted content, and OpenClaw's record names it as the agent's
        UNCHANGED = "unchanged"  # the agent ended, and the file is as it was
        OTHER = "other"  # the file has other content
        UNTRUSTED = "untrusted"  # the wanted content, which OpenClaw does not trust
        UNRECORDED = "unrecorded"  # the wanted content, which OpenClaw's record does not name
        TIMED_OUT = "timed_out"  # the agent may still carry out the change, as in the two below
        CANCELED = "canceled"
        INTERRUPTED = "interrupted"  # our process ended
        FAILED = "failed"  # the command failed
        NOT_STARTED = "not_started"  # the file or its record had changed before the command was started

    id = PlainText(primary_key=True, shown="api")
    file_name = PlainText(shown="api")
    audit_id = PlainText(null=True, shown="api", help_text="the write that is rolled back")
    hunk = Count(null=True, help_text="only this change of it, from 0", shown="")
    run_id = PlainText(null=True, shown="api", help_text="the proposal that is written")
    way = PlainText(default="", help_text="of a rollback, as in rollbacks", shown="")
    restored_snapshot_id = PlainText(null=True, help_text="of a rollback: the version that comes back", shown="")
    own_audit_id = PlainText(shown="api", help_text="the write that the change is, once it is done")
    now_hash = PlainText(help_text="sha256 of the file when this was asked for", shown="")
    before_hash = PlainText(shown="api", help_text="sha256 of what the agent changes, which OpenClaw's record names")
    wanted_hash = PlainText(shown="api", help_text="sha256 of what the file shall hold")
    before_zstd = SpeechBytes(null=True, shown="")
    wanted_zstd = SpeechBytes(null=True, help_text="gone, as before_zstd, once the change is done", shown="")
    puts_back = Flag(default=False, shown="api", help_text="what OpenClaw's record names is put back first")
    reason = OperatorText(default="", shown="api")
    asked_by = PersonText(shown="api")
    state = PlainText(choices=State.choices, default=State.QUEUED, shown="api")
    outcome = PlainText(choices=Outcome.choices, default="", blank=True, shown="api")
    answer = SpeechText(default="", shown="api", help_text="what the command printed; its beginning")
    created_at = EpochMs(shown="api")
    started_at = EpochMs(null=True, shown="api")
    ended_at = EpochMs(null=True, shown="api")

    class Meta:
        db_table = "guardian_handovers"
        indexes = [
            models.Index(fields=["created_at", "id"], name="idx_handover_created"),
            models.Index(fields=["file_name"], name="idx_handover_open", condition=~Q(state="ended")),
            models.Index(fields=["audit_id"], name="idx_handover_audit", condition=Q(audit_id__isnull=False)),
            models.Index(fields=["own_audit_id"], name="idx_handover_own"),
            models.Index(fields=["run_id"], name="idx_handover_run", condition=Q(run_id__isnull=False)),
        ]

    def __str__(self):
        return f"{self.id} {self.state}"

    def get_absolute_url(self):
        return reverse("guardian:handover_detail", args=[self._state.db.removeprefix("agent_"), self.id])
