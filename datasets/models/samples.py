"""Samples with their verdicts, signatures and exchanges."""

from django.db import models
from django.db.models.functions import Substr
from django.urls import reverse

from openclaw_web.sqlite.fields import (
    Count,
    EpochMs,
    Number,
    OperatorText,
    PersonText,
    PlainBytes,
    PlainText,
    SpecBoolean,
    SpeechBytes,
    SpeechText,
)
from openclaw_web.sqlite.json_columns import JsonProperty

from ..decision_samples import list_columns
from ..fields import OneOf

CUT_OFF = ("aborted", "error", "length", "max_tokens")  # stop reasons of replies that ended before they were complete
INTERRUPTED = ("toolUse", "tool_use", "tool_calls")  # of replies that end with a call: a person spoke before its result
JUDGED_BY = ("person", "rule", "set")  # who judged a sample: by its status, or whoever judged an imported set
SETS_SCOPE = "imported_sets"  # of the stored values that name the imported sets: by whom, from which file
SET_PREFIX = "set:"  # of the agent of samples that came with an imported set, before its name
BY_SET = "set"  # `annotated_by` of samples whose verdict came with their set
JUDGES = {"approved": "person", "rejected": "person", "auto_approved": "rule"}
PART_LABELS = [("correct", "Correct"), ("incorrect", "Incorrect"), ("corrected", "Corrected")]


class SampleQuerySet(models.QuerySet):
    FIRST_CHARACTERS = 200
    READ = (
        *("id", "annotation_status", "agent_id", "annotated_by", "turn_number", "created_at", "quality_score"),
        *("prompted_by", "reply_stop", "sample_type", "gate_label"),
    )

    def for_reading(self):
        """The columns that lists show, as dictionaries; texts are cut after FIRST_CHARACTERS."""
        expressions = {
            "user": list_columns.build_user_text(),
            "reply": list_columns.build_reply_text(),
            "decision": list_columns.build_decision_text("Decision"),  # of samples of the gate's decisions only
            "fact": list_columns.build_decision_text("Fact"),  # likewise
            "edited": models.F("output"),
        }
        texts = {name: Substr(text, 1, self.FIRST_CHARACTERS) for name, text in expressions.items()}
        return self.values(*self.READ).annotate(**texts)

    def approved(self):
        """Approved by a person or by rule."""
        return self.filter(annotation_status__in=DatasetSample.APPROVED)


