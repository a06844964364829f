"""Column types of this app, and what is asked of them."""

from collections.abc import Iterable

from django.db import models

from openclaw_web.sqlite.fields import PlainText


class OneOf(PlainText):
    """A text out of `choices` or NULL, checked by the column itself: adding one does not make a table anew."""

    migrated_as = ""  # the check is of its own

    def db_check(self, connection):
        values = ", ".join(f"'{value}'" for value, _word in self.flatchoices)
        return f"{connection.ops.quote_name(self.column)} IN ({values})"


class OneOfThese(models.Func):
    """Whether a column has one of some texts, which are written into the statement.

    SQLite then knows that an index of such rows alone has them all. It does not of values that are handed over.
    """

    template = "%(expressions)s IN (%(texts)s)"
    output_field = models.BooleanField()

    def __init__(self, column: str, texts: Iterable[str]):
        super().__init__(column, texts=quote_texts(texts))


def quote_texts(texts: Iterable[str]) -> str:
    """Texts of ours as SQL, for what is written out."""
    return ", ".join(f"'{text}'" for text in texts)
