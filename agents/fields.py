"""Column types as the storage specs spell them, on SQLite."""

from django.db import models


class EpochMs(models.BigIntegerField):
    """Milliseconds since 1970 UTC, or any other count that may pass 2**31."""

    def db_type(self, connection):
        return "integer" if connection.vendor == "sqlite" else super().db_type(connection)


class Count(EpochMs):
    """A number of tokens, bytes or rows."""


class SpecBoolean(models.BooleanField):
    """A column that a spec declares as BOOLEAN."""

    def db_type(self, connection):
        return "boolean" if connection.vendor == "sqlite" else super().db_type(connection)
