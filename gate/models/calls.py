"""Calls of language models, their prompts, replays of decisions with another gate, and regression sets."""

from django.db import models
from django.db.models import Q
from django.urls import reverse

from ledger.models import PlacedQuerySet
from openclaw_web.sqlite.fields import Count, EpochMs, Flag, Number, OperatorText, PersonText, PlainText, SpeechText
from openclaw_web.sqlite.json_columns import JsonProperty

from .decisions import MemoryGateDecision


class GateCall(models.Model):
    """One call of a model for a decision. A call that failed is never a decision."""

    class Outcome(models.TextChoices):
        DECIDED = "decided"
        SENT = "sent"  # its end is not known: the process died, or is still waiting
        FAILED = "failed"  # the endpoint did not answer, or answered with an error
        MALFORMED = "malformed"  # its answer is no decision

    id = PlainText(primary_key=True, shown="api file")
    turn_id = PlainText(null=True, shown="api file")
    session_id = PersonText(shown="api file")
    decision_id = PlainText(null=True, shown="api file")
    replay_id = PlainText(null=True, shown="api file")
    origin = PlainText(choices=MemoryGateDecision.Origin.choices, shown="api file")
    llm_model = PlainText(null=True, shown="api file")
    prompt_version = PlainText(null=True, shown="api file")
    window_hash = PlainText(null=True, shown="")
    attempt = Count(default=1, shown="api file")
    outcome = PlainText(choices=Outcome.choices, shown="api file", help_text="`sent`: how it ended is not known")
    failure = PlainText(default="", shown="api file", help_text="the kind of failure, one word")
    reason = SpeechText(default="", shown="api file", help_text="the failure, in words")
    llm_latency_ms = Count(null=True, shown="api file")
    prompt_tokens = Count(null=True, shown="api file")
    completion_tokens = Count(null=True, shown="api file")
    reserved_tokens = Count(default=0, help_text="taken from the day's limit before it was sent", shown="")
    cost_usd = Number(null=True, shown="api file", help_text="null: not known")
    raw_response = SpeechText(null=True, help_text="or the handle of an artifact that holds it", shown="")
    created_at = EpochMs(shown="api file")

    objects = PlacedQuerySet.as_manager()

    class Meta:
        db_table = "gate_calls"
        indexes = [
            models.Index(fields=["created_at"], name="idx_call_created"),
            models.Index(fields=["outcome", "created_at"], name="idx_call_outcome"),
            models.Index(fields=["llm_model", "created_at"], name="idx_call_model"),
            models.Index(fields=["session_id", "created_at"], name="idx_call_session"),
            models.Index(fields=["turn_id"], name="idx_call_turn"),
            models.Index(fields=["decision_id"], name="idx_call_decision", condition=Q(decision_id__isnull=False)),
            models.Index(fields=["replay_id"], name="idx_call_replay", condition=Q(replay_id__isnull=False)),
        ]

    def __str__(self):
        return f"{self.id} {self.outcome}"


class GatePrompt(models.Model):
    """A prompt of the gate, stored with the first call that was made with it."""

    id = PlainText(primary_key=True, help_text="the first 12 hex digits of the text's sha256")
    text = OperatorText()
    created_at = EpochMs()

    class Meta:
        db_table = "gate_prompts"

    def __str__(self):
        return self.id


class GateReplay(models.Model):
    """A replay: decisions made again by another model or prompt, for comparison.

    They count nowhere else.
    """

    class State(models.TextChoices):
        RUNNING = "running"
        FINISHED = "finished"
        STOPPED = "stopped"

    id = PlainText(primary_key=True, shown="api")
    llm_model = PlainText(shown="api")
    prompt_version = PlainText(shown="api")
    filters_json = SpeechText(
        default="{}", help_text="which decisions: filters of the list, or approved samples", shown=""
    )
    chosen = JsonProperty("filters_json")
    state = PlainText(choices=State.choices, default=State.RUNNING, shown="api")
    total = Count(default=0, shown="api", help_text="decisions that it is about")
    skipped = Count(default=0, shown="api", help_text="decisions left out because what their gate saw was not stored")
    decided = Count(default=0, shown="api", help_text="decisions that were made again")
    agreed = Count(default=0, shown="api", help_text="of these, those that became the same")
    started_by = PersonText(shown="api")
    created_at = EpochMs(shown="api")
    job_id = PlainText(null=True, shown="api")

    class Meta:
        db_table = "gate_replays"
        indexes = [models.Index(fields=["created_at", "id"], name="idx_replay_created")]

    def __str__(self):
        return self.id

    def get_absolute_url(self):
        return reverse("gate:replay_detail", args=[self._state.db.removeprefix("agent_"), self.id])


class GateReplayDecision(models.Model):
    """A decision of a replay: it waits, and then has the other gate's answer."""

    class Outcome(models.TextChoices):
        WAITING = "waiting"
        DECIDED = "decided"
        MALFORMED = "malformed"  # the model answered something else than a decision
        WITHHELD = "withheld"  # somebody whose words are in the window has opted out
        LOST = "lost"  # the decision or its window is not there any more

    pk = models.CompositePrimaryKey("replay", "decision_id")
    replay = models.ForeignKey(GateReplay, models.CASCADE, db_index=False, related_name="decisions")
    decision_id = PlainText(shown="api", help_text="the decision that is made again")
    number = Count(help_text="the newest decision is the first", shown="")
    original = PlainText(
        choices=MemoryGateDecision.Decision.choices, shown="api", help_text="what the first gate decided"
    )
    outcome = PlainText(choices=Outcome.choices, default=Outcome.WAITING, shown="")
    decision = PlainText(choices=MemoryGateDecision.Decision.choices, null=True, shown="api")
    is_same = Flag(null=True, help_text="whether both decided the same", shown="")
    reason = SpeechText(default="", shown="api")
    candidate_fact = SpeechText(null=True, shown="api")
    llm_latency_ms = Count(null=True, shown="")
    prompt_tokens = Count(null=True, shown="")
    completion_tokens = Count(null=True, shown="")
    cost_usd = Number(null=True, shown="")
    created_at = EpochMs(null=True, shown="")

    class Meta:
        db_table = "gate_replay_decisions"
        indexes = [
            models.Index(fields=["replay", "outcome", "number"], name="idx_replay_outcome"),
            models.Index(fields=["replay", "is_same", "number"], name="idx_replay_same"),
        ]

    def __str__(self):
        return f"{self.replay_id} {self.decision_id}"


class RegressionSet(models.Model):
    """One version of people's verdicts as tests of a gate or guardian. It never changes."""

    id = PlainText(primary_key=True, help_text="<part>-<number>")
    part = PlainText(help_text="gate or guardian")
    number = Count(help_text="its version")
    cases_json = SpeechText(help_text="by id the right decision, or the right status, fact and file of a write")
    cases = JsonProperty("cases_json")
    created_by = PersonText()
    created_at = EpochMs()

    class Meta:
        db_table = "regression_sets"

    def __str__(self):
        return self.id
