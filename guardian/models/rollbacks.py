"""Rollbacks and corrections of writes, and the intent stored before each rollback."""

import re

from django.db import models
from django.db.models import Q

from openclaw_web.sqlite.fields import EpochMs, Key, OperatorText, PersonText, PlainText, SpecBoolean, SpeechText
from openclaw_web.sqlite.json_columns import JsonProperty

from .audits import FileSnapshot, WriteGuardianAudit

# Expressions between the words of a pattern made of words, and how each is shown.
READ_AS = ((r"\W+", " "), (r"\b", ""), ("[0-9]+", "…"), ("\n", " + "), ("|", "/"))
EXPRESSION = re.compile(r"[\\.+*?()\[\]{}^$]")


class Rollback(models.Model):
    """A write that was taken back (Reflection REQ-003 `rollbacks`).

    Without a snapshot there was no file before the write.
    """

    class Way(models.TextChoices):
        EXACT = "exact"  # the file was as the write had left it
        MERGED = "merged"  # it had changed since: only the lines of the write were taken out
        CHOSEN = "chosen"  # a person chose what the file holds

    id = PlainText(primary_key=True, shown="api")
    audit = models.OneToOneField(WriteGuardianAudit, models.PROTECT, related_name="rollback")
    rolled_back_at = EpochMs(shown="api")
    rolled_back_by = PersonText(shown="api")
    reason = OperatorText(shown="api")
    restored_snapshot = Key(
        FileSnapshot,
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        shown="api",
        help_text="null: there was no file before the write",
    )
    previous_status = PlainText(shown="api", help_text="status of the write before it was rolled back")
    # Ours.
    own_audit = Key(
        WriteGuardianAudit,
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        shown="api",
        help_text="the rollback as a write",
    )
    way = PlainText(
        choices=Way.choices,
        default=Way.EXACT,
        shown="api",
        help_text="`exact`: the file had not changed since; `merged`: only lines of this write; `chosen` by a person",
    )
    group_id = PlainText(null=True, help_text="rollbacks of a session are of one group", shown="")
    effect = PlainText(
        default="",
        help_text="what a person accepted about the file's place in the prompt; empty: nothing happens",
        shown="",
    )

    class Meta:
        db_table = "rollbacks"
        indexes = [
            models.Index(fields=["rolled_back_at"], name="idx_rolled_back_at"),
            models.Index(fields=["restored_snapshot"], name="idx_rollback_snapshot"),
            models.Index(fields=["own_audit"], name="idx_rollback_own"),
        ]

    def __str__(self):
        return f"{self.id} of {self.audit_id}"


class RollbackIntent(models.Model):
    """A change of one file, stored before it is made.

    After a kill it says what has to be finished or undone.
    """

    class State(models.TextChoices):
        PLANNED = "planned"  # nothing was touched
        EXCHANGED = "exchanged"  # the file holds the new content, and what it held is beside it
        DONE = "done"
        UNDONE = "undone"

    id = PlainText(primary_key=True)
    group_id = PlainText(null=True)
    file_name = PlainText()
    audits_json = PlainText(help_text="JSON list of the writes that it takes back")
    audits = JsonProperty("audits_json", list)
    before_hash = PlainText(null=True, help_text="sha256 of the file when this was stored; null: there was none")
    after_snapshot = models.ForeignKey(FileSnapshot, models.PROTECT, null=True, related_name="+", db_index=False)
    draft_name = PlainText(help_text="of the draft beside the file, which then holds what was displaced")
    told_json = OperatorText(default="{}", help_text="who asked, why, and how")
    told = JsonProperty("told_json")
    state = PlainText(choices=State.choices, default=State.PLANNED)
    created_at = EpochMs()
    ended_at = EpochMs(null=True)
    meanwhile_json = PlainText(
        default="[]", help_text="JSON list of versions that somebody wrote while the file was exchanged"
    )
    meanwhile = JsonProperty("meanwhile_json", list)
    settled_json = PlainText(default="[]", help_text="JSON list of those of which a person said what becomes")
    settled = JsonProperty("settled_json", list)
    settled_at = EpochMs(null=True, help_text="when a person had said what becomes of all of them")
    settled_by = PersonText(null=True)

    class Meta:
        db_table = "rollback_intents"
        indexes = [
            models.Index(fields=["created_at"], name="idx_intent_open", condition=Q(ended_at=None)),
            models.Index(
                fields=["ended_at"],
                name="idx_intent_meanwhile",
                condition=Q(settled_at=None) & ~Q(meanwhile_json="[]"),
            ),
            models.Index(fields=["meanwhile_json"], name="idx_intent_displaced", condition=~Q(meanwhile_json="[]")),
            models.Index(fields=["after_snapshot"], name="idx_intent_snapshot"),
        ]

    def __str__(self):
        return f"{self.id} {self.state}"


class BehaviorCorrection(models.Model):
    """A person's correction of a write (Reflection REQ-003 `behavior_corrections`); with a pattern, a rule."""

    id = PlainText(primary_key=True, shown="api")
    audit = Key(WriteGuardianAudit, models.PROTECT, related_name="corrections", db_index=False, shown="api")
    original_status = PlainText(shown="api")
    original_candidate_fact = SpeechText(null=True, shown="")
    original_target_file = PlainText(null=True, shown="")
    corrected_status = PlainText(shown="api")
    corrected_candidate_fact = SpeechText(null=True, shown="")
    corrected_target_file = PlainText(null=True, shown="")
    correction_reason = OperatorText(shown="")
    apply_to_future = SpecBoolean(default=False, shown="api")
    correction_pattern = SpeechText(null=True, shown="")
    corrected_by = PersonText(shown="api")
    corrected_at = EpochMs(shown="api")
    # Ours.
    switched_off_at = EpochMs(null=True, shown="")
    switched_off_by = PersonText(null=True, shown="")
    imported_from = PlainText(null=True, help_text="who else said so; null: a person of this site", shown="")
    rule_name = SpeechText(default="", help_text="of a rule, in words; empty: its pattern says it", shown="")

    class Meta:
        db_table = "behavior_corrections"
        indexes = [
            models.Index(fields=["apply_to_future", "corrected_at"], name="idx_apply_to_future"),
            models.Index(fields=["audit", "corrected_at"], name="idx_correction_audit"),
        ]

    def __str__(self):
        return f"{self.id} of {self.audit_id}"

    @property
    def name(self) -> str:
        """The name of a rule: its own, else the words of its pattern, else the pattern."""
        if self.rule_name:
            return self.rule_name
        pattern = words = self.correction_pattern or ""
        for expression, text in READ_AS:
            words = words.replace(expression, text)
        return pattern if EXPRESSION.search(words.replace(" + ", " ")) else words
