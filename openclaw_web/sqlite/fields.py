"""Column types of the storage specs on SQLite, with the kind of their content.

Options of a field beyond its type never cause a migration.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import orjson
from django.db import models
from django.db.models.expressions import Expression
from django.utils.functional import Promise

from .. import sentences
from . import dialect

Label = str | Promise


class TextKind(Enum):
    """The kind of content of a text or bytes column.

    Every such column declares one; there is no default.
    """

    WORDS = "words"  # texts of people, of the agent or of a model
    WHO = "who"  # may name a person: keys of sessions, users of this site
    OWN = "own"  # texts of the operator or of the site itself
    PLAIN = "plain"  # ids, hashes, names of models, words of a closed list


class DescribedField:
    """A field that declares where its column is shown: `api`, `file`, or both.

    `shown=""` means nowhere. A table with shown columns has to declare it for each column (agents.E003), so that none
    is forgotten. A second report of the same event may complete a `reported` field. Fields with a `label` appear on the
    page of a row and in commands about it.
    """

    migrated_as = ""  # the field class in migrations; empty: the class itself
    shown: frozenset[str] = frozenset()
    says_where = False
    is_reported = False
    label: Label = ""

    def __init__(
        self, *args: Any, shown: str | None = None, reported: bool = False, label: Label = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.shown, self.says_where = frozenset((shown or "").split()), shown is not None
        self.is_reported, self.label = reported, label

    def deconstruct(self) -> Any:
        """The parts of the field that make a migration, without its kind and its description."""
        name, path, args, kwargs = super().deconstruct()  # type: ignore[misc]
        kwargs.pop("help_text", None)
        return name, self.migrated_as or path, args, kwargs


class Text(DescribedField, models.TextField):
    """A text of one of the kinds below."""

    migrated_as = "django.db.models.TextField"
    reference_prefix = ""  # a text with this prefix refers to another table


class SpeechText(Text):
    """Texts of people, of the agent or of a model."""

    kind = TextKind.WORDS


class PersonText(Text):
    """A text that may name a person: keys of sessions, users of this site."""

    kind = TextKind.WHO


class OperatorText(Text):
    """Texts of the operator or of the site itself."""

    kind = TextKind.OWN


class SentenceText(OperatorText):
    """A sentence of the site, read in the language of its reader."""

    def from_db_value(self, value, _expression, _connection):
        return sentences.decode(value)

    def get_prep_value(self, value):
        return sentences.encode(super().get_prep_value(value))


class PlainText(Text):
    """Ids, hashes, names of models, words of a closed list."""

    kind = TextKind.PLAIN


class Bytes(DescribedField, models.BinaryField):
    """Bytes of one of the kinds below."""

    migrated_as = "django.db.models.BinaryField"


class SpeechBytes(Bytes):
    """Texts of people, of the agent or of a model, as bytes or compressed."""

    kind = TextKind.WORDS


class PlainBytes(Bytes):
    """Hashes and the like, as bytes."""

    kind = TextKind.PLAIN


NO_WORDS = (models.IntegerField, models.FloatField, models.BooleanField, models.DateField)


def get_text_kind(field: models.Field) -> TextKind | None:
    """The kind of a column's content; None for numbers and undeclared columns.

    A foreign key has the kind of the column it refers to.

    `column_kinds` of a model declares it for columns that Django declares.
    """
    field = field.target_field if field.is_relation else field
    declared: dict[str, TextKind] = getattr(getattr(field, "model", None), "column_kinds", {})
    return getattr(field, "kind", None) or declared.get(field.name)


def may_hold_words(field: models.Field) -> bool:
    """Whether a column holds texts or bytes, and so has to declare its kind."""
    return not isinstance(field.target_field if field.is_relation else field, NO_WORDS)


class EpochMs(DescribedField, models.BigIntegerField):
    """Milliseconds since 1970 UTC, or any other count that may pass 2**31."""

    def db_type(self, connection):
        return "integer" if connection.vendor == "sqlite" else super().db_type(connection)


class Count(EpochMs):
    """A number of tokens, bytes or rows."""


class SpecBoolean(DescribedField, models.BooleanField):
    """A column that a spec declares as BOOLEAN."""

    def db_type(self, connection):
        return "boolean" if connection.vendor == "sqlite" else super().db_type(connection)


class Flag(DescribedField, models.BooleanField):
    """A boolean."""

    migrated_as = "django.db.models.BooleanField"


class Number(DescribedField, models.FloatField):
    """A number with decimals, such as a cost."""

    migrated_as = "django.db.models.FloatField"


class Key(DescribedField, models.ForeignKey):
    """A foreign key, whose id is shown."""

    migrated_as = "django.db.models.ForeignKey"


def get_shown_fields(table: type[models.Model], place: str) -> list[models.Field]:
    """The fields of a table that are shown in a place, in order.

    The place is `api` or `file`.
    """
    return [field for field in table._meta.concrete_fields if place in getattr(field, "shown", ())]


def get_reported_fields(table: type[models.Model]) -> list[models.Field]:
    """The fields of a table that a second report of an event may complete, in order."""
    return [field for field in table._meta.concrete_fields if getattr(field, "is_reported", False)]


def get_labelled_fields(table: type[models.Model]) -> list[models.Field]:
    """The fields of a table that have a label, in their order."""
    return [field for field in table._meta.concrete_fields if getattr(field, "label", "")]


class Json(models.Func):
    """A JSON column for expressions that look into it.

    It is null where the text is no JSON, which would end the query with an error.
    """

    template = "CASE WHEN JSON_VALID(%(expressions)s) THEN %(expressions)s END"
    output_field = models.JSONField()


class JsonItemFromEnd(models.Func):
    """A text from an object in a JSON array, by its place from the end.

    `place` 1 is the last object.
    """

    function = "JSON_EXTRACT"
    output_field = models.TextField()

    def __init__(self, column: str, array: str, place: int, key: str):
        super().__init__(Json(column), models.Value(f"$.{array}[#-{place}].{key}"))


class RowId(Expression):
    """The rowid of a row, which orders rows by arrival.

    Every index of SQLite ends with it implicitly.

    Rows keep their order when the file is compacted or restored, but not their numbers.
    """

    def __init__(self, alias=None):
        super().__init__(output_field=models.BigIntegerField())
        self.alias = alias

    def resolve_expression(self, query=None, *_args, **_kwargs):
        """The expression for the table of the query."""
        return RowId(query.get_initial_alias())

    def relabeled_clone(self, change_map):
        """The same expression inside of another query."""
        return RowId(change_map.get(self.alias, self.alias))

    def as_sql(self, compiler, connection):
        """SQL such as `"conversation_turns".rowid`."""
        return f"{compiler.quote_name_unless_alias(self.alias)}.rowid", []


class IsAmong(models.Func):
    """Whether a row is among some: by one column and its values, or by two and pairs."""

    output_field = models.BooleanField()

    def __init__(self, columns: Sequence[str], keys: Sequence[Any]):
        super().__init__(*columns, keys=orjson.dumps(keys).decode())

    def as_sql(self, compiler, connection, **_more):
        """SQL such as `("t"."id") IN (SELECT value FROM json_each(%s))`."""
        names = ", ".join(compiler.compile(column)[0] for column in self.source_expressions)
        count = len(self.source_expressions)
        items = ", ".join(dialect.json_item("value", place) for place in range(count)) if count > 1 else "value"
        return f"({names}) IN (SELECT {items} FROM json_each(%s))", [self.extra["keys"]]  # noqa: S608 - of columns


class Constant(Expression):
    """A number that is written into the SQL itself, not passed as a parameter.

    SQLite decides before it gets the parameters whether a partial index covers a statement; if so, it reads only that
    index.
    """

    def __init__(self, number: int):
        super().__init__(output_field=models.BigIntegerField())
        self.number = int(number)

    def as_sql(self, compiler, connection):
        """SQL such as `5000`."""
        return str(self.number), []


class KnownCost(models.Func):
    """A cost to order rows by; unknown costs sort before all known ones."""

    function = "COALESCE"
    template = "%(function)s(%(expressions)s, -1.0)"
    output_field = models.FloatField()

    def __init__(self, column: str = "cost_usd"):
        super().__init__(column)


class JoinedTexts(models.Aggregate):
    """The non-empty texts of a column joined with commas; null when there are none."""

    function = "GROUP_CONCAT"
    template = "%(function)s(NULLIF(%(expressions)s, ''))"
    output_field = models.TextField()
