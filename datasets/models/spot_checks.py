"""Samples that people check instead of a rule, and when rules stopped approving."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, PersonText, PlainText
from openclaw_web.sqlite.json_columns import JsonProperty

from ..fields import OneOf


class SpotCheck(models.Model):
    """A sample that a rule would approve and that people judge instead, without knowing that."""

    sample_id = PlainText(primary_key=True)
    chosen_at = EpochMs()
    shape_hash = PlainText(help_text="SHA-256 of what the rule would have approved: a verdict on it is right or wrong")

    class Meta:
        db_table = "spot_checks"
        indexes = [models.Index(fields=["chosen_at"], name="idx_spot_check_chosen")]

    def __str__(self):
        return self.sample_id


class ApprovalStop(models.Model):
    """Rules approve nothing from this moment until an admin lets them again."""

    class Reason(models.TextChoices):
        WRONG = "wrong"  # the error is above the limit
        UNCERTAIN = "uncertain"  # after enough checks it may still be
        WAITING = "waiting"  # nobody judges the checks

    id = models.BigAutoField(primary_key=True)
    reason = OneOf(choices=Reason.choices)
    stopped_at = EpochMs()
    right = Count()
    wrong = Count()
    waiting = Count()
    returned_json = PlainText(default="[]", help_text="ids of samples that need review since")
    returned = JsonProperty("returned_json", list)
    undone_at = EpochMs(null=True, help_text="when these were approved again; null: they were not")
    resumed_at = EpochMs(null=True, help_text="null: rules approve nothing")
    resumed_by = PersonText(default="")

    class Meta:
        db_table = "approval_stops"

    def __str__(self):
        return f"{self.id} {self.reason}"
