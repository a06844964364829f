"""Personal data and secrets found in an agent's texts: places and hashes, never the values.

Source: REQ-004 of the Reflection spec (privacy check); the tables are ours.
"""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Number, PersonText, PlainText


class Source(models.TextChoices):
    """The sort of text that a finding stands in."""

    RECORD = "record"  # a record of a transcript
    DECISION = "decision"  # the fact, reason and answer of a gate decision
    WRITE = "write"  # the fact of a write
    SNAPSHOT = "snapshot"  # a version of a memory file
    FILE = "file"  # a version of another workspace file
    CORRECTION = "correction"  # the facts and the pattern of a correction
    PROMPT = "prompt"  # what the gate was shown: a window
    INSTRUCTION = "instruction"  # the prompt of the gate
    ARTIFACT = "artifact"  # the content of an artifact


class Finding(models.Model):
    """One place of a value: characters `start` to `end` of a text of a source."""

    id = models.BigAutoField(primary_key=True)
    source = PlainText(choices=Source.choices, shown="api file")
    source_id = PersonText(shown="api file", help_text="session id, slash and seq of a record, or the id of a row")
    session_id = PersonText(null=True, shown="api file")
    turn_number = Count(null=True, shown="api file")
    path = PlainText(shown="api file", help_text="JSON path of the text in its source, $ for the whole")
    start = Count(shown="api file", help_text="characters before it in the text")
    end = Count(shown="api file")
    kind = PlainText(shown="api file", help_text="a kind of openclaw_web.detectors")
    rule = PlainText(shown="api file")
    confidence = Number(shown="api file")
    value_hash = PlainText(shown="api file", help_text="keyed hash of the value: findings.value_hash")
    found_at = EpochMs(shown="api file")

    class Meta:
        db_table = "findings"
        constraints = [
            models.UniqueConstraint(fields=["source", "source_id", "path", "start", "end"], name="idx_finding_place")
        ]
        indexes = [
            models.Index(fields=["value_hash", "id"], name="idx_finding_value"),
            models.Index(fields=["session_id", "turn_number", "id"], name="idx_finding_turn"),
            models.Index(fields=["rule", "id"], name="idx_finding_rule"),
        ]

    def __str__(self):
        return f"{self.kind} {self.source} {self.source_id}"


class FindingScan(models.Model):
    """How far the texts of a source were scanned, by which rules.

    A session has one row for its records; any other source has one row for all of its texts.
    """

    id = models.BigAutoField(primary_key=True)
    source = PlainText(choices=Source.choices)
    session_id = PersonText(default="", help_text="of records; else empty")
    position = PlainText(help_text="the last text that was scanned, in the order of its source")
    fingerprint = PlainText(default="", help_text="of what was scanned, to notice that it was replaced")
    rules = Count(help_text="detectors.RULES at the scan")
    scanned_at = EpochMs()

    class Meta:
        db_table = "finding_scans"
        constraints = [models.UniqueConstraint(fields=["source", "session_id"], name="idx_scan_source")]

    def __str__(self):
        return f"{self.source} {self.session_id}"
