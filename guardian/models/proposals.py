"""Runs of our own guardian: their steps, and the proposed changes of files."""

from django.db import models
from django.db.models import Q
from django.urls import reverse

from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    Flag,
    Number,
    OperatorText,
    PersonText,
    PlainText,
    SpeechBytes,
    SpeechText,
)
from openclaw_web.sqlite.json_columns import JsonProperty


class RunManager(models.Manager):
    """Manager of runs that handle facts; those of tests count nowhere."""

    def get_queryset(self):
        return super().get_queryset().filter(test_id=None)


class GuardianRun(models.Model):
    """One fact that our guardian handles; while `proposed`, its change waits for a person.

    A fact whose run `stopped` is tried again; every other end is final. `objects` leaves out the runs of tests, whose
    changes wait for nobody.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        STOPPED = "stopped"  # no answer, no tokens left, or its process died
        PROPOSED = "proposed"
        WRITTEN = "written"
        DECLINED = "declined"  # by a person
        REFUSED = "refused"  # by the model, or by a rule
        SKIPPED = "skipped"  # the file holds it already
        FAILED = "failed"  # the answer of the model could not be used

    id = PlainText(primary_key=True, shown="api")
    decision_id = PlainText(null=True, shown="api")
    turn_id = PlainText(null=True, shown="api")
    session_id = PlainText(null=True, shown="api")
    session_key = PersonText(null=True, shown="")
    target_file = PlainText(shown="api")
    candidate_fact = SpeechText(shown="api")
    retry_of = PlainText(null=True, shown="api", help_text="the write that was asked for again")
    rule_id = PlainText(null=True, shown="api", help_text="the correction that changed or refused it")
    llm_model = PlainText(default="", shown="api")
    prompt_version = PlainText(default="", shown="")
    state = PlainText(choices=State.choices, shown="api")
    reason = SpeechText(default="", shown="api")
    note = OperatorText(default="", shown="api", help_text="why it was not written unattended")
    before_hash = PlainText(null=True, help_text="of the file when the model was asked; null: there was none", shown="")
    before_zstd = SpeechBytes(null=True, shown="")
    after_zstd = SpeechBytes(null=True, help_text="what the model would write; gone once it is written", shown="")
    lines_added = Count(default=0, shown="api")
    lines_removed = Count(default=0, shown="api")
    step_count = Count(default=0, shown="api")
    llm_latency_ms = Count(default=0, shown="api")
    audit_id = PlainText(null=True, shown="api", help_text="the write that it became")
    started_by = PersonText(shown="api")
    decided_by = PersonText(default="", shown="api")
    created_at = EpochMs(shown="api")
    decided_at = EpochMs(null=True, shown="api")
    test_id = PlainText(null=True, help_text="the test that it belongs to", shown="")

    every = models.Manager()
    objects = RunManager()

    class Meta:
        db_table = "guardian_runs"
        indexes = [
            models.Index(fields=["created_at", "id"], name="idx_guardian_run_created"),
            models.Index(fields=["state", "created_at", "id"], name="idx_guardian_run_state"),
            models.Index(fields=["decision_id"], name="idx_guardian_run_asked", condition=Q(decision_id__isnull=False)),
            models.Index(fields=["test_id", "state"], name="idx_guardian_run_test", condition=Q(test_id__isnull=False)),
        ]

    def __str__(self):
        return f"{self.id} {self.state}"

    def get_absolute_url(self):
        return reverse("guardian:proposal_detail", args=[self._state.db.removeprefix("agent_"), self.id])


class GuardianStep(models.Model):
    """One call of a model and the tool that it chose, stored before the request."""

    class Outcome(models.TextChoices):
        SENT = "sent"  # the end is not known: the process died, or still waits
        ANSWERED = "answered"
        FAILED = "failed"

    id = PlainText(primary_key=True, shown="")
    run = models.ForeignKey(GuardianRun, models.CASCADE, related_name="steps", db_index=False)
    number = Count(shown="api")
    attempt = Count(default=1, shown="api")
    outcome = PlainText(choices=Outcome.choices, shown="api")
    tool = PlainText(default="", shown="api")
    arguments_json = SpeechText(default="", shown="api", help_text="long texts are cut")
    arguments = JsonProperty("arguments_json")
    answer = SpeechText(default="", shown="api", help_text="what the tool answered; long texts are cut")
    failure = PlainText(default="", shown="api", help_text="what kind of failure, one word")
    reason = OperatorText(default="", shown="api", help_text="the failure, in words")
    llm_latency_ms = Count(null=True, shown="api")
    prompt_tokens = Count(null=True, shown="api")
    completion_tokens = Count(null=True, shown="api")
    reserved_tokens = Count(default=0, help_text="taken from the day's limit before it was sent", shown="")
    cost_usd = Number(null=True, shown="api")
    created_at = EpochMs(shown="api")

    class Meta:
        db_table = "guardian_steps"
        indexes = [
            models.Index(fields=["run", "created_at"], name="idx_guardian_step_run"),
            models.Index(fields=["created_at"], name="idx_guardian_step_created"),
        ]

    def __str__(self):
        return f"{self.run_id} {self.number}"


class GuardianTest(models.Model):
    """A test of a model or prompt: it is asked again about the writes of a regression set. No file changes."""

    id = PlainText(primary_key=True)
    set_id = PlainText(help_text="the version of the regression set")
    llm_model = PlainText()
    prompt = OperatorText(help_text="its text")
    started_by = PersonText()
    created_at = EpochMs()

    class Meta:
        db_table = "guardian_tests"

    def __str__(self):
        return self.id


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
            models.Index(fields=["file_name"], name="idx_handover_open", condition=~Q(state="ended")),
            models.Index(fields=["audit_id"], name="idx_handover_audit", condition=Q(audit_id__isnull=False)),
            models.Index(fields=["own_audit_id"], name="idx_handover_own"),
            models.Index(fields=["run_id"], name="idx_handover_run", condition=Q(run_id__isnull=False)),
        ]

    def __str__(self):
        return f"{self.id} {self.state}"

    def get_absolute_url(self):
        return reverse("guardian:handover_detail", args=[self._state.db.removeprefix("agent_"), self.id])
