"""Datasets with numbered releases, their members and the side of each session."""

from django.db import models
from django.urls import reverse

from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    Flag,
    OperatorText,
    PersonText,
    PlainBytes,
    PlainText,
    SpeechBytes,
    SpeechText,
)
from openclaw_web.sqlite.json_columns import JsonProperty

from ..fields import OneOf
from .samples import DatasetSample

SIDES = [("train", "Train"), ("validation", "Validation"), ("test", "Test")]


class Dataset(models.Model):
    """A named set of samples that is released in numbered versions."""

    id = PlainText(primary_key=True, shown="api file")
    name = OperatorText(unique=True, shown="api file")
    description = OperatorText(default="", shown="api file")
    options_json = SpeechText(help_text="options of its exports: samples, split, seed; see exports.options", shown="")
    options = JsonProperty("options_json")
    created_by = PersonText(shown="api file")
    created_at = EpochMs(shown="api file")

    class Meta:
        db_table = "datasets"
        indexes = [models.Index(fields=["created_at", "id"], name="idx_dataset_created")]

    def __str__(self):
        return self.name

    def get_absolute_url(self):
        return reverse("datasets:dataset_detail", args=[self.id])


class DatasetVersion(models.Model):
    """A release of a dataset: a number and fixed members.

    It is whole once its state is released.
    """

    class State(models.TextChoices):
        BUILDING = "building"
        RELEASED = "released"

    id = PlainText(primary_key=True, shown="api file")
    dataset = models.ForeignKey(Dataset, models.PROTECT, related_name="versions")
    number = Count(shown="api file")
    state = OneOf(choices=State.choices, default=State.BUILDING, shown="api file")
    options_json = SpeechText(help_text="options of the dataset at the release", shown="")
    options = JsonProperty("options_json")
    rules_json = PlainText(default="{}", help_text="versions of the rules it followed", shown="api")
    rules = JsonProperty("rules_json")
    counts_json = PlainText(default="{}", help_text="members by side and by verdict", shown="api")
    counts = JsonProperty("counts_json")
    member_count = Count(default=0, shown="api file")
    checksum = PlainText(default="", shown="api file", help_text="SHA-256 of its members in their order")
    notes = OperatorText(default="", shown="api file")
    remade_from = Count(
        null=True, shown="api file", help_text="number of the changed release whose members it has; null: none"
    )
    released_by = PersonText(shown="api file")
    released_at = EpochMs(shown="api file")

    class Meta:
        db_table = "dataset_versions"
        constraints = [models.UniqueConstraint(fields=["dataset", "number"], name="idx_version_number")]
        indexes = [models.Index(fields=["released_at", "id"], name="idx_version_released")]

    def __str__(self):
        return f"{self.dataset_id} {self.number}"

    def get_absolute_url(self):
        return reverse("datasets:version_detail", args=[self.dataset_id, self.number])


class DatasetMember(models.Model):
    """A sample in a release, with its verdict and side there, for good."""

    id = models.BigAutoField(primary_key=True)
    version = models.ForeignKey(DatasetVersion, models.CASCADE, related_name="members", db_index=False)
    sample_id = PlainText(shown="api file", help_text="no reference: the member outlives its sample")
    agent_id = PlainText(shown="api file")
    session_id = PlainText(shown="api file")
    turn_number = Count(null=True, shown="api file")
    side = OneOf(choices=SIDES, shown="api file")
    status = PlainText(choices=DatasetSample.Status.choices, shown="api file")
    label_id = PlainText(null=True, shown="api file", help_text="the verdict in force; null: approved by rule")
    content_hash = PlainText(shown="api file", help_text="SHA-256 of content, reply and corrections")

    class Meta:
        db_table = "dataset_members"
        constraints = [models.UniqueConstraint(fields=["version", "sample_id"], name="idx_member_sample_of_version")]
        indexes = [
            models.Index(fields=["sample_id", "version"], name="idx_member_sample"),
            models.Index(fields=["version", "id"], name="idx_member_version"),
            models.Index(fields=["version", "side", "id"], name="idx_member_side"),
        ]

    def __str__(self):
        return f"{self.version_id} {self.sample_id}"


class ReleaseSeal(models.Model):
    """Every column of a release and its members as they were released: see `seals`."""

    version = models.OneToOneField(DatasetVersion, models.CASCADE, primary_key=True, related_name="seal")
    sha256 = PlainText(shown="api", help_text="of its contents: every column of the release and of its members")
    contents = SpeechBytes(
        help_text="lines of JSON, compressed with zstd: names of columns, the release, members", shown=""
    )
    sealed_at = EpochMs(shown="api")
    is_later = Flag(default=False, shown="api", help_text="added after the release, whose own checksum was right")

    class Meta:
        db_table = "release_seals"

    def __str__(self):
        return self.version_id


class SessionSide(models.Model):
    """The side of a session in a dataset; it is set once and never changes."""

    id = models.BigAutoField(primary_key=True)
    dataset = models.ForeignKey(Dataset, models.CASCADE, related_name="sides", db_index=False)
    session_id = PlainText()
    side = OneOf(choices=SIDES)
    since = Count(help_text="number of the release that set it")

    class Meta:
        db_table = "dataset_sides"
        constraints = [models.UniqueConstraint(fields=["dataset", "session_id"], name="idx_side_session")]

    def __str__(self):
        return f"{self.dataset_id} {self.session_id} {self.side}"


class VersionTaint(models.Model):
    """A member of a release that should not be used any more, and why."""

    class Reason(models.TextChoices):
        REMOVED = "removed"
        OPTED_OUT = "opted_out"
        ROLLED_BACK = "rolled_back"
        REJECTED = "rejected"
        CHANGED = "changed_since"  # its turn has other words now

    id = models.BigAutoField(primary_key=True)
    version = models.ForeignKey(DatasetVersion, models.CASCADE, related_name="taints", db_index=False)
    sample_id = PlainText(shown="api file")
    reason = OneOf(choices=Reason.choices, shown="api file")
    noted_at = EpochMs(shown="api file")

    class Meta:
        db_table = "version_taints"
        constraints = [models.UniqueConstraint(fields=["version", "sample_id", "reason"], name="idx_taint_once")]
        indexes = [models.Index(fields=["version", "reason", "sample_id"], name="idx_taint_reason")]

    def __str__(self):
        return f"{self.version_id} {self.sample_id} {self.reason}"


class Benchmark(models.Model):
    """Hashed word grams of a benchmark file, to find training rows that contain its questions."""

    id = PlainText(primary_key=True, shown="api file")
    name = OperatorText(unique=True, shown="api file")
    questions = Count(shown="api file")
    grams = PlainBytes(help_text="sorted 64-bit hashes of grams, compressed with zstd", shown="")
    sha256 = PlainText(shown="api file", help_text="of the file that was uploaded")
    added_by = PersonText(shown="api file")
    added_at = EpochMs(shown="api file")

    class Meta:
        db_table = "benchmarks"

    def __str__(self):
        return self.name
