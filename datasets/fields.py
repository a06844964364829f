"""Column types of this app."""

from django.db import models


class OneOf(models.TextField):
    """A text out of `choices` or NULL, checked by the column itself: adding one does not make a table anew."""

    def db_check(self, connection):
        values = ", ".join(f"'{value}'" for value, _word in self.flatchoices)
        return f"{connection.ops.quote_name(self.column)} IN ({values})"
