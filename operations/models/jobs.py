"""Long work and its results, and what requests answered."""

from django.db import models
from django.urls import reverse

from agents.fields import Count, EpochMs

from .people import User


class JobRun(models.Model):
    """One run of a job: the truth about it, and while it is queued its place in the queue."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        FINISHED = "finished"
        REFUSED = "refused"
        FAILED = "failed"
        CANCELLED = "cancelled"

    ENDED = (State.FINISHED, State.REFUSED, State.FAILED, State.CANCELLED)

    id = models.TextField(primary_key=True)
    kind = models.TextField()
    params_json = models.TextField(default="{}")
    state = models.TextField(choices=State.choices, default=State.QUEUED)
    attempts = Count(default=0)
    done = Count(default=0)
    total = Count(null=True, help_text="null: not known yet")
    message = models.TextField(default="", help_text="what it is doing, or the sentence it ended with")
    log = models.TextField(default="")
    result_json = models.TextField(null=True)
    started_by = models.TextField(default="")
    worker = models.TextField(default="")
    created_at = EpochMs()
    started_at = EpochMs(null=True)
    heartbeat_at = EpochMs(null=True)
    finished_at = EpochMs(null=True)
    cancel_requested_at = EpochMs(null=True, help_text="when somebody asked it to end before it is done")
    cancel_requested_by = models.TextField(default="")

    class Meta:
        db_table = "job_runs"
        indexes = [
            models.Index(fields=["created_at", "id"], name="idx_job_created"),
            # Of a state and a kind: what is under way is found beside a million that have ended.
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
        return reverse("operations:job_detail", args=[self.id])

    @property
    def has_ended(self):
        return self.state in self.ENDED

    @property
    def duration_ms(self):
        """How long it took, or was last seen at work; None before it has started."""
        last_seen = self.finished_at or self.heartbeat_at
        return last_seen - self.started_at if self.started_at and last_seen else None

    @property
    def percent(self):
        """How far it is, 0 to 100, or None while the total is not known."""
        if self.state == self.State.FINISHED:
            return 100
        return min(100, self.done * 100 // self.total) if self.total else None


class IdempotencyKey(models.Model):
    """A write of the API that its sender may repeat: what was asked, and for a day what was answered."""

    id = models.AutoField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, db_index=False)
    key = models.TextField()
    fingerprint = models.TextField(help_text="sha256 of method, address and body")
    claim = models.TextField(help_text="who carries it out")
    leased_until = EpochMs(help_text="when whoever carries it out is taken for dead")
    status = Count(null=True, help_text="null: no answer yet")
    content_type = models.TextField(default="")
    body_zstd = models.BinaryField(null=True, help_text="null: none yet, or it held a secret")
    created_at = EpochMs()

    class Meta:
        db_table = "idempotency_keys"
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_once")]
        indexes = [models.Index(fields=["created_at"], name="idx_idempotency_created")]

    def __str__(self):
        return self.key


class BackupRun(models.Model):
    """One backup (columns of the database-first state spec): where it is, what is in it, and how it was proven."""

    class Status(models.TextChoices):
        RUNNING = "running"
        VERIFIED = "verified"
        INCOMPLETE = "incomplete"
        FOUND = "found"
        DAMAGED = "damaged"
        FAILED = "failed"
        GONE = "gone"

    USABLE = (Status.VERIFIED, Status.INCOMPLETE, Status.FOUND, Status.DAMAGED)

    id = models.TextField(primary_key=True)
    created_at = EpochMs()
    archive_path = models.TextField(default="")
    status = models.TextField(choices=Status.choices, default=Status.RUNNING)
    manifest_json = models.TextField(default="{}")
    # Ours.
    archive_bytes = Count(null=True)
    archive_sha256 = models.TextField(default="", help_text="empty: not read in full here")
    made_by = models.TextField(default="")
    message = models.TextField(default="", help_text="why it failed, is damaged or is incomplete")
    finished_at = EpochMs(null=True)
    verified_at = EpochMs(null=True, help_text="when every byte was last read and was right")
    proven_at = EpochMs(null=True, help_text="when it was last restored")
    proven_ms = Count(null=True, help_text="how long that took")

    class Meta:
        db_table = "backup_runs"
        indexes = [
            models.Index(fields=["created_at", "id"], name="idx_backup_created"),
            models.Index(fields=["proven_at"], name="idx_backup_proven"),
        ]

    def __str__(self):
        return self.id