class DatasetSample(models.Model):
    """One sample (Reflection spec REQ-004 `dataset_samples`). Holds its own content: evidence outlives derived rows."""

    class Type(models.TextChoices):
        MEMORY_GATE_POSITIVE = "memory_gate_positive"
        MEMORY_GATE_NEGATIVE = "memory_gate_negative"
        WRITE_GUARDIAN_DECISION = "write_guardian_decision"
        ANNOTATED_TURN = "annotated_turn"

    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        REJECTED = "rejected"
        NEEDS_REVIEW = "needs_review"
        AUTO_APPROVED = "auto_approved"

    APPROVED = (Status.APPROVED, Status.AUTO_APPROVED)

    id = PlainText(primary_key=True, shown="api file")
    sample_type = PlainText(choices=Type.choices, shown="api file")
    turn_id = PlainText(null=True, shown="api file")
    decision_id = PlainText(null=True, shown="api")
    audit_id = PlainText(null=True, shown="api", help_text="the write to a memory file that it is about; null: none")
    session_id = PlainText(shown="api file")
    content = SpeechText(shown="api", help_text="JSON, shaped by sample_type")
    body = JsonProperty("content")
    quality_score = Number(null=True, shown="api file")
    quality_factors = PlainText(null=True, shown="api")
    annotation_status = PlainText(choices=Status.choices, default=Status.PENDING, null=True, shown="api file")
    annotated_by = PersonText(null=True, shown="api file")
    annotated_at = EpochMs(null=True, shown="api file")
    annotation_notes = OperatorText(null=True, shown="api file")
    privacy_checked = SpecBoolean(default=False, null=True, shown="api")
    contains_pii = SpecBoolean(default=False, null=True, shown="api")
    pii_redacted_content = SpeechText(null=True, shown="api")
    collection_strategy = PlainText(null=True, shown="api")
    created_at = EpochMs(shown="api file")
    # Ours.
    agent_id = PlainText(shown="api file")
    turn_number = Count(null=True, shown="api file")
    output = SpeechText(
        null=True, shown="api", help_text="the reply as edited by a reviewer; null: as the agent wrote it"
    )
    gate_label = OneOf(null=True, choices=PART_LABELS, help_text="the spec's memoryGate.label", shown="")
    gate_corrected_output = SpeechText(null=True, help_text="JSON, the spec's memoryGate.correctedOutput", shown="")
    guardian_label = OneOf(null=True, choices=PART_LABELS, help_text="the spec's writeGuardian.label", shown="")
    guardian_corrected_output = SpeechText(
        null=True, help_text="JSON, the spec's writeGuardian.correctedOutput", shown=""
    )
    prompted_by = PlainText(
        default="",
        shown="api file",
        help_text="which prompt of OpenClaw's own started the turn (such as cron, heartbeat), or silent for a reply "
        "that is not sent; empty: a person",
    )
    reply_stop = PlainText(default="", shown="api file", help_text="stop reason recorded with the reply; empty: none")
    turn_traits = PlainText(
        default="",
        shown="api",
        help_text="`tools` (the reply rests on tool results), `envelope` (the user's text was taken out of one), "
        "`images` (images or files were sent with it), `unreceived` (nobody received the reply), `changed_since` "
        "(the turn has other words now), `gone` (the turn is not stored any more), with blanks between them; empty: "
        "none",
    )
    label_id = PlainText(null=True, help_text="the verdict in force; null: none", shown="")
    reject_reason = PlainText(null=True, shown="api file", help_text="a code from the setting review.rejectReasons")
    repeat_of = PlainText(null=True, help_text="the session that has its turn, of which this one is a copy", shown="")

    objects = SampleQuerySet.as_manager()
    is_covered = False  # whether it is as before all verdicts, for a person who may not know them yet

    class Meta:
        db_table = "dataset_samples"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(
                    sample_type__in=[
                        "memory_gate_positive",
                        "memory_gate_negative",
                        "write_guardian_decision",
                        "annotated_turn",
                    ]
                ),
                name="sample_type",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    annotation_status__in=["pending", "approved", "rejected", "needs_review", "auto_approved"]
                ),
                name="annotation_status",
            ),
        ]
        indexes = [
            models.Index(fields=["sample_type", "annotation_status", "created_at", "id"], name="idx_type_status"),
            models.Index(
                fields=["agent_id", "sample_type", "annotation_status", "created_at", "id"],
                name="idx_sample_agent_type",
            ),
            models.Index(fields=["quality_score"], name="idx_quality"),
            models.Index(fields=["session_id", "created_at", "id"], name="idx_session"),
            models.Index(fields=["created_at", "id"], name="idx_sample_created"),
            models.Index(fields=["annotation_status", "created_at", "id"], name="idx_status_created"),
            models.Index(fields=["agent_id", "created_at", "id"], name="idx_sample_agent"),
            models.Index(fields=["agent_id", "annotation_status", "created_at", "id"], name="idx_sample_agent_status"),
            models.Index(fields=["agent_id", "session_id", "created_at", "id"], name="idx_sample_session"),
            models.Index(
                fields=[
                    *("agent_id", "session_id", "turn_number", "id"),
                    *("sample_type", "annotation_status", "prompted_by", "reply_stop", "quality_score", "turn_traits"),
                ],
                name="idx_sample_place",  # exports read in this order and filter by it, without the long contents
            ),
            models.Index(
                fields=["privacy_checked", "id"], condition=models.Q(privacy_checked=None), name="idx_sample_unchecked"
            ),
            # In some homes OpenClaw prompted most samples; people look for those of persons.
            models.Index(fields=["prompted_by", "created_at", "id"], name="idx_sample_prompted"),
            models.Index(fields=["annotation_status", "prompted_by", "created_at", "id"], name="idx_status_prompted"),
            models.Index(
                fields=["agent_id", "annotation_status", "prompted_by", "created_at", "id"],
                name="idx_sample_agent_prompted",
            ),
            # Partial indexes: few samples fit their conditions.
            models.Index(
                fields=["created_at", "id"], name="idx_sample_cut_off", condition=models.Q(reply_stop__in=CUT_OFF)
            ),
            models.Index(
                fields=["annotation_status", "created_at", "id"],
                name="idx_status_cut_off",
                condition=models.Q(reply_stop__in=CUT_OFF),
            ),
            models.Index(
                fields=["reject_reason", "created_at", "id"],
                name="idx_sample_reason",
                condition=models.Q(reject_reason__isnull=False),
            ),
            # Wrong decisions, of which those without a reason are looked for.
            models.Index(
                fields=["annotation_status", "created_at", "id"],
                name="idx_status_wrong",
                condition=models.Q(gate_label__in=["corrected", "incorrect"]),
            ),
            models.Index(fields=["id"], name="idx_sample_repeated", condition=models.Q(repeat_of__isnull=False)),
        ]

    def __str__(self):
        return self.id

    def get_absolute_url(self):
        return reverse("datasets:sample_detail", args=[self.id])


