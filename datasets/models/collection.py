"""Strategies of collecting with their runs, the outcome of each turn, and the evidence of each sample."""

from django.db import models
from django.urls import reverse

from openclaw_web.sqlite.fields import Count, EpochMs, Flag, Number, OperatorText, PersonText, PlainText
from openclaw_web.sqlite.json_columns import JsonProperty

from ..fields import OneOf
from .samples import DatasetSample


class CollectionStrategy(models.Model):
    """One version of a strategy; triggers refuse every change. The newest of a name is in force."""

    id = models.BigAutoField(primary_key=True)
    name = OperatorText(shown="api")
    version = Count(shown="api")
    criteria_json = PlainText(help_text="switches and thresholds: collection.strategies", shown="")
    criteria = JsonProperty("criteria_json")
    created_by = PersonText(shown="api")
    created_at = EpochMs(shown="api")

    class Meta:
        db_table = "collection_strategies"
        constraints = [models.UniqueConstraint(fields=["name", "version"], name="idx_strategy_version")]

    def __str__(self):
        return f"{self.name} {self.version}"


class CollectionRun(models.Model):
    """One run of collecting, with its funnel."""

    class State(models.TextChoices):
        RUNNING = "running"
        FINISHED = "finished"

    id = models.BigAutoField(primary_key=True)
    strategy = models.ForeignKey(CollectionStrategy, models.PROTECT, related_name="runs", db_index=False)
    state = OneOf(choices=State.choices, default=State.RUNNING, shown="api")
    is_dry = Flag(default=False, shown="api", help_text="a preview: no sample is created or changed")
    options_json = PersonText(default="{}", help_text="agent, session, since, until, type, auto_approve", shown="")
    options = JsonProperty("options_json")
    counts_json = PlainText(default="{}", help_text="turns by outcome, once it has finished", shown="")
    counts = JsonProperty("counts_json")
    started_by = PersonText(shown="api")
    started_at = EpochMs(shown="api")
    ended_at = EpochMs(null=True, shown="api")

    class Meta:
        db_table = "collection_runs"

    def __str__(self):
        return f"{self.id} {self.state}"

    def get_absolute_url(self):
        return reverse("datasets:collection_run", args=[self.id])


class TurnOutcome(models.Model):
    """Numbers about one turn: where the last run that looked at it put it, and the answers of the criteria."""

    class Outcome(models.IntegerChoices):
        SAMPLE = 1, "sample"
        CANDIDATE = 2, "candidate"  # a preview did not create its sample
        ALREADY = 3, "already"
        NO_CRITERION = 4, "no_criterion"
        OTHER_TYPE = 5, "other_type"
        WAITING = 6, "waiting"
        ABANDONED = 7, "abandoned"
        COPIED = 8, "copied"
        OPTED_OUT = 9, "opted_out"
        NO_REPLY = 10, "no_reply"
        MACHINE = 11, "machine"
        EXCLUDED = 12, "excluded"
        UNUSABLE = 13, "unusable"
        OUTSIDE = 14, "outside"

    id = models.BigAutoField(primary_key=True)
    agent_id = PlainText(shown="api")
    turn_id = PlainText(shown="api")
    session_id = PlainText(shown="api")
    turn_number = Count(shown="api")
    at = EpochMs(shown="api", help_text="when the turn began")
    outcome = Count(shown="", help_text="a number of Outcome")
    yes = Count(default=0, shown="", help_text="bits of criteria and facts that are true: collection.criteria")
    unknown = Count(default=0, shown="", help_text="bits of criteria without an answer")
    score = Number(null=True, shown="api", help_text="the quality score at the run; null: none")
    mark = Count(default=0, shown="", help_text="differs once the turn has grown or left its branch")
    run_id = Count(shown="api", help_text="the run that looked at it last")

    class Meta:
        db_table = "turn_outcomes"
        constraints = [models.UniqueConstraint(fields=["agent_id", "turn_id"], name="idx_outcome_turn")]
        indexes = [
            models.Index(fields=["run_id", "outcome", "id"], name="idx_outcome_run"),
            models.Index(fields=["agent_id", "session_id", "turn_number"], name="idx_outcome_place"),
            models.Index(fields=["yes", "unknown", "score", "at"], name="idx_outcome_bits"),
            # Few turns wait, and they are looked for by time.
            models.Index(fields=["at"], name="idx_outcome_waiting", condition=models.Q(outcome=6)),
        ]

    def __str__(self):
        return f"{self.agent_id} {self.turn_id}"


class SampleEvidence(models.Model):
    """The answer of one criterion about a sample, with the row that gave it."""

    class Answer(models.TextChoices):
        YES = "yes"
        NO = "no"
        UNKNOWN = "unknown"

    id = models.BigAutoField(primary_key=True)
    sample = models.ForeignKey(DatasetSample, models.CASCADE, related_name="evidence", db_index=False)
    criterion = PlainText(shown="api", help_text="a name of collection.criteria")
    answer = OneOf(choices=Answer.choices, shown="api")
    source_kind = PlainText(default="", shown="api", help_text="decision, write, rollback, correction, ...; or empty")
    source_id = PersonText(default="", shown="api")
    rule = Count(shown="api", help_text="version of the criterion")

    class Meta:
        db_table = "sample_evidence"
        constraints = [models.UniqueConstraint(fields=["sample", "criterion"], name="idx_evidence_sample")]

    def __str__(self):
        return f"{self.sample_id} {self.criterion}"
