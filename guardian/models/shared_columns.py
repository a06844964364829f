"""Columns that store long texts and bytes once by hash.

A column with a long value keeps the hash; the value itself is in `file_contents`.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from django.db import models

from openclaw_web.sqlite import dialect, statements
from openclaw_web.sqlite.fields import PlainText, SpeechBytes, SpeechText, TextKind

INLINE = 1_000  # characters or bytes that a column keeps itself, so that the spec's own SQL can read them
PREFIX = "sha256:"
LENGTH = len(PREFIX) + 64
RAW_ID = "raw-"  # a text and bytes with the same hash are two contents
STORE = f"{dialect.INSERT_OR_LEAVE} INTO file_contents (id, text, raw) VALUES (%s, %s, %s)"
TEXT = "SELECT text FROM file_contents WHERE id = %s"
RAW = "SELECT raw FROM file_contents WHERE id = %s"


class FileContent(models.Model):
    """One content, stored once for all versions and diffs that have it: a text, or bytes."""

    id = PlainText(primary_key=True, help_text="sha256 of a text, or raw- and that of bytes")
    text = SpeechText(default="")
    raw = SpeechBytes(null=True)

    class Meta:
        db_table = "file_contents"

    def __str__(self):
        return self.id


class SharedText(SpeechText):
    """A text column that keeps `sha256:<hash>` of a long text; reading it returns the text."""

    reference_prefix = PREFIX

    def get_db_prep_save(self, value, connection):
        """Return the value of the column, after storing a long text in the caller's transaction."""
        value = super().get_db_prep_save(value, connection)
        if not isinstance(value, str) or _is_short(value, PREFIX):
            return value
        digest = _hash_text(value)
        statements.run(connection.alias, STORE, [digest, value, None])
        return PREFIX + digest

    def from_db_value(self, value, _expression, connection):
        """Return the text of a column.

        A reference without a stored text is returned as it is: its hash shows the damage.
        """
        if not isinstance(value, str) or len(value) != LENGTH or not value.startswith(PREFIX):
            return value
        row = statements.read_row(connection.alias, TEXT, [value[len(PREFIX) :]])
        return row[0] if row else value


class SharedPlain(SharedText):
    """The same for a text that contains nobody's words."""

    kind = TextKind.PLAIN


class SharedBytes(SpeechBytes):
    """The same for bytes."""

    def get_db_prep_save(self, value, connection):
        """Return the value of the column, after storing long bytes."""
        if value is None or _is_short(data := bytes(value), PREFIX.encode()):
            return super().get_db_prep_save(value, connection)
        digest = hashlib.sha256(data).hexdigest()
        statements.run(connection.alias, STORE, [RAW_ID + digest, "", data])
        return super().get_db_prep_save((PREFIX + digest).encode(), connection)

    def from_db_value(self, value, _expression, connection):
        """Return the bytes of a column."""
        if value is None or len(value) != LENGTH or not bytes(value).startswith(PREFIX.encode()):
            return value
        digest = bytes(value)[len(PREFIX) :].decode(errors="replace")
        row = statements.read_row(connection.alias, RAW, [RAW_ID + digest])
        return row[0] if row and row[0] is not None else value


def remove_contents(db: str, texts: Iterable[str | None]) -> None:
    """Remove the contents of these texts, in the caller's transaction.

    The doctor stores them again afterwards.
    """
    ids = [_hash_text(text) for text in texts if text is not None]
    FileContent.objects.using(db).filter(id__in=ids).delete()


def _hash_text(text):
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_short(value, prefix):
    """Return whether a value stays in its column; one that looks like a reference never does."""
    return len(value) < INLINE and not value.startswith(prefix)


def get_column_value(row: models.Model, field: models.Field, connection: Any) -> Any:
    """Return the value that the column of a row keeps, for statements in raw SQL."""
    value = getattr(row, field.attname)
    return field.get_db_prep_save(value, connection) if isinstance(field, SharedText | SharedBytes) else value
