"""What memory_gate decided: evidence, never rebuilt."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs


class MemoryGateDecision(models.Model):
    """One decision (Reflection spec REQ-002). Names its turn without a foreign key: turns go and come back."""

    class Decision(models.TextChoices):
        NO_WRITE = "NO_WRITE", "NO_WRITE"
        UPDATE_MEMORY = "UPDATE_MEMORY", "UPDATE_MEMORY"
        UPDATE_USER = "UPDATE_USER", "UPDATE_USER"
        UPDATE_SOUL = "UPDATE_SOUL", "UPDATE_SOUL"
        UPDATE_IDENTITY = "UPDATE_IDENTITY", "UPDATE_IDENTITY"
        UPDATE_TOOLS = "UPDATE_TOOLS", "UPDATE_TOOLS"

    class Origin(models.TextChoices):
        RECORDED = "recorded"
        IMPORTED = "imported"
        DERIVED = "derived"

    id = models.TextField(primary_key=True)
    turn_id = models.TextField(null=True)
    session_id = models.TextField()
    decision = models.TextField(choices=Decision.choices)
    reason = models.TextField()
    candidate_fact = models.TextField(null=True)
    llm_model = models.TextField(null=True)
    llm_latency_ms = Count(null=True)
    prompt_tokens = Count(null=True)
    completion_tokens = Count(null=True)
    raw_response = models.TextField(null=True)
    created_at = EpochMs()
    # Ours: why a column that the spec fills may be empty.
    origin = models.TextField(choices=Origin.choices, default=Origin.RECORDED)

    class Meta:
        db_table = "memory_gate_decisions"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    decision__in=[
                        "NO_WRITE",
                        "UPDATE_MEMORY",
                        "UPDATE_USER",
                        "UPDATE_SOUL",
                        "UPDATE_IDENTITY",
                        "UPDATE_TOOLS",
                    ]
                ),
                name="gate_decision",
            )
        ]
        indexes = [
            models.Index(fields=["session_id", "created_at"], name="idx_session_time"),
            models.Index(fields=["decision"], name="idx_decision"),
            models.Index(fields=["turn_id"], name="idx_turn"),
        ]

    def __str__(self):
        return f"{self.id} {self.decision}"
