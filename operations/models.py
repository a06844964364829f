"""The models of backups, of notifications that wait, and of what is taken back."""

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy

from openclaw_web.sqlite.fields import Count, EpochMs, Flag, OperatorText, PersonText, PlainText, SentenceText


class BackupRun(models.Model):
    """One backup with its file, content and restore test.

    The first columns are those of the database-first state spec.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        VERIFIED = "verified"
        INCOMPLETE = "incomplete"
        FOUND = "found"
        DAMAGED = "damaged"
        FAILED = "failed"
        GONE = "gone"

    USABLE = (Status.VERIFIED, Status.INCOMPLETE, Status.FOUND, Status.DAMAGED)

    id = PlainText(primary_key=True, shown="api")
    created_at = EpochMs(shown="api")
    archive_path = OperatorText(default="", shown="api")
    status = PlainText(choices=Status.choices, default=Status.RUNNING, shown="api")
    manifest_json = OperatorText(default="{}", shown="")
    # Columns of OpenClaw Web.
    archive_bytes = Count(null=True, shown="api")
    archive_sha256 = PlainText(default="", shown="api", help_text="empty: not read in full here")
    made_by = PersonText(default="", shown="api")
    message = OperatorText(default="", shown="api", help_text="why it failed, is damaged or is incomplete")
    finished_at = EpochMs(null=True, shown="api")
    verified_at = EpochMs(null=True, shown="api", help_text="when every byte was last read and verified")
    proven_at = EpochMs(null=True, shown="api", help_text="when the backup was last restored")
    proven_ms = Count(null=True, shown="api", help_text="how long that took")

    class Meta:
        db_table = "backup_runs"
        indexes = [
            models.Index(fields=["created_at", "id"], name="idx_backup_created"),
            models.Index(fields=["proven_at"], name="idx_backup_proven"),
        ]

    def __str__(self):
        return self.id


class Notification(models.Model):
    """A message about problems that waits for its receiver; it is removed when it was sent."""

    id = PlainText(primary_key=True, help_text="a ULID; the same in every try, so that receivers recognize a repeat")
    channel = PlainText(help_text="webhook or mail")
    body = OperatorText(help_text="JSON, as it is sent")
    attempts = Count(default=0)
    tried_at = EpochMs(null=True, help_text="when the last try began")
    failure = SentenceText(default="", help_text="why the last try failed; empty once another one got through")

    class Meta:
        db_table = "notifications"

    def __str__(self):
        return self.id


class Remediation(models.Model):
    """One attempt to take back everything that stems from a message; its steps are fixed at the start."""

    id = PlainText(primary_key=True)
    agent_id = PlainText()
    turn_id = PlainText()
    reason = OperatorText()
    started_by = PersonText()
    created_at = EpochMs()

    class Meta:
        db_table = "remediations"
        indexes = [models.Index(fields=["agent_id", "turn_id"], name="idx_remediation_turn")]

    def __str__(self):
        return self.id

    def get_absolute_url(self):
        return reverse("operations:remediation_detail", args=[self.agent_id, self.id])


class RemediationStep(models.Model):
    """One step of a remediation. A problem says why it is not done, or not taken back."""

    class Kind(models.TextChoices):
        REJECT = "reject", gettext_lazy("Reject the sample")
        WRITE = "write", gettext_lazy("Roll back the write")
        NOTE = "note", gettext_lazy("Daily note")
        REVIEW = "review", gettext_lazy("Review the answer")
        RELEASE = "release", gettext_lazy("Mark the release")
        DOWNLOAD = "download", gettext_lazy("Downloaded file")

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"
        LEFT = "left"  # the plan could not take it back
        UNDONE = "undone"

    remediation = models.ForeignKey(Remediation, models.CASCADE, related_name="steps", db_index=False)
    number = Count()
    kind = PlainText(choices=Kind.choices)
    key = PlainText(help_text="id of a sample, write or release; of an answer <session>:<turn number>")
    title = PersonText(help_text="names, never words of a conversation")
    href = PlainText(default="")
    is_handed_over = Flag(default=False, help_text="the agent makes the change")
    puts_back = Flag(default=False, help_text="the version that OpenClaw's record names is put back first")
    seen = PlainText(default="", help_text="hash of the previewed rollback")
    state = PlainText(choices=State.choices, default=State.WAITING)
    problem = SentenceText(default="")
    label_id = PlainText(default="", help_text="the verdict that the step gave")
    at = EpochMs(null=True)

    class Meta:
        db_table = "remediation_steps"
        constraints = [models.UniqueConstraint(fields=["remediation", "number"], name="remediation_step_number")]

    def __str__(self):
        return f"{self.remediation_id} {self.number}"
