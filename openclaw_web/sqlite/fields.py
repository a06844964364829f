"""Column types as the storage specs spell them, on SQLite, and what their columns hold.

What a field says beyond its type never makes a migration.
"""

from enum import Enum
from typing import Any

from django.db import models
from django.db.models.expressions import Expression
from django.utils.functional import Promise

Label = str | Promise


class TextKind(Enum):
    """What a column of texts or bytes holds: every one of them says it, and there is no default."""

    WORDS = "words"  # what people or the agent said, and what a model made of it
    WHO = "who"  # may name a person: keys of sessions, users of this site
    OWN = "own"  # words of whoever runs this site, or of the site itself
    PLAIN = "plain"  # ids, hashes, names of models, words of a closed list


class DescribedField:
    """A field that says where its column is shown: in answers of the `api`, in the `file` of a list, or in both.

    `shown=""` is nowhere; a table with shown columns says it of each (agents.E003), so that none is forgotten. One that
    is `reported` is what a second report of the same event may complete. One with a `label` stands in what the page of
    a row and a command tell of it.
    """

    migrated_as = ""  # the field that migrations name; empty: the class itself
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
        """What a table is made of: neither what a column holds nor how it is described makes a migration."""
        name, path, args, kwargs = super().deconstruct()  # type: ignore[misc]
        kwargs.pop("help_text", None)
        return name, self.migrated_as or path, args, kwargs


class Text(DescribedField, models.TextField):
    """A text of one of the kinds below."""

    migrated_as = "django.db.models.TextField"
    reference_prefix = ""  # a text that begins so stands in another table


class SpeechText(Text):
    """What people or the agent said, and what a model made of it."""

    kind = TextKind.WORDS


class PersonText(Text):
    """May name a person: keys of sessions, users of this site."""

    kind = TextKind.WHO


class OperatorText(Text):
    """Words of whoever runs this site, or of the site itself."""

    kind = TextKind.OWN


class PlainText(Text):
    """Ids, hashes, names of models, words of a closed list."""

    kind = TextKind.PLAIN


class Bytes(DescribedField, models.BinaryField):
    """Bytes of one of the kinds below."""

    migrated_as = "django.db.models.BinaryField"


class SpeechBytes(Bytes):
    """What was said, as bytes or packed."""

    kind = TextKind.WORDS


class PlainBytes(Bytes):
    """Hashes and the like, as bytes."""

    kind = TextKind.PLAIN


NO_WORDS = (models.IntegerField, models.FloatField, models.BooleanField, models.DateField)


def get_text_kind(field: models.Field) -> TextKind | None:
    """What a column holds; a key of another table holds what that table's does. None: a number, or it does not say.

    `column_kinds` of a model says it of columns that Django declares.
    """
    field = field.target_field if field.is_relation else field
    declared: dict[str, TextKind] = getattr(getattr(field, "model", None), "column_kinds", {})
    return getattr(field, "kind", None) or declared.get(field.name)


def may_hold_words(field: models.Field) -> bool:
    """Whether a column is of texts or bytes, of which each says what it holds."""
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
    """Yes or no."""

    migrated_as = "django.db.models.BooleanField"


class Number(DescribedField, models.FloatField):
    """A number with decimals, such as a cost."""

    migrated_as = "django.db.models.FloatField"


class Key(DescribedField, models.ForeignKey):
    """A row of another table, whose id is shown."""

    migrated_as = "django.db.models.ForeignKey"


def get_shown_fields(table: type[models.Model], place: str) -> list[models.Field]:
    """The fields of a table whose columns are shown in a place, in their order."""
    return [field for field in table._meta.concrete_fields if place in getattr(field, "shown", ())]


def get_reported_fields(table: type[models.Model]) -> list[models.Field]:
    """The fields of a table that a second report of the same event may complete, in their order."""
    return [field for field in table._meta.concrete_fields if getattr(field, "is_reported", False)]


def get_labelled_fields(table: type[models.Model]) -> list[models.Field]:
    """The fields of a table that have a label, in their order."""
    return [field for field in table._meta.concrete_fields if getattr(field, "label", "")]


class Json(models.Func):
    """A column of JSON, for what looks inside of it; null where it is no JSON, at which SQLite would stop."""

    template = "CASE WHEN JSON_VALID(%(expressions)s) THEN %(expressions)s END"
    output_field = models.JSONField()


class JsonItemFromEnd(models.Func):
    """A text of an object in a JSON array, counted from its end: `place` 1 is the last one."""

    function = "JSON_EXTRACT"
    output_field = models.TextField()

    def __init__(self, column: str, array: str, place: int, key: str):
        super().__init__(Json(column), models.Value(f"$.{array}[#-{place}].{key}"))


class RowId(Expression):
    """Where a row lies in its table: the order of arrival, in which every index of SQLite ends without being asked to.

    Rows keep their order when the file is compacted or restored, though not their numbers.
    """

    def __init__(self, alias=None):
        super().__init__(output_field=models.BigIntegerField())
        self.alias = alias

    def resolve_expression(self, query=None, *_args, **_kwargs):
        """The column of the table that is asked."""
        return RowId(query.get_initial_alias())

    def relabeled_clone(self, change_map):
        """The same inside of another query."""
        return RowId(change_map.get(self.alias, self.alias))

    def as_sql(self, compiler, connection):
        """`"conversation_turns".rowid`"""
        return f"{compiler.quote_name_unless_alias(self.alias)}.rowid", []


class Constant(Expression):
    """A number that stands in the statement itself, for what is the same in every one of them.

    SQLite knows before it is told the values whether an index of some rows holds all that a statement asks for, and
    then reads the index alone.
    """

    def __init__(self, number: int):
        super().__init__(output_field=models.BigIntegerField())
        self.number = int(number)

    def as_sql(self, compiler, connection):
        """`5000`"""
        return str(self.number), []


class KnownCost(models.Func):
    """A cost to order rows by: one that is not known comes before every one that is."""

    function = "COALESCE"
    template = "%(function)s(%(expressions)s, -1.0)"
    output_field = models.FloatField()

    def __init__(self, column: str = "cost_usd"):
        super().__init__(column)


class JoinedTexts(models.Aggregate):
    """The texts of a column that are not empty, with commas between them; null of none."""

    function = "GROUP_CONCAT"
    template = "%(function)s(NULLIF(%(expressions)s, ''))"
    output_field = models.TextField()
