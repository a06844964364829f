"""What people said of decisions, as sums, and how far it was copied from the samples: derived, and made again."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs

from .decisions import MemoryGateDecision


class GateVerdictDay(models.Model):
    """The judged decisions of one UTC day, by one model with one prompt."""

    pk = models.CompositePrimaryKey("day", "decision", "verdict", "llm_model", "prompt_version")
    day = EpochMs(help_text="its first millisecond")
    decision = models.TextField(choices=MemoryGateDecision.Decision.choices)
    verdict = models.TextField(choices=MemoryGateDecision.Verdict.choices)
    llm_model = models.TextField(help_text="empty: not known")
    prompt_version = models.TextField(help_text="empty: not known")
    total = Count()

    class Meta:
        db_table = "gate_verdict_days"

    def __str__(self):
        return f"{self.day} {self.decision} {self.verdict}"


class GateVerdictsState(models.Model):
    """How far the verdicts of decisions were copied from the samples; without a row nothing was."""

    id = models.TextField(primary_key=True, default="verdicts")
    labels_read = Count(default=0, help_text="the place of the last row of sample_labels that was read")

    class Meta:
        db_table = "gate_verdicts_state"

    def __str__(self):
        return str(self.labels_read)
