"""Claims, draws, drafts and actions of the review queue."""

from django.db import models

from openclaw_web.clock import DAY_MS
from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    PersonText,
    PlainText,
    SpeechText,
)
from openclaw_web.sqlite.json_columns import JsonProperty

from ..fields import OneOf
from .samples import DatasetSample


class SampleClaim(models.Model):
    """A person's claim on the sample or found value on their screen; meanwhile other people get the next one."""

    class Kind(models.TextChoices):
        SAMPLE = "sample"
        VALUE = "value"

    sample_id = PlainText(primary_key=True, help_text="of a found value its hash: findings.value_hash")
    kind = OneOf(choices=Kind.choices, default=Kind.SAMPLE)
    claimed_by = PersonText()
    claimed_at = EpochMs(help_text="changes whenever the page is opened anew: an old page does not free it")
    expires_at = EpochMs()

    class Meta:
        db_table = "sample_claims"

    def __str__(self):
        return f"{self.sample_id} {self.claimed_by}"


class ReviewDraw(models.Model):
    """Samples that are a review queue: an agent's decisions drawn at random, or those that fill gaps of a dataset."""

    id = PlainText(primary_key=True, help_text="decides which are drawn: the same one draws the same ones")
    agent_id = PlainText()  # empty: of several agents
    drawn_by = PersonText()
    drawn_at = EpochMs()
    samples_json = PlainText(help_text="JSON list of the ids of samples")
    samples = JsonProperty("samples_json", list)

    class Meta:
        db_table = "review_draws"

    def __str__(self):
        return self.id


class SampleDraft(models.Model):
    """Fields that a person typed about a sample and has not sent; only they see them."""

    id = models.BigAutoField(primary_key=True)
    username = PersonText()
    sample_id = PlainText()
    page = PlainText(help_text="the opening of the page it was typed on: two tabs do not write over each other")
    fields_json = SpeechText(help_text="the fields of the verdict's form, by name")
    fields = JsonProperty("fields_json")
    saved_at = EpochMs()

    class Meta:
        db_table = "sample_drafts"
        constraints = [models.UniqueConstraint(fields=["username", "sample_id", "page"], name="idx_draft_page")]
        indexes = [models.Index(fields=["username", "saved_at"], name="idx_draft_saved")]

    def __str__(self):
        return f"{self.username} {self.sample_id}"


class ReviewAction(models.Model):
    """One action of a person in the review queue, for “Undo” and the day's numbers."""

    class Kind(models.TextChoices):
        VERDICT = "verdict"
        SKIP = "skip"
        BULK = "bulk"

    class State(models.TextChoices):
        DONE = "done"
        UNDONE = "undone"
        OVERTAKEN = "overtaken"  # somebody judged the sample since: it can no longer be undone

    id = models.BigAutoField(primary_key=True)
    actor = PersonText()
    kind = OneOf(choices=Kind.choices)
    at = EpochMs()
    state = OneOf(choices=State.choices, default=State.DONE)
    sample_id = PlainText(null=True)
    label_id = PlainText(null=True)
    bulk_id = PlainText(null=True)
    status = PlainText(choices=DatasetSample.Status.choices, null=True, help_text="of its verdicts; null: a skip")
    sample_count = Count(default=1)  # 0: a verdict on a found value, whose id is `label_id`

    class Meta:
        db_table = "review_actions"
        indexes = [
            # Statistics read verdicts in this order and nothing else: a sort of a year's would take a second.
            models.Index(
                *(models.F("at") / DAY_MS, "actor", "status", "sample_count"),
                name="idx_action_day",
                condition=models.Q(status__isnull=False) & ~models.Q(state="undone"),
            ),
            models.Index(fields=["actor", "at"], name="idx_action_actor"),
            models.Index(fields=["at", "kind", "state", "sample_count"], name="idx_action_at"),
            models.Index(fields=["actor", "sample_id"], name="idx_action_skip", condition=models.Q(kind="skip")),
        ]

    def __str__(self):
        return f"{self.actor} {self.kind} {self.sample_id or self.bulk_id}"

    @property
    def is_on_value(self):
        return self.sample_count == 0
