"""Models of stored values: settings, audit log, idempotency keys."""

from typing import Any

from django.db import models, transaction

from openclaw_web import clock
from openclaw_web.sqlite.fields import Count, EpochMs, OperatorText, PersonText, PlainText, SpeechBytes
from openclaw_web.sqlite.json_columns import JsonProperty


class KeyValues(models.QuerySet):
    """Values that are stored under a scope and a key."""

    def put(self, scope: str, key: str, value: Any) -> None:
        """Store a value, and replace the one before."""
        with transaction.atomic():
            self.update_or_create(scope=scope, key=key, defaults={"value": value, "updated_at": clock.now_ms()})

    def decoded(self, kind: Any = dict) -> dict[str, Any]:
        """The values of a kind by their keys, sorted by key; other values are left out."""
        return {row.key: row.value for row in self.order_by("key") if isinstance(row.value, kind)}


class KeyValue(models.Model):
    """A stored value, such as a setting; read through `people.configuration.setting_values`.

    The columns are those of the database-first state spec.
    """

    pk = models.CompositePrimaryKey("scope", "key")
    scope = PlainText()
    key = PersonText()
    value_json = OperatorText()
    value = JsonProperty("value_json", object)
    updated_at = EpochMs()

    objects = KeyValues.as_manager()

    class Meta:
        db_table = "kv"

    def __str__(self):
        return f"{self.scope}/{self.key}"


class AuditEntry(models.Model):
    """An action of a person or a program.

    Rows are only added: triggers refuse every change.
    """

    id = models.BigAutoField(primary_key=True)
    at = EpochMs(shown="api file")
    actor = PersonText(shown="api file", help_text="user name; empty when nobody was signed in")
    via = PlainText(shown="api file", help_text="page, api, token oc_<prefix>, command or job")
    action = PlainText(shown="api file", help_text="in the past tense: signed_in, labelled, exported, read, ...")
    object_type = PlainText(
        default="", shown="api file", help_text="sample, session, export, user, token, setting, ..."
    )
    object_id = PersonText(default="", shown="api file")
    agent_id = PlainText(default="", shown="api file")
    detail_json = PersonText(default="{}", help_text="never a secret and never content", shown="")
    detail = JsonProperty("detail_json")

    class Meta:
        db_table = "operator_audit"
        # Each index ends with the time, then with SQLite's row id, so filtered lists are read in order.
        indexes = [
            models.Index(fields=["at"], name="idx_audit_at"),
            models.Index(fields=["actor", "at"], name="idx_audit_actor"),
            models.Index(fields=["action", "at"], name="idx_audit_action"),
            models.Index(fields=["object_type", "object_id", "at"], name="idx_audit_object"),
        ]

    def __str__(self):
        return f"{self.actor} {self.action} {self.object_type} {self.object_id}"


class IdempotencyKey(models.Model):
    """A write of the API that its sender may repeat, with its answer.

    The row is stored for a day.
    """

    id = models.AutoField(primary_key=True)
    user = models.ForeignKey("people.User", models.CASCADE, db_index=False)
    key = PlainText()
    fingerprint = PlainText(help_text="sha256 of method, address and body")
    claim = PlainText(help_text="who carries it out")
    leased_until = EpochMs(help_text="when whoever carries it out is taken for dead")
    status = Count(null=True, help_text="null: no answer yet")
    content_type = PlainText(default="")
    body_zstd = SpeechBytes(null=True, help_text="null: none yet, or it held a secret")
    created_at = EpochMs()

    class Meta:
        db_table = "idempotency_keys"
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_once")]
        indexes = [models.Index(fields=["created_at"], name="idx_idempotency_created")]

    def __str__(self):
        return self.key
