"""Column types of this app, and SQL expressions on them."""

from collections.abc import Iterable

from django.db import models

from openclaw_web.sqlite.fields import PlainText


class OneOf(PlainText):
    """A text out of `choices` or NULL, checked by the column itself.

    A choice can be added without a rebuild of the table.
    """

    migrated_as = ""  # the check is of its own

    def db_check(self, connection):
        values = ", ".join(f"'{value}'" for value, _word in self.flatchoices)
        return f"{connection.ops.quote_name(self.column)} IN ({values})"


class OneOfThese(models.Func):
    """Whether a column has one of some texts, which are written into the statement.

    SQLite uses a partial index on the same texts only if the statement contains them; bound parameters do not do.
    """

    template = "%(expressions)s IN (%(texts)s)"
    output_field = models.BooleanField()

    def __init__(self, column: str, texts: Iterable[str]):
        super().__init__(column, texts=quote_texts(texts))


def quote_texts(texts: Iterable[str]) -> str:
    """Our own constant texts as SQL literals with commas between them; nothing is escaped."""
    return ", ".join(f"'{text}'" for text in texts)
