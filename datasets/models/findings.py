"""Values that were found, by keyed hash, and verdicts of people on them.

No value is stored."""

from django.db import models
from django.urls import reverse

from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    Number,
    OperatorText,
    PersonText,
    PlainText,
)

from ..fields import OneOf


class FindingValue(models.Model):
    """One value in all its places: a summary of the agents' findings, rebuilt from them."""

    class State(models.TextChoices):
        OPEN = "open"
        CONFIRMED = "confirmed"
        DISMISSED = "dismissed"

    value_hash = PlainText(primary_key=True, shown="api file", help_text="keyed hash: findings.value_hash")
    kind = PlainText(shown="api file", help_text="a kind of openclaw_web.detectors")
    rule = PlainText(shown="api file", help_text="the rule that found it first")
    confidence = Number(shown="api file")
    state = OneOf(choices=State.choices, default=State.OPEN, shown="api file")
    places = Count(default=0, shown="api file")
    agents = Count(default=0, shown="api file")
    first_found_at = EpochMs(shown="api file")
    decided_by = PersonText(null=True, shown="api file")
    decided_at = EpochMs(null=True, shown="api file")

    class Meta:
        db_table = "finding_values"
        indexes = [
            models.Index(fields=["first_found_at", "value_hash"], name="idx_value_found"),
            models.Index(fields=["state", "first_found_at", "value_hash"], name="idx_value_state"),
            models.Index(fields=["kind", "first_found_at", "value_hash"], name="idx_value_kind"),
            models.Index(fields=["state", "kind", "first_found_at", "value_hash"], name="idx_value_state_kind"),
            models.Index(fields=["places", "value_hash"], name="idx_value_places"),
        ]

    def __str__(self):
        return f"{self.kind} {self.value_hash}"

    def get_absolute_url(self):
        return reverse("datasets:finding_detail", args=[self.value_hash])


class FindingValueAgent(models.Model):
    """The places of one value in one agent's file, counted."""

    id = models.BigAutoField(primary_key=True)
    value_hash = PlainText()
    agent_id = PlainText()
    places = Count()

    class Meta:
        db_table = "finding_value_agents"
        constraints = [models.UniqueConstraint(fields=["value_hash", "agent_id"], name="idx_value_agent")]
        indexes = [models.Index(fields=["agent_id", "value_hash"], name="idx_agent_value")]

    def __str__(self):
        return f"{self.value_hash} {self.agent_id}"


class FindingVerdict(models.Model):
    """One verdict of a person on findings, or its undoing; rows are only added."""

    class Scope(models.TextChoices):
        VALUE = "value"  # wherever it stands
        PLACE = "place"  # in one turn or one other text
        RULE = "rule"  # whatever the rule finds

    class Verdict(models.TextChoices):
        CONFIRMED = "confirmed"
        DISMISSED = "dismissed"
        ADDED = "added"
        UNDONE = "undone"

    id = PlainText(primary_key=True, shown="api file")
    scope = OneOf(choices=Scope.choices, shown="api file")
    verdict = OneOf(choices=Verdict.choices, shown="api file")
    value_hash = PlainText(null=True, shown="api file")
    rule = PlainText(null=True, shown="api file")
    agent_id = PlainText(null=True, shown="api file", help_text="of a place")
    place = PersonText(null=True, shown="api file", help_text="source and its id, as findings.places writes it")
    notes = OperatorText(default="", shown="api file")
    decided_by = PersonText(shown="api file")
    decided_at = EpochMs(shown="api file")
    undoes = PlainText(null=True, shown="api file", help_text="id of the verdict that this one undoes")

    class Meta:
        db_table = "finding_verdicts"
        indexes = [
            models.Index(fields=["value_hash", "decided_at", "id"], name="idx_finding_verdict_value"),
            models.Index(fields=["rule", "decided_at", "id"], name="idx_finding_verdict_rule"),
            models.Index(fields=["decided_at", "id"], name="idx_finding_verdict_at"),
        ]

    def __str__(self):
        return f"{self.scope} {self.verdict}"
