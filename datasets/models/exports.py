"""Exports, with their options and results."""

from django.db import models
from django.urls import reverse

from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    Number,
    OperatorText,
    PersonText,
    PlainText,
    SpeechText,
)
from openclaw_web.sqlite.json_columns import JsonProperty


class DatasetExport(models.Model):
    """One export (Reflection spec REQ-004 `dataset_exports`): its options, its results and its folder."""

    class Format(models.TextChoices):
        ALPACA = "alpaca"
        SHAREGPT = "sharegpt"
        OPENAI = "openai"
        RAW = "raw"
        CSV = "csv"
        # Ours, beside the five of the spec.
        MESSAGES = "messages"
        PARQUET = "parquet"
        SHAREGPT_REFLECTION = "sharegpt_reflection"
        PREFERENCE = "preference"
        OPENAI_PREFERENCE = "openai_preference"
        LLAMAFACTORY_PREFERENCE = "llamafactory_preference"
        KTO = "kto"

    class Task(models.TextChoices):
        REPLY = "reply"
        GATE = "gate"
        GUARDIAN = "guardian"

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        READY = "ready"
        REFUSED = "refused"
        FAILED = "failed"

    id = PlainText(primary_key=True, shown="api file")
    export_name = OperatorText(shown="file")
    export_format = PlainText(choices=Format.choices, shown="file")
    sample_types = PlainText(help_text="JSON list", shown="")
    types = JsonProperty("sample_types", list)
    filters = SpeechText(null=True, help_text="JSON: onlyApproved, trainSplit, seed, agent, ...", shown="")
    choices = JsonProperty("filters")
    total_samples = Count(null=True, shown="api file", help_text="rows in the files")
    approved_samples = Count(null=True, shown="api file")
    rejected_samples = Count(null=True, shown="api", help_text="samples left out because they were rejected")
    avg_quality_score = Number(null=True, shown="api")
    file_path = OperatorText(help_text="folder, relative to the home", shown="")
    file_size_bytes = Count(null=True, shown="api file")
    checksum = PlainText(null=True, shown="api file", help_text="sha256 of manifest.json")
    exported_by = PersonText(null=True, shown="api file")
    exported_at = EpochMs(shown="api file")
    # Ours.
    task = PlainText(choices=Task.choices, default=Task.REPLY, shown="api file")
    state = PlainText(choices=State.choices, default=State.WAITING, shown="api file")
    sentence = OperatorText(default="", shown="api file", help_text="why it was refused or failed")
    reasons_json = OperatorText(default="[]", help_text="rows that stood in the way: sample, reason", shown="")
    reasons = JsonProperty("reasons_json", list)
    manifest_json = SpeechText(null=True, shown="")
    manifest = JsonProperty("manifest_json")
    job_id = PlainText(null=True, shown="api")
    places_json = PlainText(null=True, help_text="where rows begin in its file, to find any of them", shown="")
    places = JsonProperty("places_json")
    difference_json = PlainText(null=True, help_text="compared with the export before; null: not yet", shown="")
    difference = JsonProperty("difference_json")

    version_id = PlainText(null=True, shown="api", help_text="the release whose members it has; null: none")

    class Meta:
        db_table = "dataset_exports"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    export_format__in=[
                        *("alpaca", "sharegpt", "openai", "raw", "csv", "messages", "parquet", "sharegpt_reflection"),
                        *("preference", "openai_preference", "llamafactory_preference", "kto"),
                    ]
                ),
                name="export_format",
            )
        ]
        indexes = [
            models.Index(fields=["exported_at", "id"], name="idx_exported_at"),
            models.Index(
                fields=["version_id"], name="idx_export_version", condition=models.Q(version_id__isnull=False)
            ),
        ]

    def __str__(self):
        return self.export_name

    def get_absolute_url(self):
        return reverse("datasets:export_detail", args=[self.id])