class SampleLabel(models.Model):
    """One verdict of one person, or its undoing; triggers refuse all changes of rows."""

    id = PlainText(primary_key=True, shown="api")
    sample = models.ForeignKey(DatasetSample, models.PROTECT, related_name="labels", db_index=False)
    status = PlainText(choices=DatasetSample.Status.choices, shown="api")
    output = SpeechText(null=True, shown="api")
    notes = OperatorText(default="", shown="api")
    previous_status = PlainText(shown="api")
    labelled_by = PersonText(shown="api")
    labelled_at = EpochMs(shown="api")
    gate_label = OneOf(null=True, choices=PART_LABELS, shown="")
    gate_corrected_output = SpeechText(null=True, shown="")
    guardian_label = OneOf(null=True, choices=PART_LABELS, shown="")
    guardian_corrected_output = SpeechText(null=True, shown="")
    undoes = PlainText(null=True, shown="api", help_text="id of the verdict that this verdict undoes")
    bulk_id = PlainText(null=True, shown="api", help_text="the same for all verdicts of one bulk action")
    before_json = SpeechText(null=True, help_text="the sample's columns before it, to restore them exactly", shown="")
    before = JsonProperty("before_json")
    reason = PlainText(null=True, shown="api", help_text="reason of a rejection")
    amends = PlainText(
        null=True, help_text="id of the reject whose reason this row gives: both are one verdict", shown=""
    )
    kind = OneOf(
        null=True,
        choices=[("verdict", "Verdict"), ("adjudication", "Adjudication")],
        shown="api",
        help_text="of a verdict in a review queue; null: of any other",
    )
    queue_id = PlainText(null=True, shown="api", help_text="the review queue it was given in; null: none")
    guideline = Count(null=True, shown="api", help_text="number of the guideline's version in that queue")
    seconds = Count(null=True, shown="api", help_text="time the person took for it")
    answers_json = OperatorText(null=True, shown="", help_text="answers to the questions of the guideline, by name")
    answers = JsonProperty("answers_json")

    class Meta:
        db_table = "sample_labels"
        indexes = [
            models.Index(fields=["sample", "labelled_at", "id"], name="idx_label_sample"),
            models.Index(fields=["bulk_id"], name="idx_label_bulk", condition=models.Q(bulk_id__isnull=False)),
            models.Index(fields=["queue_id", "id"], name="idx_label_queue", condition=models.Q(queue_id__isnull=False)),
        ]

    def __str__(self):
        return f"{self.sample_id} {self.status}"


class SampleSignature(models.Model):
    """The signature by which a sample is compared; it is computed again where missing or damaged."""

    id = models.BigAutoField(primary_key=True)
    sample = models.OneToOneField(DatasetSample, models.CASCADE, related_name="signature")
    rule = Count(help_text="the version of the rules it follows: dedup.signatures.RULE")
    made_from = PlainBytes(help_text="SHA-256 of prompt and reply, the reply as a person edited it")
    words = PlainBytes(help_text="hash of their normalised words: the same words, the same sample")
    numbers = PlainBytes(help_text="MinHash of every five words, 128 numbers of four bytes; empty: no words")
    checksum = Count(help_text="CRC-32 of everything above and of the sample's id")

    class Meta:
        db_table = "sample_signatures"  # a trigger removes a row when the content or reply of its sample changes
        indexes = [models.Index(fields=["words"], name="idx_signature_words")]

    def __str__(self):
        return self.sample_id


class SampleExchange(models.Model):
    """The records of a sample's turn as they were read when the exchange was stored."""

    sample = models.OneToOneField(DatasetSample, models.CASCADE, primary_key=True, related_name="exchange")
    record_count = Count()
    records = SpeechBytes(help_text="JSON list of whole records with their places, compressed with zstd")
    rule = Count(help_text="the version of the rules it follows: exchange_store.RULE")
    clean_rules = Count(default=0, db_default=0, help_text="version of the rules that searched its texts; 0: none did")
    clean_texts = PlainBytes(default=b"", db_default=b"", help_text="hashes of the texts in which they found nothing")

    class Meta:
        db_table = "sample_exchanges"
        indexes = [models.Index(fields=["clean_rules", "sample"], name="idx_exchange_rules")]

    def __str__(self):
        return self.sample_id
