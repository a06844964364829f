"""What spans agents: people, jobs, schedules, and sums that pages compare agents with."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.urls import reverse

from agents import clock
from agents.fields import Count, EpochMs

from . import browsers
from .background_models import DeliveryQueueEntry, FlowRun, TaskRun  # noqa: F401 - Django looks for models here


class User(AbstractUser):
    """A person. One of four roles; each may do what the ones before it may."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        LABELLER = "labeller"
        OPERATOR = "operator"
        ADMIN = "admin"

    RANK = {role: rank for rank, role in enumerate(("viewer", "labeller", "operator", "admin"))}

    role = models.TextField(choices=Role.choices, default=Role.VIEWER)
    session_epoch = Count(default=0, help_text="raised to end every session of this person for good")
    role_limit = None  # set while a token speaks for this person: the role it carries at most
    token = None  # and the token itself

    class Meta:
        db_table = "users"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "labeller", "operator", "admin"]), name="user_role"
            )
        ]

    def get_session_auth_hash(self):
        """What a session must know to be this person's: the password, and that nobody has ended it."""
        return f"{super().get_session_auth_hash()}.{self.session_epoch}"

    def get_session_auth_fallback_hash(self):
        """The same for keys that Django still accepts after a change of keys."""
        return (f"{known}.{self.session_epoch}" for known in super().get_session_auth_fallback_hash())

    def has_role(self, role):
        """Whether this person's role is `role` or one above it."""
        held = min(self.RANK[self.role], self.RANK[self.role_limit or self.role])
        return self.is_active and held >= self.RANK[role]


class ApiToken(models.Model):
    """A key for programs, `oc_<prefix>_<secret>`; only a hash of it is kept."""

    id = models.TextField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.TextField()
    prefix = models.TextField(unique=True)
    secret_sha256 = models.TextField()
    role = models.TextField(choices=User.Role.choices)
    created_at = EpochMs()
    last_used_at = EpochMs(null=True)
    expires_at = EpochMs(null=True, help_text="null: never")
    revoked_at = EpochMs(null=True)

    class Meta:
        db_table = "api_tokens"

    def __str__(self):
        return f"{self.name} ({self.prefix})"

    @property
    def is_out_of_date(self):
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= clock.now_ms()


class OneTimeLink(models.Model):
    """An address that works once: to make the first admin, or to sign in as `user`."""

    token_sha256 = models.TextField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, null=True)
    created_at = EpochMs()
    expires_at = EpochMs()
    used_at = EpochMs(null=True)

    class Meta:
        db_table = "one_time_links"

    def __str__(self):
        return f"link for {self.user or 'the first admin'}"


class Invitation(models.Model):
    """An address that works once: whoever opens it makes their own account, with the role it was made for."""

    id = models.TextField(primary_key=True)
    token_sha256 = models.TextField(unique=True)
    role = models.TextField(choices=User.Role.choices)
    note = models.TextField(default="", help_text="whom it is for, in the words of whoever made it")
    made_by = models.TextField()
    created_at = EpochMs()
    expires_at = EpochMs()
    used_at = EpochMs(null=True)
    used_by = models.TextField(default="")
    revoked_at = EpochMs(null=True)

    class Meta:
        db_table = "invitations"
        indexes = [models.Index(fields=["created_at", "id"], name="idx_invitation_created")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "labeller", "operator", "admin"]), name="invitation_role"
            )
        ]

    def __str__(self):
        return f"invitation {self.id} ({self.role})"


class SignIn(models.Model):
    """One browser that a person is or was signed in with. Kept for a while after it has ended."""

    class End(models.TextChoices):
        SIGNED_OUT = "signed_out"
        ENDED = "ended"
        REPLACED = "replaced"
        RESET = "password_changed"
        DEACTIVATED = "deactivated"
        EXPIRED = "expired"

    id = models.TextField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="sign_ins")
    session_key = models.TextField(null=True, unique=True, help_text="of Django's session; null once it has ended")
    how = models.TextField(help_text="password, link, first_admin or invitation")
    address = models.TextField(default="")
    user_agent = models.TextField(default="")
    created_at = EpochMs()
    last_seen_at = EpochMs()
    expires_at = EpochMs()
    ended_at = EpochMs(null=True)
    ended_because = models.TextField(default="", choices=[("", ""), *End.choices])

    class Meta:
        db_table = "sign_ins"
        indexes = [
            models.Index(fields=["user", "created_at", "id"], name="idx_sign_in_user"),
            models.Index(fields=["ended_at"], name="idx_sign_in_ended"),
            models.Index(fields=["expires_at"], name="idx_sign_in_expires"),
        ]

    def __str__(self):
        return f"sign-in {self.id} of {self.user_id}"

    @property
    def browser(self):
        """Browser and system in words."""
        return browsers.in_words(self.user_agent)


class JobRun(models.Model):
    """One run of a job: the truth about it. django-tasks only delivers its id."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        FINISHED = "finished"
        REFUSED = "refused"
        FAILED = "failed"

    ENDED = (State.FINISHED, State.REFUSED, State.FAILED)

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

    class Meta:
        db_table = "job_runs"
        indexes = [
            models.Index(fields=["created_at", "id"], name="idx_job_created"),
            models.Index(fields=["state", "heartbeat_at"], name="idx_job_state"),
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


class CronJob(models.Model):
    """A scheduled job of an OpenClaw home."""

    id = models.TextField(primary_key=True)
    agent_id = models.TextField()
    name = models.TextField(default="")
    enabled = models.BooleanField(default=True)
    prompt = models.TextField(default="")
    schedule_json = models.TextField(default="{}")
    created_at = EpochMs(null=True)
    updated_at = EpochMs(null=True)
    next_run_at = EpochMs(null=True)
    job_json = models.TextField(help_text="the definition as it was found")

    class Meta:
        db_table = "cron_jobs"
        indexes = [models.Index(fields=["agent_id", "name"], name="idx_cron_agent")]

    def __str__(self):
        return self.name or self.id


class CronRunLog(models.Model):
    """One run of a scheduled job."""

    pk = models.CompositePrimaryKey("job_id", "seq")
    job_id = models.TextField()
    seq = Count(help_text="byte offset in the run log; of a run in a database, the moment it began")
    agent_id = models.TextField()
    ts = EpochMs()
    status = models.TextField(default="")
    error = models.TextField(default="")
    summary = models.TextField(default="")
    duration_ms = Count(null=True)
    session_id = models.TextField(null=True)
    entry_json = models.TextField()

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

    run_id = models.TextField(primary_key=True)
    child_session_key = models.TextField()
    requester_session_key = models.TextField(default="")
    controller_session_key = models.TextField(null=True)
    created_at = EpochMs()
    ended_at = EpochMs(null=True)
    cleanup_handled = models.BooleanField(default=False)
    payload_json = models.TextField()
    # Ours.
    agent_id = models.TextField(help_text="the agent that asked for it")

    class Meta:
        db_table = "subagent_runs"
        indexes = [
            models.Index(fields=["child_session_key"], name="idx_subagent_child"),
            models.Index(fields=["requester_session_key"], name="idx_subagent_requester"),
            models.Index(fields=["agent_id", "created_at", "run_id"], name="idx_subagent_agent"),
        ]

    def __str__(self):
        return self.run_id


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
    cost_usd = models.FloatField(default=0)

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
    cost_usd = models.FloatField(default=0)
    rejected_count = Count(default=0)
    last_activity_at = EpochMs(null=True)
    last_collected_at = EpochMs(null=True)

    class Meta:
        db_table = "agent_summaries"

    def __str__(self):
        return self.agent_id


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
