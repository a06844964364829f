"""Scores that a language model gives to samples."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Number, PlainText, SpeechText


class ScoreCall(models.Model):
    """One call of a model about a sample, with its score. No score is a verdict."""

    class Outcome(models.TextChoices):
        SCORED = "scored"
        SENT = "sent"  # its end is not known: the process died, or is still waiting
        FAILED = "failed"  # the endpoint did not answer, or answered with an error
        MALFORMED = "malformed"  # its answer is no score

    id = PlainText(primary_key=True, shown="api")
    sample_id = PlainText(shown="api")
    llm_model = PlainText(shown="api")
    prompt_version = PlainText(shown="api")
    attempt = Count(default=1, shown="api")
    outcome = PlainText(choices=Outcome.choices, shown="api", help_text="`sent`: how it ended is not known")
    failure = PlainText(default="", shown="api", help_text="the kind of failure, one word")
    score = Number(null=True, shown="api", help_text="0 to 1: how probable it is that a person approves; null: none")
    reason = SpeechText(default="", shown="api", help_text="of the score or the failure, in words")
    llm_latency_ms = Count(null=True, shown="api")
    prompt_tokens = Count(null=True, shown="api")
    completion_tokens = Count(null=True, shown="api")
    reserved_tokens = Count(default=0, help_text="taken from the day's limit before it was sent", shown="")
    cost_usd = Number(null=True, shown="api", help_text="null: not known")
    created_at = EpochMs(shown="api")

    class Meta:
        db_table = "sample_score_calls"
        indexes = [
            models.Index(fields=["created_at"], name="idx_score_call_created"),
            models.Index(fields=["sample_id", "llm_model", "prompt_version"], name="idx_score_call_sample"),
        ]

    def __str__(self):
        return f"{self.sample_id} {self.outcome}"
